"""Histories as text, record by record: EDN as Jepsen writes it, or its JSON twin. Nothing here knows what they mean."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from chaos.core.errors import ChaosError, UsageError

Out = Callable[[str], object]

_APART_NS: Final = 50_000


class RecordLines:
    """Writes records. ``begun`` counts the invocations so far.

    Args:
        out: takes a line, its end included.
        notation: ``edn`` or ``json``.
    """

    def __init__(self, out: Out, notation: str) -> None:
        self._out, self.edn = out, notation == "edn"
        self._index = 0
        self.begun = 0

    def write(self, kind: str, process: int, f: str, value: str) -> None:
        """A record. ``kind``: invoke, ok, fail or info; ``value``: what is in the list that its value is, as text."""
        index = self._index
        self._index += 1
        self.begun += kind == "invoke"
        if self.edn:
            self._out(
                f"{{:index {index}, :time {index * _APART_NS}, :type :{kind}, :process {process}, :f :{f},"
                f" :value [{value}]}}\n"
            )
        else:
            self._out(
                f'{{"index": {index}, "time": {index * _APART_NS}, "type": "{kind}", "process": {process}, "f": "{f}",'
                f' "value": [{value}]}}\n'
            )


def write_file(path: Path, fill: Callable[[Out, str], None]) -> int:
    """Write a history into a file that does not exist, .edn or .json by its name; how many bytes it has.

    Args:
        path: the file.
        fill: is given what takes lines, and the notation.

    Raises:
        ChaosError: it could not be written to its end.
        UsageError: the name asks for no notation, or the file exists or cannot be made.
    """
    notation = _notation_of(path.name)
    partial = path.with_name(f"{path.name}.partial")
    for one in (path, partial):
        if one.exists():
            raise UsageError(f"--output {one}: it exists; name another file or remove it")
    try:
        file = partial.open("w", buffering=1 << 20)
    except OSError as error:
        raise UsageError(f"--output {path}: {error.strerror}") from None
    try:
        with file:
            fill(file.write, notation)
        partial.rename(path)
    except OSError as error:  # a full disk
        raise ChaosError(f"--output {path}: {error}; nothing of it is left") from error
    finally:
        partial.unlink(missing_ok=True)
    return path.stat().st_size


def _notation_of(name: str) -> str:
    """The notation that a file's name asks for.

    Raises:
        UsageError: it asks for none.
    """
    _, _, ending = name.rpartition(".")
    if ending not in ("edn", "json"):
        raise UsageError(f"--output {name}: the history is a file that ends in .edn or .json")
    return ending


def describe_file(ops: int, size: int) -> str:
    """What a file of so many operations and bytes holds, in a few words."""
    return f"{ops} operations, {size / 1e6:.1f} MB"
