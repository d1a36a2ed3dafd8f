"""Where a history is: a path of this machine, or a URI of another file system (``s3://``, ``gs://``, ``hdfs://``, …).

``place`` is the one way from words to either; whoever reads histories opens what it gives. A URI is read through
pyarrow's file systems. The module refuses to write there, and URIs that carry a password: they end up in reports.
"""

import io
import re
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, Literal, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from chaos.core.errors import HistoryError, UsageError

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_AHEAD_BYTES: Final = 4 << 20
"""Read at a time: a request to an object store takes as long as a mebibyte or more."""


class Size(NamedTuple):
    """What ``Remote.stat`` tells."""

    st_size: int


class Remote:
    """A file of another file system: as much of ``pathlib.Path`` as readers of histories need.

    Args:
        uri: as pyarrow's ``FileSystem.from_uri`` takes it.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def __str__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        return f"Remote({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other.uri == self.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(urlsplit(self.uri).path).name

    def absolute(self) -> "Remote":
        """Itself: a URI is one everywhere."""
        return self

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """The file's bytes, from any place on.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        assert mode == "rb"
        system, path = _system(self.uri)
        try:
            return cast("BinaryIO", io.BufferedReader(system.open_input_file(path), _AHEAD_BYTES))
        except OSError as error:
            raise HistoryError(f"{self.uri}: {_first_line(error)}") from error

    def _info(self) -> Any:
        system, path = _system(self.uri)
        try:
            return system.get_file_info(path)
        except OSError as error:
            raise HistoryError(f"{self.uri}: {_first_line(error)}") from error

    def is_file(self) -> bool:
        """Whether it is there and no folder.

        Raises:
            HistoryError: the file system cannot be reached.
        """
        return bool(self._info().is_file)

    def exists(self) -> bool:
        """Whether it is there.

        Raises:
            HistoryError: the file system cannot be reached.
        """
        return bool(self._info().type.value)

    def stat(self) -> Size:
        """Its size.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        size = self._info().size
        if size is None:
            raise HistoryError(f"{self.uri}: there is no such file")
        return Size(int(size))

    def fetch(self, folder: Path) -> None:
        """Copy the folder that it is into one that is there.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        from pyarrow.fs import LocalFileSystem, copy_files

        system, path = _system(self.uri)
        if not self.exists():
            raise HistoryError(f"{self.uri}: there is no such folder")
        try:
            copy_files(path, str(folder), source_filesystem=system, destination_filesystem=LocalFileSystem())
        except OSError as error:
            raise HistoryError(f"{self.uri}: {_first_line(error)}") from error


Place = Path | Remote


def place(text: str) -> Place:
    """What a path or a URI means; ``file://`` is a path of this machine.

    Raises:
        UsageError: a URI that carries a password.
    """
    if _URI.match(text) is None:
        return Path(text)
    parts = urlsplit(text)
    if parts.scheme.lower() == "file":
        return Path(unquote(parts.path))
    if parts.password is not None:
        raise UsageError(
            f"{parts.scheme}://…@{parts.hostname}: keep passwords out of the path; "
            "they are taken from the environment, as the file system's own tools do"
        )
    return Remote(text)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@lru_cache(maxsize=64)
def _system(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path in it.

    Raises:
        UsageError: pyarrow has no such file system here.
        HistoryError: it cannot be reached.
    """
    from pyarrow import lib
    from pyarrow.fs import FileSystem

    try:
        system, path = FileSystem.from_uri(uri)
    except (lib.ArrowInvalid, lib.ArrowNotImplementedError) as error:
        raise UsageError(f"{uri}: {_first_line(error)}; a path, or a URI of s3, gs, hdfs, abfs or file") from error
    except (lib.ArrowException, OSError) as error:
        raise HistoryError(f"{uri}: {_first_line(error)}") from error
    return system, path
