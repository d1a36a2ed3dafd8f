"""Where a history is: a path of this machine, or a URI of another file system (``s3://``, ``gs://``, ``hdfs://``, …).

``place`` is the one way from words to either; whoever reads histories opens what it gives. A URI is read through
pyarrow's file systems, a folder's files through the same one. Does not write there, and takes no URIs that carry a
password: they would end up in reports.
"""

import io
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, Literal, NamedTuple, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from chaos.core.errors import HistoryError, UsageError

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
AHEAD_BYTES: Final = 4 << 20
"""Read at a time: a request to an object store takes as long as a mebibyte or more."""

_AT_ONCE: Final = 8
"""Requests that wait for answers at a time; pyarrow itself has as many."""


class Stat(NamedTuple):
    """What ``Remote.stat`` tells. ``st_mtime_ns``: when it was put there, 0 if the file system does not say."""

    st_size: int
    st_mtime_ns: int


class Remote:
    """A file or folder of another file system: as much of ``pathlib.Path`` as readers of histories need.

    Args:
        uri: as pyarrow's ``FileSystem.from_uri`` takes it.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._top, self._below = uri, ""  # one file system, with its connections, for all that lies in a folder
        self._listed: Stat | None = None

    def _child(self, name: str, listed: Stat | None = None) -> "Remote":
        path, mark, options = self.uri.partition("?")  # those of the whole file system
        child = Remote(f"{path.rstrip('/')}/{quote(name)}{mark}{options}")
        child._top, child._below, child._listed = self._top, f"{self._below}/{name}", listed
        return child

    def __str__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        return f"Remote({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other.uri == self.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    def __truediv__(self, name: str) -> "Remote":
        return self._child(name)

    @property
    def _path(self) -> PurePosixPath:
        return PurePosixPath(unquote(urlsplit(self.uri).path))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self._path.name

    @property
    def stem(self) -> str:
        """Its name without the suffix."""
        return self._path.stem

    @property
    def suffix(self) -> str:
        """The end of its name, from the last dot on."""
        return self._path.suffix

    def absolute(self) -> "Remote":
        """Itself: a URI is one everywhere."""
        return self

    def at(self) -> tuple[Any, str]:
        """The pyarrow file system that it is in, and its path there.

        Raises:
            UsageError: pyarrow has no such file system here.
            HistoryError: it cannot be reached.
        """
        system, path = _system(self._top)
        return system, f"{path.rstrip('/')}{self._below}"

    def source(self) -> Any:
        """Its bytes as a pyarrow file, of which readers ask the ranges that they need.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        system, path = self.at()
        try:
            return system.open_input_file(path)
        except FileNotFoundError:
            raise HistoryError(f"{self.uri}: there is no such file") from None
        except OSError as error:
            raise HistoryError(f"{self.uri}: {_first_line(error)}") from error

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """The file's bytes, from any place on.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        assert mode == "rb"
        return cast("BinaryIO", io.BufferedReader(self.source(), AHEAD_BYTES))

    def read_bytes(self) -> bytes:
        """All of a small file.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        with self.source() as file:
            try:
                return bytes(file.read())
            except OSError as error:
                raise HistoryError(f"{self.uri}: {_first_line(error)}") from error

    def copy_to(self, path: Path) -> None:
        """Copy the file to one of this machine.

        Raises:
            HistoryError: it is not there, or cannot be reached, or there is no room for it here.
        """
        try:
            with self.open() as file, path.open("wb") as out:
                shutil.copyfileobj(file, out, AHEAD_BYTES)
        except OSError as error:
            raise HistoryError(f"{self.uri} to {path}: {_first_line(error)}") from error

    def _info(self) -> Any:
        system, path = self.at()
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

    def is_dir(self) -> bool:
        """Whether it is a folder; one without files is none to most object stores.

        Raises:
            HistoryError: the file system cannot be reached.
        """
        return bool(self._info().type.name == "Directory")

    def exists(self) -> bool:
        """Whether it is there.

        Raises:
            HistoryError: the file system cannot be reached.
        """
        return bool(self._info().type.value)

    def stat(self) -> Stat:
        """Its size and time, as they were listed if it comes from ``glob``.

        Raises:
            HistoryError: it is not there, or cannot be reached.
        """
        if self._listed is not None:
            return self._listed
        info = self._info()
        if info.size is None:
            raise HistoryError(f"{self.uri}: there is no such file")
        return _stat(info)

    def glob(self, pattern: str) -> Iterator["Remote"]:
        """The files directly in the folder whose names match, by one request; none if there is no such folder.

        Raises:
            HistoryError: the file system cannot be reached.
        """
        from pyarrow.fs import FileSelector

        system, path = self.at()
        try:
            listed = system.get_file_info(FileSelector(path, allow_not_found=True))
        except OSError as error:
            raise HistoryError(f"{self.uri}: {_first_line(error)}") from error
        for info in listed:
            if info.is_file and fnmatchcase(info.base_name, pattern):
                yield self._child(info.base_name, _stat(info))


_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")


def of_each(perform: Callable[[_Asked], _Found], asked: Iterable[_Asked], *, far: bool) -> Iterator[_Found]:
    """What a function finds of each, in their order; several at a time where it waits for another file system."""
    if not far:
        yield from map(perform, asked)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(perform, asked)


def _stat(info: Any) -> Stat:
    return Stat(int(info.size), int(info.mtime_ns or 0))


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
