"""The numbers by which a log's operations and the records that reads return are stored."""

import struct
from typing import Final

NONE: Final = -1
NO_WRITER: Final = 0xFFFFFFFF
ATTEMPT_SHIFT: Final = 16
"""The flags of a row hold the attempt above this bit."""
FLAG_DAMAGED: Final = 1

# crc, op, offset, writer, flags, sequence
READ: Final = struct.Struct("<IIqiIq")
READ_SIZE: Final = 32
