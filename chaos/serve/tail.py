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

from chaos.core.claims import ClaimReader
from chaos.core.events import Event
from chaos.core.recorder import OP_SIZE

PART: Final = OP_SIZE << 16
"""Bytes read at once."""
_RECORD: Final = np.dtype(
    {
        "names": ["sequence", "time_ns", "type", "f"],
        "formats": ["<u4", "<i8", "u1", "u1"],
        "offsets": [4, 8, 20, 21],
        "itemsize": OP_SIZE,
    }
)
_CRC_SIZE: Final = 4
_decoder: Final = msgspec.json.Decoder(Event)

Records = npt.NDArray[np.void]


class StreamTail:
    """The records of one worker's stream: fields ``sequence``, ``time_ns``, ``type`` and ``f``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def new(self) -> Iterator[Records]:
        """The records that are whole and were not given yet, in parts."""
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
                yield found[:number]


def _is_whole(record: bytes) -> bool:
    return int.from_bytes(record[:_CRC_SIZE], "little") == zlib.crc32(record[_CRC_SIZE:])


class EventTail:
    """The events of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._claims = ClaimReader()

    def new(self) -> Iterator[Event]:
        """The events whose lines are whole and were not given yet; a line that is none is left out."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                try:
                    yield self._claims.whole(_decoder.decode(line))
                except msgspec.DecodeError:
                    continue
