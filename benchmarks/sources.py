"""Which files decide what a row of docs/data says: those of a part of the house, and what they import of their rooms.

A row vouches for the code that decided it and for no other: a new system, workload or check ages no row that did not use
it. So a fingerprint follows imports, inside the rooms that are named beside it, from the modules of entry points.
"""

import ast
import hashlib
import io
import os
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chaos.core.errors import UsageError
from chaos.models.log.checks import CHECKS
from chaos.plugins import load
from nemesis.faults.registry import faults
from nemesis.plan.mix import faults_in
from nemesis.plan.nemesis_names import ALL, catalog, parts, words

ROOT = Path(__file__).resolve().parents[1]
SYSTEMS = "cluster/systems"
HASH_CHARACTERS = 10
WORDS_ONLY = frozenset(
    f"checkers/anomalies/{module}.py"
    for module in ("assumed", "built_in", "coordination", "kind_by_place", "transactional")
)
"""What every anomaly is called: each new one changes it, and no verdict on the others."""

PAGES_ONLY = frozenset({"nemesis/faults/faults_page.py"})
"""Words of the documentation about every fault."""

_BETWEEN_STATEMENTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


Read = Callable[[Path], bytes]
"""How the content of a file is had."""


class Source(NamedTuple):
    """What a fingerprint is of, as paths relative to the repository.

    ``roots``: patterns of files; a folder stands for all in it. ``rooms``: folders; of what the roots import, and what
    that imports in turn, the files in these count too. ``beside``: so does what is no Python in the packages of
    these, as programs in C.
    """

    roots: tuple[str, ...]
    rooms: tuple[str, ...] = ()
    beside: bool = False


def _module(place: str) -> str:
    """The file of an entry point, ``package.module:Object``."""
    return place.partition(":")[0].replace(".", "/") + ".py"


@cache
def _entry_points() -> Mapping[str, Mapping[str, str]]:
    """The groups of our own pyproject.toml: name → place."""
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return dict(project["project"]["entry-points"])


CHECKS_OF = "checks of "


def of_workload(workload: str) -> tuple[str, str]:
    """The names of the sources that only runs of this workload have: its own, and its checks'."""
    return f"workload {workload}", f"{CHECKS_OF}{workload}"


FAULTS_OF_ALL = "faults of all"
"""The source of all that the mix ``all`` may draw, so that a fault that joins the mix ages its rows as well."""

FAULT = "fault "


def of_nemesis(nemesis: str) -> tuple[str, ...]:
    """The names of the sources that only runs under this nemesis have, which is as on the command line.

    Raises:
        UsageError: a name that is no nemesis, as that of a sequence, whose steps are to be named.
    """
    names = {parts(word)[0] for word in words(nemesis)}
    if ALL in names:
        return (FAULTS_OF_ALL,)
    if not names <= set(catalog()):
        raise UsageError(
            f"{nemesis}: no nemesis {', '.join(sorted(names - set(catalog())))}, so nobody knows its faults"
        )
    return tuple(sorted(FAULT + fault.name for fault in faults_in(nemesis)))


def _of_faults(modules: Iterable[str]) -> Source:
    return Source(tuple(modules), ("nemesis",), beside=True)


def nemesis_sources(modules: Mapping[str, str], in_all: Iterable[str], root: Path = ROOT) -> dict[str, Source]:
    """The sources of the faults with these modules, and ``nemesis``: what is not theirs, or is not theirs alone.

    ``modules``: the file of each fault by its name. ``in_all``: which of them the mix ``all`` may draw.
    """
    theirs = files_of(_of_faults(modules.values()), root)
    others = _files(("nemesis",), root) - set(theirs)
    kept = [path for path in others if path.suffix != ".py" or code_only(path.read_bytes())]
    found = {FAULT + name: _of_faults([module]) for name, module in modules.items()}
    found[FAULTS_OF_ALL] = _of_faults(modules[name] for name in in_all)
    found["nemesis"] = Source(tuple(str(path.relative_to(root)) for path in sorted(kept)), ("nemesis",))
    return found


def _checks(workload: str) -> Source:
    places = _entry_points()["chaos.checks"]
    names = load("workloads", workload).checks or CHECKS
    return Source(("checkers/engine", *(_module(places[name]) for name in names)), ("checkers",))


@cache
def sources() -> Mapping[str, Source]:
    """Every source by name."""
    found = {
        file.parent.name: Source((f"{SYSTEMS}/{file.parent.name}",), (f"{SYSTEMS}/_shared",))
        for file in sorted((ROOT / SYSTEMS).glob("*/system.py"))
    }
    own_faults = {name: _module(place) for name, place in _entry_points()["chaos.faults"].items()}
    found |= nemesis_sources(own_faults, [name for name in own_faults if faults()[name].in_all])
    for workload, place in _entry_points()["chaos.workloads"].items():
        own, checks = of_workload(workload)
        found[own] = Source((_module(place),), ("chaos/workload", "chaos/models"))
        found[checks] = _checks(workload)
    rooms = ("*.py", "agent", "hosts", "network", "nodes")
    found["hosts"] = Source(tuple(f"cluster/{room}" for room in rooms))
    found["simulation"] = Source(("cluster/simulation",))
    found["engines"] = Source(("checkers", "spark_checkers", "chaos/basics", "chaos/core", "chaos/storage"))
    return found


def deciding_sources(system: str, workload: str, *nemeses: str) -> tuple[str, ...]:
    """The names of the sources that decide what runs of a workload on a system under these nemeses come to.

    Raises:
        UsageError: see ``of_nemesis``.
    """
    injected = dict.fromkeys(name for nemesis in nemeses for name in of_nemesis(nemesis))
    return system, "nemesis", *injected, *of_workload(workload)


def _files(patterns: Iterable[str], root: Path) -> set[Path]:
    """The files that patterns name."""
    found = {path for pattern in patterns for path in root.glob(pattern)}
    folders = {path for path in found if path.is_dir()}
    below = (each for path in folders for each in os.walk(path) if "__pycache__" not in each[0])
    return (found - folders) | {Path(folder, name) for folder, _, names in below for name in names}


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    """Every statement, however deep in others; expressions hold none."""
    ahead: list[ast.AST] = [module]
    while ahead:
        node = ahead.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, ())
            ahead += inner if isinstance(inner, list) else ()


def _names(source: bytes) -> Iterator[str]:
    for node in _statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _imported_modules(source: bytes) -> frozenset[str]:
    """Pure: the dotted names that a Python source imports, also those of objects inside modules."""
    return frozenset(_names(source))


def _files_beside(modules: Iterable[Path], rooms: Iterable[str], root: Path) -> set[Path]:
    """What is no Python and whose nearest package has one of these modules."""
    packages = {path.parent for path in modules}
    others = [path for path in _files(rooms, root) if path.suffix != ".py"]
    return {path for path in others if _package(path) in packages}


def _package(path: Path) -> Path:
    return next(folder for folder in path.parents if (folder / "__init__.py").exists())


def files_of(source: Source, root: Path = ROOT, read: Read = Path.read_bytes) -> list[Path]:
    """The files of a source, sorted."""
    found = _files(source.roots, root)
    rooms = tuple(f"{room.replace('/', '.')}." for room in source.rooms)
    ahead = [path for path in found if path.suffix == ".py"]
    while ahead:
        for name in filter(lambda name: name.startswith(rooms), _imported_modules(read(ahead.pop()))):
            path = root / f"{name.replace('.', '/')}.py"
            if path not in found and path.is_file():
                found.add(path)
                ahead.append(path)
    if source.beside:
        found |= _files_beside(found, source.rooms, root)
    return sorted(path for path in found if str(path.relative_to(root)) not in WORDS_ONLY | PAGES_ONLY)


def code_only(source: bytes) -> bytes:
    """Pure: a Python source without comments, docstrings and breaks inside statements, so that prose ages nothing."""
    kept: list[str] = []
    before, after_docstring = tokenize.ENCODING, False
    tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        dropped = token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING) or after_docstring
        docstring = token.type == tokenize.STRING and before in _BETWEEN_STATEMENTS and after.type == tokenize.NEWLINE
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            kept.append(f"<{token.type == tokenize.INDENT}>")
        elif not dropped and not docstring:
            kept.append(token.string)
        after_docstring = docstring
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return "\x00".join(kept).encode()


@cache
def _hash(content: bytes, suffix: str) -> bytes:
    return hashlib.sha256(code_only(content) if suffix == ".py" else content).digest()


def fingerprint(source: Source, root: Path = ROOT, read: Read = Path.read_bytes) -> str:
    """A hash of the files of a source, by path and content."""
    digest = hashlib.sha256()
    for path in files_of(source, root, read):
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(_hash(read(path), path.suffix))
    return digest.hexdigest()[:HASH_CHARACTERS]


@cache
def hashes_of_today() -> dict[str, str]:
    """The fingerprints of the code that is here now, by the name of the source."""
    read = cache(Path.read_bytes)  # most files are in many sources
    return {name: fingerprint(source, ROOT, read) for name, source in sources().items()}
