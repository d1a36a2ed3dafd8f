"""What was appended to the files of a run since they were last looked at. A thin shell: nothing is asked of the run.

Workers store records of a fixed size into files that are longer than their content; the events are lines. Both are read
from where the last look ended, a bounded part at a time.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.events import Event
from chaos.core.op import Type
from chaos.core.refusals import is_refusal
from chaos.storage.recorder import FLAG_PINNED, OP_SIZE
from chaos.storage.repeated_claims import ClaimReader

PART: Final = OP_SIZE << 16
"""Bytes read at once."""
_RECORD: Final = np.dtype(
    {
        "names": ["sequence", "time_ns", "type", "f", "client", "error", "flags"],
        "formats": ["<u4", "<i8", "u1", "u1", "<u2", "<u4", "<u2"],
        "offsets": [4, 8, 20, 21, 22, 56, 62],
        "itemsize": OP_SIZE,
    }
)
_CRC_SIZE: Final = 4
_decoder: Final = msgspec.json.Decoder(Event)

Records = npt.NDArray[np.void]
Mask = npt.NDArray[np.bool_]


class StreamTail:
    """The records of one worker's stream.

    Args:
        path: its file of records; that of its errors lies beside it.
        refusals: how the errors begin by which nodes refuse what they must not serve.
    """

    def __init__(self, path: Path, refusals: tuple[str, ...] = ()) -> None:
        self._path = path
        self._refusals = refusals
        self._read = 0
        self._pinned: set[int] = set()
        self._errors = _ErrorTail(path.with_suffix(".errors"))

    def new(self) -> Iterator[tuple[Records, Mask]]:
        """The records that are whole and were not given yet, in parts, and which of them were refused by design."""
        with self._path.open("rb") as file:
            while True:
                file.seek(self._read * OP_SIZE)
                data = file.read(PART)
                found = np.frombuffer(data[: len(data) // OP_SIZE * OP_SIZE], dtype=_RECORD)
                wanted = np.arange(self._read + 1, self._read + 1 + len(found))
                unlike = np.flatnonzero(found["sequence"] != wanted)
                number = int(unlike[0]) if len(unlike) else len(found)
                if number and not _is_whole(data[(number - 1) * OP_SIZE : number * OP_SIZE]):
                    number -= 1  # it is being stored just now
                if number == 0:
                    return
                self._read += number
                yield found[:number], self._refused(found[:number])

    def _refused(self, records: Records) -> Mask:
        """Which are failures of a client that stays on one node, with an error that is a refusal."""
        begun = records[(records["type"] == Type.INVOKE) & ((records["flags"] & FLAG_PINNED) != 0)]
        self._pinned.update(np.unique(begun["client"]).tolist())
        failed = np.flatnonzero((records["type"] == Type.FAIL) & np.isin(records["client"], list(self._pinned)))
        numbers, places = np.unique(records["error"][failed], return_inverse=True)
        named = [is_refusal(self._errors.text(number), self._refusals) for number in numbers.tolist()]
        found: Mask = np.zeros(len(records), dtype=np.bool_)
        found[failed] = np.array(named, dtype=np.bool_)[places]
        return found


def _is_whole(record: bytes) -> bool:
    return int.from_bytes(record[:_CRC_SIZE], "little") == zlib.crc32(record[_CRC_SIZE:])


class _LineTail:
    """The lines of one file that are whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def new(self) -> Iterator[bytes]:
        """Those that were not given yet."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                yield line


class _ErrorTail:
    """The errors of one worker's stream by number, from 1. A line is written before the first record that names it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = _LineTail(path)
        self._errors: list[str] = []

    def text(self, number: int) -> str:
        """The error of this number; empty if there is none."""
        if number > len(self._errors) and self._path.is_file():
            self._errors += [line.decode(errors="replace").rstrip("\n") for line in self._lines.new()]
        return self._errors[number - 1] if 0 < number <= len(self._errors) else ""


class EventTail:
    """The events of one file."""

    def __init__(self, path: Path) -> None:
        self._lines = _LineTail(path)
        self._claims = ClaimReader()

    def new(self) -> Iterator[Event]:
        """The events whose lines are whole and were not given yet; a line that is none is left out."""
        for line in self._lines.new():
            try:
                yield self._claims.whole(_decoder.decode(line))
            except msgspec.DecodeError:
                continue
