"""How many rows a history has, before anything of it is read: what decides which engine judges it.

Cheap and rough: what a run wrote down of itself, else the sizes of files. The module opens no history.
"""

from pathlib import Path
from typing import Final

import msgspec

from chaos.core.errors import ChaosError
from chaos.storage.recorder import OP_SIZE
from chaos.storage.storage_path import Place, Remote

RECORD_BYTES: Final = 100
"""Of a file of another tool, a record: what those of Jepsen's registers, queues and Kafka workload have, about."""

ROW_BYTES: Final = 32
"""Of what completions brought, a row, about."""


class _Facts(msgspec.Struct):
    """What is asked of a worker's facts (``chaos.storage.history.StreamFacts``)."""

    operations: int
    reads: int


def rows_of_file(path: Place) -> int:
    """About how many records a history of another tool has; 0 if its size cannot be seen from here."""
    return bytes_of_history(path) // RECORD_BYTES


def bytes_of_history(path: Place) -> int:
    """The size of a file of another tool, or of the files of a report folder; 0 if it cannot be seen from here."""
    if isinstance(path, Path) and path.is_dir():  # of each client a folder with files
        return sum(map(_size_bytes, path.glob("*/*.json")))
    return _size_bytes(path)


def rows_of_run(folder: Place) -> int:
    """How many operations and messages read a run folder holds: as its tables' facts say, else by its streams."""
    history = folder / "history"
    facts = {path.name.split(".")[0]: path for path in history.glob("w*.facts.json")}
    rows = sum(map(_told, facts.values()))
    for suffix, size in (("ops", 2 * OP_SIZE), ("reads", ROW_BYTES)):  # an operation has an invocation and an end
        streams = [path for path in history.glob(f"w*.{suffix}") if path.stem not in facts]
        rows += sum(_size_bytes(path) // size for path in streams)
    return rows


def _told(path: Place) -> int:
    try:
        said = msgspec.json.decode(path.read_bytes(), type=_Facts)
    except (OSError, ChaosError, msgspec.DecodeError):
        return 0  # who reads it to judge says what is wrong
    return said.operations + said.reads


def _size_bytes(path: Place) -> int:
    try:
        if isinstance(path, Remote):
            return path.stat().st_size
        seen = path.stat()
    except (OSError, ChaosError):
        return 0
    return min(seen.st_size, 512 * seen.st_blocks)  # a stream that was not closed ends in blocks nobody wrote
