"""What a node's storage asks of a file system, and the kernel's as the one that processes have.

A seam: simulated nodes work with the same code on a simulated disk. Nothing is durable before ``sync``, or before
``sync_names`` for what folders hold.
"""

import os
from pathlib import Path
from typing import Final, Protocol


class Files(Protocol):
    """A file system. All methods raise OSError as the calls of the same purpose do."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it; fine if it is there."""
        ...

    def names(self, folder: Path) -> list[str]:
        """The names in a folder, ascending."""
        ...

    def read(self, path: Path) -> bytes:
        """All that a file holds."""
        ...

    def write_anew(self, path: Path, data: bytes) -> None:
        """Make the file, or empty the one that is there, and write all of this."""
        ...

    def open(self, path: Path) -> int:
        """Open a file that is there, to read and to write; the number by which it is known."""
        ...

    def write_at(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        """Write at a place; how many bytes were taken, which may be fewer."""
        ...

    def cut(self, fd: int, size: int) -> None:
        """Let the file end there."""
        ...

    def sync(self, fd: int) -> None:
        """Make what the file holds durable."""
        ...

    def close(self, fd: int) -> None:
        """Close the file."""
        ...

    def rename(self, path: Path, target: Path) -> None:
        """Give a file another name, in the place of a file that had it."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file."""
        ...

    def sync_names(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        ...


class KernelFiles:
    """The files of this machine; implements ``Files``."""

    def make_folder(self, path: Path) -> None:
        """See ``Files``."""
        path.mkdir(parents=True, exist_ok=True)

    def names(self, folder: Path) -> list[str]:
        """See ``Files``."""
        return sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths

    def read(self, path: Path) -> bytes:
        """See ``Files``."""
        return path.read_bytes()

    def write_anew(self, path: Path, data: bytes) -> None:
        """See ``Files``."""
        path.write_bytes(data)

    def open(self, path: Path) -> int:
        """See ``Files``."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def write_at(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        """See ``Files``."""
        return os.pwrite(fd, data, at)

    def cut(self, fd: int, size: int) -> None:
        """See ``Files``."""
        os.ftruncate(fd, size)

    def sync(self, fd: int) -> None:
        """See ``Files``."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """See ``Files``."""
        os.close(fd)

    def rename(self, path: Path, target: Path) -> None:
        """See ``Files``."""
        path.rename(target)

    def remove(self, path: Path) -> None:
        """See ``Files``."""
        path.unlink()

    def sync_names(self, folder: Path) -> None:
        """See ``Files``."""
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


KERNEL: Final = KernelFiles()
