"""Files to and from a host, whole or not at all: the scripts behind ``Host.put`` and ``Host.get`` on every backend.

POSIX sh and coreutils only. The content goes over standard input and output, so how it travels is the backend's
business.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

COPY_TIMEOUT_S: Final = 600.0

MISSING: Final = 44
"""The exit code of ``GET`` for a file that is not there."""

PUT: Final = """\
set -e
mkdir -p "$(dirname "$1")"
trap 'rm -f "$1.partial.$$"' EXIT
cat > "$1.partial.$$"
chmod "$2" "$1.partial.$$"
mv -f "$1.partial.$$" "$1"
trap - EXIT
"""
GET: Final = f'[ -f "$1" ] || exit {MISSING}; exec cat "$1"'


@contextmanager
def atomic_file(target: Path) -> Iterator[BinaryIO]:
    """A local file that becomes ``target`` if all inside goes well, and nothing otherwise."""
    partial = target.with_name(target.name + ".partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
