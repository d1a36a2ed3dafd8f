"""Scripts that read what nodes write into their logs; any host runs them, and a simulated one answers them."""

from typing import Final

SIZES: Final = 'for file; do stat -c %s -- "$file" 2>/dev/null || echo 0; done'
"""The size of each file in bytes, a line each; 0 where there is none. The arguments are paths."""
TAIL: Final = 'tail -c +"$1" -- "$2" 2>/dev/null | head -c "$3"'
"""Of a file from a byte on, counted from 1, so many bytes at most. The arguments: the byte, the path, how many."""
