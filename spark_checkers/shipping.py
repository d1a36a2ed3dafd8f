"""What executors lack, brought to them: our packages, checks, models, and msgspec compiled for their Python.

One archive, the same bytes for the same files, which Spark hands to every executor and unpacks there: what is compiled
cannot be imported from a zip. Does not ship what PySpark itself needs there (numpy, pandas, pyarrow) or what is larger
than all the rest (scipy); ``lacking`` says who lacks it, with the command that helps.
"""

import hashlib
import sysconfig
import zipfile
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from chaos import plugins
from chaos.core.errors import CapabilityError

PACKAGES: Final = ("chaos", "checkers", "spark_checkers")
NEEDED: Final = ("msgspec", "numpy", "pandas", "pyarrow", "scipy")
_COMPILED: Final = "compiled"
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)


class Shipped(NamedTuple):
    """The archive: its file, the name under which executors unpack it, the Python its compiled part is for."""

    path: Path
    name: str
    tag: str


class Found(NamedTuple):
    """What one executor's Python lacks."""

    host: str
    python: str
    lacking: tuple[str, ...]


def _files() -> list[tuple[str, Path]]:
    """Names in the archive and the files behind them, sorted."""
    import msgspec

    home, of_msgspec = Path(__file__).resolve().parent.parent, Path(msgspec.__file__).resolve().parent
    files = [(path.relative_to(home).as_posix(), path) for name in PACKAGES for path in (home / name).rglob("*")]
    for group in plugins.JUDGING:
        for name in plugins.foreign_names(group):
            files += _of_plugin(plugins.place_of(group, name))
    files += [
        (f"{_COMPILED}/msgspec/{path.relative_to(of_msgspec).as_posix()}", path) for path in of_msgspec.rglob("*")
    ]
    wanted = {name: path for name, path in files if path.is_file() and "__pycache__" not in path.parts}
    return sorted(wanted.items())


def _of_plugin(place: str) -> list[tuple[str, Path]]:
    """The files of the package, or the one module, in which another package's check or model is."""
    spec = find_spec(place.partition(":")[0].partition(".")[0])
    if spec is None or spec.origin is None:
        return []
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        return [(origin.name, origin)]
    return [(path.relative_to(origin.parent.parent).as_posix(), path) for path in origin.parent.rglob("*")]


def _entry_points() -> list[tuple[str, bytes]]:
    """Who brought checks and models, so that executors find them by name as we do: names and contents of files."""
    brought = {one.name: one for group in plugins.JUDGING for one in plugins.distributions(group)}
    return [
        (f"{name.replace('-', '_')}-{one.version}.dist-info/{file}", (one.read_text(file) or "").encode())
        for name, one in sorted(brought.items())
        for file in ("METADATA", "entry_points.txt")
    ]


def pack_archive(folder: Path) -> Shipped:
    """Write the archive into a folder: equal files give equal bytes, and a name made of them."""
    digest = hashlib.sha256()
    partial = folder / "chaos.partial"
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        files = ((name, path.read_bytes()) for name, path in _files())
        for name, data in (*files, *_entry_points()):
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), data, zipfile.ZIP_DEFLATED)
    name = f"chaos-{digest.hexdigest()[:16]}"
    path = partial.rename(folder / f"{name}.zip")
    return Shipped(path, name, str(sysconfig.get_config_var("SOABI")))


def arrival(shipped: Shipped | None) -> Callable[[], None]:
    """A function that Spark can carry to executors without them: it makes what was shipped importable there.

    Nested on purpose, with imports of its own: only then does Spark send its code and not its name.
    """
    name, tag, compiled = (shipped.name, shipped.tag, _COMPILED) if shipped is not None else ("", "", "")

    def arrive() -> None:
        if not name:
            return
        import sys
        import sysconfig

        from pyspark import SparkFiles

        top = SparkFiles.get(name)
        places = [top, f"{top}/{compiled}"] if sysconfig.get_config_var("SOABI") == tag else [top]
        for place in places:
            if place not in sys.path:
                sys.path.insert(0, place)

    return arrive


def tasks_body(shipped: Shipped | None) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The body of ``mapInArrow`` for executors to which nothing but the archive came."""
    arrive = arrival(shipped)

    def body(batches: Iterator[Any]) -> Iterator[Any]:
        arrive()
        from spark_checkers.tasks import run_tasks

        return run_tasks(batches)

    return body


def probe_body(shipped: Shipped | None) -> Callable[[Iterable[Any]], Iterator[tuple[str, str, tuple[str, ...]]]]:
    """The body of a job that asks each Python it meets what it lacks; builtins travel, since no class may be there."""
    arrive, needed = arrival(shipped), NEEDED

    def body(_: Iterable[Any]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        import importlib
        import socket
        import sys

        arrive()
        lacking = []
        for name in needed:
            try:
                importlib.import_module(name)
            except ImportError:
                lacking.append(name)
        yield socket.gethostname(), sys.executable, tuple(lacking)

    return body


def require_nothing_lacking(found: Iterable[Found]) -> None:
    """Pass if nobody lacks anything.

    Raises:
        CapabilityError: naming the first host that does, what it lacks, and the command that helps.
    """
    for host, python, lacking in sorted(found):
        if lacking:
            wanted = " ".join(f"{name}=={metadata.version(name)}" for name in lacking)
            raise CapabilityError(
                f"the executor's Python on {host} ({python}) lacks {', '.join(lacking)}; there, run: "
                f"{python} -m pip install {wanted}"
            )
