"""What a rule of a faulty disk is about and does: the words of our file system beneath nodes and of simulated disks."""

from typing import Final, Literal

READ: Final = 1
WRITE: Final = 2
FSYNC: Final = 4
RENAME: Final = 8
CREATE: Final = 16
UNLINK: Final = 32
TRUNCATE: Final = 64
OPEN_TO_WRITE: Final = 128
ATTRIBUTES: Final = 256
"""Kinds of operations, as ``nemesis/faults/disks/diskfs/fs/diskfs.h`` numbers them; a rule takes their sum."""

Action = Literal["error", "delay", "stall", "short", "crash"]
