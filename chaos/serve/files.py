"""Files and folders of a store, and nothing else of the machine."""

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol

CHUNK: Final = 1 << 18
_LEVEL: Final = 1
"""Of compression: tables are compressed already, and a fast disk should not wait."""


class Sink(Protocol):
    """Takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Take some."""
        ...


def open_inside(top: Path, base: Path, parts: tuple[str, ...]) -> tuple[BinaryIO, Path] | None:
    """A regular file in a folder, open for reading, and where it really is; None if there is none.

    Links are followed and may lead anywhere inside; what was opened is asked where it is, so nobody can change a link
    between the look and the opening.

    Args:
        top: what must hold the file, without links.
        base: what the parts begin from.
        parts: of the path.
    """
    try:
        descriptor = os.open(base.joinpath(*parts), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    real = Path(f"/proc/self/fd/{descriptor}").readlink()
    if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not real.is_relative_to(top):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb", buffering=0), real


def pieces(file: BinaryIO, length: int) -> Iterator[bytes]:
    """So many bytes of a file, a bounded part at a time; fewer if it is cut off meanwhile."""
    while length > 0 and (data := file.read(min(CHUNK, length))):
        length -= len(data)
        yield data


class _Forward:
    """A file that can only be written on, as an archive needs it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._written = 0

    def write(self, data: bytes, /) -> int:
        self._sink.write(bytes(data))
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def seekable(self) -> bool:
        return False


def write_archive(folder: Path, sink: Sink) -> None:
    """Write a folder as a zip file, a bounded part at a time; links in it are left out.

    A file that grows meanwhile is taken as long as it was when its turn came.
    """
    with zipfile.ZipFile(_Forward(sink), "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for path in sorted(_files(folder)):
            found = open_inside(folder, folder, path.relative_to(folder).parts)
            if found is None:
                continue
            with found[0] as file:
                name = zipfile.ZipInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}")
                name.compress_type, name.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                with archive.open(name, "w", force_zip64=True) as out:
                    for data in pieces(file, os.fstat(file.fileno()).st_size):
                        out.write(data)


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            if not path.is_symlink() and path.is_file():
                yield path
