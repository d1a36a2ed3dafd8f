"""The records of one worker's stream, as far as they are proven.

Every record carries its CRC, records of operations their number, how many rows they brought and which values are
theirs. A stream that ends with END is proven to its last byte, or it was altered. One without END belongs to a worker
that died: it is proven up to its first record that is not whole, and nothing but zeros may follow that one.
"""

import zlib
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from chaos.core.errors import HistoryError
from chaos.core.model import Model, RowFormat
from chaos.core.op import Type
from chaos.storage.manifest import FileSum, Manifest, compare, copy_again, stream_suffixes, sum_of
from chaos.storage.record_checksums import crc32
from chaos.storage.recorder import FLAG_VALUES, FRAME, OP_SIZE

_OP: Final = np.dtype(
    [
        ("crc", "<u4"),
        ("sequence", "<u4"),
        ("time_ns", "<i8"),
        ("op", "<u4"),
        ("type", "u1"),
        ("f", "u1"),
        ("client", "<u2"),
        ("process", "<u4"),
        ("key", "<i4"),
        ("a", "<i8"),
        ("b", "<i8"),
        ("c", "<i8"),
        ("ref", "<u4"),
        ("node", "<i2"),
        ("flags", "<u2"),
        ("d", "<i8"),
    ]
)
assert _OP.itemsize == OP_SIZE

Rows = npt.NDArray[np.void]


class Records(NamedTuple):
    """What is proven of a stream.

    ``invoked`` and ``completed``: records of operations; ``rows``: what completions brought, in their order, None if
    the model has none; ``values`` by number, the first is empty; ``errors``: the lines by number, the first is empty;
    ``torn_bytes``: what lies behind the proven part.
    """

    invoked: Rows
    completed: Rows
    rows: Rows | None
    values: list[bytes]
    errors: list[str]
    ended: bool
    torn_bytes: int
    made_of: dict[str, FileSum]


def _altered(path: Path, what: str) -> HistoryError:
    return HistoryError(f"{path}: {what}; the file was altered; {copy_again(path)}")


def _content(path: Path, manifest: Manifest | None) -> bytes:
    """A file of the stream, proven by the manifest if there is one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise HistoryError(f"{path}: missing; {copy_again(path)}") from None
    if manifest is not None:
        compare(path, sum_of(data), manifest.of_history(path.name))
    return data


def _checksums(raw: npt.NDArray[np.uint8], *, placed: bool) -> npt.NDArray[np.uint32]:
    """What the checksums of records must be. Those of rows begin with their place in the file, from 1."""
    return crc32(raw[:, 4:], np.arange(1, len(raw) + 1, dtype=np.uint32)) if placed else crc32(raw[:, 4:])


def _proven(path: Path, data: bytes, dtype: np.dtype[np.void], *, placed: bool) -> tuple[Rows, int]:
    """The records before the first that is not whole, and how many bytes of it are there."""
    size = dtype.itemsize
    records = np.frombuffer(data, dtype=dtype, count=len(data) // size)
    filled = records["crc"] != 0
    count = len(records) if filled.all() else int(np.argmin(filled))
    raw = np.frombuffer(data, dtype=np.uint8, count=count * size).reshape(count, size)
    torn = np.flatnonzero(_checksums(raw, placed=placed) != records["crc"][:count])
    count = int(torn[0]) if len(torn) else count
    rest = np.flatnonzero(np.frombuffer(data, dtype=np.uint8)[count * size :])
    left = int(rest[-1]) + 1 if len(rest) else 0
    if left > size:  # whoever was killed had stored nothing behind the record that it was storing
        raise _altered(path, f"record {count + 1}, at byte {count * size}, is damaged and others follow")
    return records[:count], left


def _operations(path: Path, records: Rows) -> tuple[Rows, Rows]:
    """Invocations and completions.

    Raises:
        HistoryError: they are not what a recorder writes.
    """
    numbers = np.arange(1, len(records) + 1, dtype="<u4")
    if not np.array_equal(records["sequence"], numbers):
        wrong = int(np.argmax(records["sequence"] != numbers))
        raise _altered(path, f"record {wrong + 1} carries another number")
    invoked = records[records["type"] == Type.INVOKE]
    completed = records[(records["type"] >= Type.OK) & (records["type"] <= Type.NOT_SENT)]
    if len(invoked) and not np.array_equal(invoked["op"], np.arange(1, len(invoked) + 1, dtype="<u4")):
        raise _altered(path, "operation numbers do not ascend by one")
    if len(completed) and (completed["op"].min() < 1 or completed["op"].max() > len(invoked)):
        raise _altered(path, "a completion without its invocation")
    if len(np.unique(completed["op"])) != len(completed):
        raise _altered(path, "an operation completed twice")
    return invoked, completed


def _returned(path: Path, rows: Rows, completed: Rows, *, ended: bool) -> tuple[Rows, Rows]:
    """The rows of completed reads, and the completions whose rows are all there.

    Rows are stored in the order of completions, each read's before its completion.
    """
    wanted = np.repeat(completed["op"], completed["key"])
    both = min(len(rows), len(wanted))
    if (ended and len(rows) != len(wanted)) or not np.array_equal(rows["op"][:both], wanted[:both]):
        at = int(np.argmax(rows["op"][:both] != wanted[:both])) if (rows["op"][:both] != wanted[:both]).any() else both
        raise _altered(
            path, f"{len(rows)} records, operations returned {len(wanted)}; the first difference is at record {at + 1}"
        )
    whole = np.cumsum(completed["key"]) <= both
    return rows[: int(completed["key"][whole].sum())], completed[whole]


def _texts(path: Path, data: bytes, completed: Rows, *, ended: bool) -> list[str]:
    """The lines of errors by number. Each is written before its first use."""
    *lines, rest = data.decode(errors="replace").split("\n")
    used = int(completed["ref"].max()) if len(completed) else 0
    if used > len(lines) or (ended and (used < len(lines) or rest)):
        raise _altered(path, f"{len(lines)} whole lines, operations name {used}")
    return ["", *lines]


def _frames(path: Path, data: bytes) -> tuple[list[bytes], int]:
    """The values before the first that are not whole, by number from 1, and how many bytes of those are there."""
    found, at, view = [b""], 0, memoryview(data)
    filled = len(data.rstrip(b"\0"))
    while at + FRAME.size <= len(data):
        crc, length = FRAME.unpack_from(data, at)
        end = at + FRAME.size + length
        if end > len(data) or zlib.crc32(view[at + 4 : end], len(found)) != crc:
            if filled > end and crc:  # whoever was killed had stored nothing behind the values that it was storing
                raise _altered(path, f"values {len(found)}, at byte {at}, are damaged and others follow")
            break
        found.append(data[at + FRAME.size : end])
        at = end
    return found, max(0, filled - at)


def _with_values(path: Path, records: Rows, frames: int, *, ended: bool) -> Rows:
    """The records before the first whose values were cut off; they name values once each, in their order."""
    named = (records["flags"] & FLAG_VALUES) != 0
    number = np.where(records["type"] == Type.INVOKE, records["ref"], records["d"])[named]
    if not np.array_equal(number, np.arange(1, len(number) + 1)) or (ended and len(number) != frames):
        raise _altered(path, f"{frames} values, and operations name {len(number)}")
    return records if len(number) <= frames else records[: int(np.flatnonzero(named)[frames])]


class _Files:
    """The files of one worker's stream, each proven by the manifest if there is one."""

    def __init__(self, folder: Path, worker: int, model: Model, manifest: Manifest | None) -> None:
        self.made_of: dict[str, FileSum] = {}
        self._contents: dict[str, tuple[Path, bytes]] = {}
        for suffix in stream_suffixes(model):
            path = folder / f"w{worker}{suffix}"
            self._contents[suffix] = path, _content(path, manifest)
            self.made_of[path.name] = sum_of(self._contents[suffix][1])

    def __getitem__(self, suffix: str) -> tuple[Path, bytes]:
        return self._contents[suffix]


def _rows(file: tuple[Path, bytes], form: RowFormat, completed: Rows, *, ended: bool) -> tuple[Rows, Rows, int]:
    """What completions brought, the completions of which all rows are there, and the bytes behind."""
    path, data = file
    rows, left = _proven(path, data, form.dtype, placed=True)
    if ended and len(data) != len(rows) * form.dtype.itemsize:
        raise _altered(path, f"record {len(rows) + 1}, at byte {len(rows) * form.dtype.itemsize}, is damaged")
    return *_returned(path, rows, completed, ended=ended), left


def read_records(folder: Path, worker: int, model: Model, manifest: Manifest | None = None) -> Records:
    """Read one worker's files.

    Args:
        folder: the folder ``history``.
        worker: its number.
        model: whose operations they hold.
        manifest: what the files must be; None where the run left none.

    Raises:
        HistoryError: a file is missing, or was altered and not merely cut off.
    """
    files = _Files(folder, worker, model, manifest)
    path, data = files[".ops"]
    records, left = _proven(path, data, _OP, placed=False)
    ended = bool(len(records)) and int(records["type"][-1]) == Type.END
    if (records["type"][:-1] == Type.END).any():
        raise _altered(path, "records follow the end of the stream")
    if ended and len(data) != len(records) * OP_SIZE:
        raise _altered(path, "bytes follow the end of the stream")
    values: list[bytes] = []
    if model.stores_values:
        values, left_values = _frames(*files[".values"])
        if ended and left_values:
            raise _altered(files[".values"][0], f"values {len(values)} are damaged")
        whole = _with_values(files[".values"][0], records, len(values) - 1, ended=ended)
        left += left_values + (len(records) - len(whole)) * OP_SIZE
        records = whole
    invoked, completed = _operations(path, records)
    rows: Rows | None = None
    texts = _texts(*files[".errors"], completed, ended=ended)
    form = model.tables.rows
    if form is not None:
        rows, completed, left_rows = _rows(files[".reads"], form, completed, ended=ended)
        left += left_rows
    return Records(invoked, completed, rows, values, texts, ended, left, files.made_of)
