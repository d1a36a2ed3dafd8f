"""``manifest.json``: size and CRC-32 of every file that a run's history is made of, written when the run is over.

It proves that a folder is whole: a file that is missing, shorter or altered is found before anything is judged. A run
that was killed leaves none; its streams and events prove themselves record by record, up to where they end.
"""

import zlib
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from chaos.basics.checksums import is_unaltered, with_checksum
from chaos.core.errors import HistoryError
from chaos.core.model import Model
from chaos.storage.storage_path import Place, Remote

NAME: Final = "manifest.json"
STREAM_SUFFIXES: Final = (".ops", ".reads", ".values", ".errors")
"""The files that one worker's stream may have."""

_CHUNK: Final = 1 << 22
_Shape = TypeVar("_Shape")


def stream_suffixes(model: Model) -> tuple[str, ...]:
    """The files that a worker's stream has for a model."""
    missing = {".reads"} if model.row_layout is None else set[str]()
    missing |= set() if model.stores_values else {".values"}
    return tuple(suffix for suffix in STREAM_SUFFIXES if suffix not in missing)


class FileSum(msgspec.Struct, frozen=True):
    """A file's length in bytes and the CRC-32 of its content."""

    size: int
    crc: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``files``: name relative to the run folder -> what it must be."""

    files: dict[str, FileSum]

    def of_history(self, name: str) -> FileSum | None:
        """What a file of the folder ``history`` must be; None if there was none."""
        return self.files.get(f"history/{name}")

    def names(self, suffix: str) -> list[str]:
        """The files of the folder ``history`` whose names end so, without the folder."""
        own = (name.removeprefix("history/") for name in self.files if name.startswith("history/"))
        return sorted(name for name in own if name.endswith(suffix))


def sum_of(data: bytes) -> FileSum:
    """Of a file that was read whole."""
    return FileSum(len(data), zlib.crc32(data))


def sum_of_file(path: Path) -> FileSum:
    """Of a file of any length."""
    size = crc = 0
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            size, crc = size + len(data), zlib.crc32(data, crc)
    return FileSum(size, crc)


def compare(path: Place, found: FileSum, wanted: FileSum | None, by: str = NAME) -> None:
    """Hold a file against what is known of it; nothing if nothing is.

    Raises:
        HistoryError: it is another.
    """
    if wanted is None or found == wanted:
        return
    if found.size != wanted.size:
        raise HistoryError(f"{path}: {found.size} bytes, and {by} tells of {wanted.size}; {copy_again(path)}")
    raise HistoryError(f"{path}: the checksum differs from that in {by}; the file was altered; {copy_again(path)}")


def copy_again(path: Place) -> str:
    """What people do about a folder that is not whole."""
    return f"copy the run folder {'there ' if isinstance(path, Remote) else ''}again"


def write_checked(path: Path, document: bytes) -> None:
    """Write a JSON object with its checksum, whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(with_checksum(document)[0] + b"\n")
    partial.rename(path)


def check_document(path: Place, data: bytes, *, must: bool) -> None:
    """Hold a JSON object against the checksum that it carries.

    Args:
        path: where it is from, for the message.
        data: the object.
        must: whether it has to carry one; older versions of chaos wrote none.

    Raises:
        HistoryError: it was altered, or cut off.
    """
    if not is_unaltered(data) and (must or b'"checksum":' in data):
        raise HistoryError(f"{path}: its checksum is missing or wrong; the file was altered; {copy_again(path)}")


def write_manifest(folder: Path) -> None:
    """Write the manifest of a run folder whose history is complete.

    It names the plan, the events and the workers' streams; of a history without streams what tells of its tables.
    """
    history = folder / "history"
    parts = [path for suffix in STREAM_SUFFIXES for path in history.glob(f"w*{suffix}")]
    told = [path for path in history.glob("w*.facts.json") if not (history / f"{path.name.split('.')[0]}.ops").exists()]
    plan = [path for path in [folder / "plan.jsonl"] if path.exists()]
    files = {
        path.relative_to(folder).as_posix(): sum_of_file(path)
        for path in sorted([*plan, *history.glob("*.events"), *parts, *told])
    }
    write_checked(folder / NAME, msgspec.json.format(msgspec.json.encode(Manifest(files=files)), indent=1))


def read_manifest(folder: Place) -> Manifest | None:
    """Read the manifest of a run folder, None if there is none.

    Raises:
        HistoryError: it was altered.
    """
    path = folder / NAME
    if not path.exists():
        return None
    data = path.read_bytes()
    check_document(path, data, must=True)
    try:
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError as error:
        raise HistoryError(f"{path}: {error}") from None


def read_checked(path: Path, shape: type[_Shape]) -> _Shape | None:
    """A file of a verdict, ``results.json`` or ``series.json``; None if it is not there.

    Raises:
        HistoryError: it was altered.
    """
    if not path.exists():
        return None
    data = path.read_bytes()
    try:
        found = msgspec.json.decode(data, type=shape)
        check_document(path, data, must=False)
    except (msgspec.DecodeError, UnicodeDecodeError, HistoryError) as error:
        told = str(error).removeprefix(f"{path}: ").partition("; copy")[0]
        raise HistoryError(f"{path}: {told}; `chaos check` writes it again") from None
    return found
