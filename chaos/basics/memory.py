"""Memory that is used again: NumPy's arrays come from malloc, which gives large ones back to the system at once.

The system then hands out zeroed pages for every next array, which took a third of the time of a check of long
histories. Holds at most one stretch of freed memory, and does nothing where malloc is not glibc's.
"""

import ctypes
from functools import cache
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3

LARGEST_BYTES: Final = (256 << 20, 32 << 20)
"""Arrays up to this size are taken from memory that is kept; older glibc allows no more than the second."""
KEPT_BYTES: Final = 1 << 30
"""So much freed memory a process keeps at most."""


@cache
def keep_freed() -> bool:
    """Let this process keep freed memory for its next arrays; whether malloc agreed."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return any(mallopt(_MMAP_THRESHOLD, size) for size in LARGEST_BYTES) and bool(mallopt(_TRIM_THRESHOLD, KEPT_BYTES))
