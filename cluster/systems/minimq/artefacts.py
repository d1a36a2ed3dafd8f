"""What a node's process imports, once per user and content: the modules behind ``node``, and msgspec.

They lie in a folder of their own, and nodes run from it alone: a change of the source tree changes no cluster that
runs, and a start reads few files. The folder is named by the digest of its content and is complete or absent: it is
filled under another name and one rename makes it visible, so two at once both end with a whole one. Does not fetch
anything.
"""

import ast
import compileall
import hashlib
import importlib.util
import os
import py_compile
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared.cache import cache_root

_NODE: Final = "cluster/systems/minimq/server/node.py"
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
    found = importlib.util.find_spec("msgspec")
    if found is None or found.origin is None:
        raise CapabilityError("minimq needs the package msgspec; pip install msgspec")
    library = [path for path in Path(found.origin).parent.iterdir() if path.suffix in _KEPT]
    content = {f"msgspec/{path.name}": path for path in library} | {name: top / name for name in _own(top)}
    return dict(sorted(content.items()))


def _own(top: Path) -> set[str]:
    """The modules of ours that the node's imports, wherever they stand in a file."""
    own: set[str] = set()
    waiting = {_NODE}
    while waiting:
        name = waiting.pop()
        own.add(name)
        for module in _imported(ast.parse((top / name).read_bytes())):
            parts = module.split(".")
            files = {f"{'/'.join(parts[:end])}/__init__.py" for end in range(1, len(parts) + 1)}
            waiting |= {file for file in {*files, f"{'/'.join(parts)}.py"} - own if (top / file).is_file()}
    return own


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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
