"""What a node's process imports, once per user and content: this package and msgspec in a folder of their own.

Nodes run from that folder alone, so a change of the source tree changes no cluster that runs, and a start reads few
files. The folder is named by the digest of its content and is complete or absent: it is filled under another name and
one rename makes it visible, so two at once both end with a whole one. The module refuses to fetch anything.
"""

import compileall
import hashlib
import importlib.util
import os
import py_compile
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems.cache import cache_root

_PACKAGES: Final = ("cluster", "cluster/systems", "cluster/systems/minimq")
_KEPT: Final = frozenset({".py", ".so"})


def fetch(say: Callable[[str], None], environment: Mapping[str, str] | None = None) -> Path:
    """The folder to put on a node's ``PYTHONPATH``; makes it if it is not there.

    Args:
        say: gets one line if it has to be made.
        environment: the variables that place the cache (default: this process').

    Raises:
        CapabilityError: msgspec cannot be found.
        DeployError: the cache cannot be written.
    """
    content = _content()
    root = cache_root(os.environ if environment is None else environment) / "minimq"
    folder = root / _digest(content)
    if folder.is_dir():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=f"{folder.name}.partial-") as partial:
            _fill(Path(partial) / "made", content)
            if not folder.is_dir():
                _publish(Path(partial) / "made", folder)
    except OSError as error:
        raise DeployError(f"{error.filename or root}: {error.strerror}; make it writable or set CHAOS_CACHE") from None
    say(f"minimq: {len(content)} files in {folder}")
    return folder


def _content() -> dict[str, Path]:
    """Path in the folder → file."""
    top = Path(__file__).resolve().parents[3]
    files = {f"{package}/{path.name}": path for package in _PACKAGES for path in (top / package).glob("*.py")}
    files = {name: path for name, path in files.items() if _is_part(name)}
    found = importlib.util.find_spec("msgspec")
    if found is None or found.origin is None:
        raise CapabilityError("minimq needs the package msgspec; pip install msgspec")
    library = Path(found.origin).parent
    files |= {f"msgspec/{path.name}": path for path in library.iterdir() if path.suffix in _KEPT}
    return dict(sorted(files.items()))


def _is_part(name: str) -> bool:
    """Of the packages above this one only what makes them packages: their modules are the harness'."""
    return name.startswith(f"{_PACKAGES[-1]}/") or name.endswith("/__init__.py")


def _digest(content: Mapping[str, Path]) -> str:
    state = hashlib.blake2b(sys.version.encode(), digest_size=8)  # the compiled modules are of this Python
    for name, path in content.items():
        data = path.read_bytes()
        state.update(f"{name}\0{len(data)}\0".encode() + data)
    return state.hexdigest()


def _fill(folder: Path, content: Mapping[str, Path]) -> None:
    for name, path in content.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH  # nothing here ever changes
    compileall.compile_dir(folder, quiet=1, invalidation_mode=unchecked)


def _publish(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another run was faster, and its folder is the same
            raise
