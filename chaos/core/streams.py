"""The records of one worker's stream, as far as they are proven.

Every record carries its CRC, records of operations their number and how many rows their read returned. A stream that
ends with END is proven to its last byte, or it was altered. One without END belongs to a worker that died: it is
proven up to its first record that is not whole, and nothing but zeros may follow that one.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from chaos.core.checksums import crc32
from chaos.core.errors import HistoryError
from chaos.core.manifest import STREAM_SUFFIXES, FileSum, Manifest, compare, copy_again, sum_of
from chaos.core.op import Type
from chaos.core.recorder import OP_SIZE, READ_SIZE

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
        ("argument", "<i8"),
    ]
)
_READ: Final = np.dtype(
    [
        ("crc", "<u4"),
        ("op", "<u4"),
        ("offset", "<i8"),
        ("writer", "<i4"),
        ("flags", "<u4"),
        ("sequence", "<i8"),
    ]
)
assert _OP.itemsize == OP_SIZE
assert _READ.itemsize == READ_SIZE

Rows = npt.NDArray[np.void]


class Records(NamedTuple):
    """What is proven of a stream.

    ``invoked`` and ``completed``: records of operations; ``rows``: what completed reads returned, in their order;
    ``errors``: the lines by number, the first is empty; ``torn_bytes``: what lies behind the proven part.
    """

    invoked: Rows
    completed: Rows
    rows: Rows
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


def _checksums(raw: npt.NDArray[np.uint8], crc: npt.NDArray[np.uint32], *, placed: bool) -> npt.NDArray[np.uint32]:
    """What the checksums of records must be. Those of a read begin with its place in the file, except in version 2."""
    places = np.arange(1, len(raw) + 1, dtype=np.uint32)
    if placed and not np.array_equal(crc32(raw[:1, 4:]), crc[:1]):
        return crc32(raw[:, 4:], places)
    return crc32(raw[:, 4:])


def _proven(path: Path, data: bytes, dtype: np.dtype[np.void], *, placed: bool) -> tuple[Rows, int]:
    """The records before the first that is not whole, and how many bytes of it are there."""
    size = dtype.itemsize
    records = np.frombuffer(data, dtype=dtype, count=len(data) // size)
    filled = records["crc"] != 0
    count = len(records) if filled.all() else int(np.argmin(filled))
    raw = np.frombuffer(data, dtype=np.uint8, count=count * size).reshape(count, size)
    torn = np.flatnonzero(_checksums(raw, records["crc"][:count], placed=placed) != records["crc"][:count])
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


def read_records(folder: Path, worker: int, manifest: Manifest | None = None) -> Records:
    """Read one worker's files.

    Args:
        folder: the folder ``history``.
        worker: its number.
        manifest: what the files must be; None where the run left none.

    Raises:
        HistoryError: a file is missing, or was altered and not merely cut off.
    """
    paths = [folder / f"w{worker}{suffix}" for suffix in STREAM_SUFFIXES]
    contents = [_content(path, manifest) for path in paths]
    records, left = _proven(paths[0], contents[0], _OP, placed=False)
    ended = bool(len(records)) and int(records["type"][-1]) == Type.END
    if (records["type"][:-1] == Type.END).any():
        raise _altered(paths[0], "records follow the end of the stream")
    if ended and len(contents[0]) != len(records) * OP_SIZE:
        raise _altered(paths[0], "bytes follow the end of the stream")
    invoked, completed = _operations(paths[0], records)
    rows, left_rows = _proven(paths[1], contents[1], _READ, placed=True)
    if ended and len(contents[1]) != len(rows) * READ_SIZE:
        raise _altered(paths[1], f"record {len(rows) + 1}, at byte {len(rows) * READ_SIZE}, is damaged")
    texts = _texts(paths[2], contents[2], completed, ended=ended)
    proven, whole = _returned(paths[1], rows, completed, ended=ended)
    made_of: dict[str, Any] = {path.name: sum_of(data) for path, data in zip(paths, contents, strict=True)}
    return Records(invoked, whole, proven, texts, ended, left + left_rows, made_of)
