"""A simulated disk: what files hold, what of it is durable, and what a crash leaves.

The operations have the shape of the kernel's. A write is seen at once and is durable after a sync of the file; a new
name, another or none is durable after a sync of its folder. When power fails, all that was not synced is as before.

What a node writes beside its other work takes time. Such a batch is noted first (``begin``) and done at the end of its
time (``finish``); a process that is killed meanwhile has done a part of it, in order, and its last write may be torn.
"""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from cluster.disk_operations import (
    CREATE,
    FSYNC,
    OPEN_TO_WRITE,
    READ,
    RENAME,
    TRUNCATE,
    UNLINK,
    WRITE,
    Action,
)

BLOCK: Final = 4096
"""The least that a disk writes as a whole."""
FREE_BLOCKS: Final = 1 << 20
"""What a disk says to have left."""


class DiskRule(msgspec.Struct, kw_only=True):
    """What becomes of operations of some kinds on some files.

    ``value``: an errno, or microseconds. ``applies``: to which paths. ``skip`` operations pass first, at most ``times``
    are hit (0: all), each with the probability ``share``. ``matched`` and ``hit``: how many there were.
    """

    ops: int
    action: Action
    value: int
    share: float
    skip: int
    times: int
    applies: Callable[[str], bool]
    matched: int = 0
    hit: int = 0


class _File:
    """What a file holds. ``undo``: what takes back each change since its last sync, the latest last."""

    __slots__ = ("changed", "data", "undo")

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.undo: list[tuple[int, bytes, int]] = []
        self.changed = 0


_Change = tuple[Callable[..., None], tuple[Any, ...]]


class Lost(NamedTuple):
    """What a power failure took: files, bytes of them, and changes of names."""

    files: int
    bytes: int
    names: int


class SimulatedDisk:
    """One disk; paths are absolute. ``draw``: of what crashes leave and of what rules hit.

    ``rules``: by the name by which somebody speaks to it, and a number. Of the batch that was noted last: ``late_us``,
    how much longer it takes, in microseconds; ``stalled``: until the rule goes. ``crashed``: a rule has let the
    machine's process crash, and nothing is done any more until ``revive``.
    """

    def __init__(self, draw: Random) -> None:
        self.rules: dict[tuple[str, str], DiskRule] = {}
        self.late_us = 0
        self.stalled = self.crashed = False
        self._draw = draw
        self._files: dict[str, _File] = {}
        self._folders: set[str] = set()
        self._names_undo: list[tuple[str, _File | None]] = []
        self._open: dict[int, str] = {}
        self._last_fd = 2
        self._changes = 0
        self._noted: list[_Change] | None = None
        self._batch: list[_Change] = []
        self._to_be: set[str] = set()

    # ------------------------------------------------------------ a batch that takes time

    def begin(self) -> None:
        """From now on changes are noted, and done by ``finish``."""
        self._noted, self.late_us = [], 0
        self.stalled = False
        self._to_be.clear()

    def noted(self) -> None:
        """All of the batch has been asked for: what is asked for next is done at once."""
        self._batch, self._noted = self._noted or [], None

    def finish(self) -> None:
        """Do what was noted."""
        batch, self._batch = self._batch, []
        for act, arguments in batch:
            act(*arguments)

    def break_off(self) -> None:
        """Do a part of what was noted: the process has ended meanwhile."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        done = self._draw.randint(0, len(batch))
        for act, arguments in batch[:done]:
            act(*arguments)
        if done < len(batch) and batch[done][0] == self._write:
            path, data, at = batch[done][1]
            self._write(path, data[: self._draw.randint(0, len(data))], at)

    def _do(self, act: Callable[..., None], *arguments: Any) -> None:
        if self._noted is None:
            act(*arguments)
        elif not self.crashed:
            self._noted.append((act, arguments))

    def _allow(self, kind: int, path: str) -> bool:
        """Ask the rules; whether an operation is to be cut short.

        Raises:
            OSError: one says so.
        """
        short = False
        for rule in self.rules.values():
            if not rule.ops & kind or not rule.applies(path):
                continue
            rule.matched += 1
            if rule.matched <= rule.skip or (rule.times and rule.hit >= rule.times):
                continue
            if rule.share < 1 and self._draw.random() >= rule.share:
                continue
            rule.hit += 1
            if rule.action == "error":
                raise OSError(rule.value, os.strerror(rule.value), path)
            if rule.action == "crash":
                self.crashed = True
            self.stalled |= rule.action == "stall"
            self.late_us += rule.value if rule.action == "delay" else 0
            short |= rule.action == "short"
        if self.crashed and self._noted is None:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return short

    def revive(self) -> None:
        """Let operations be done again; fine if they are."""
        self.crashed = False

    # ------------------------------------------------------------ operations

    def make_folder(self, path: Path) -> None:
        """As ``mkdir -p``."""
        self._folders |= {str(path), *map(str, PurePosixPath(path).parents)}

    def names(self, folder: Path) -> list[str]:
        """The names in a folder, ascending."""
        head = f"{folder}/"
        if str(folder) not in self._folders:
            raise _missing(folder)
        below = (path[len(head) :] for path in (*self._files, *self._folders) if path.startswith(head))
        return sorted({path.partition("/")[0] for path in below})

    def read(self, path: Path) -> bytes:
        """All that a file holds."""
        self._allow(READ, str(path))
        return bytes(self._there(str(path)).data)

    def write_anew(self, path: Path, data: bytes) -> None:
        """Make the file, or empty the one that is there, and write all of this."""
        name = str(path)
        self._allow(OPEN_TO_WRITE | TRUNCATE if name in self._files else CREATE, name)
        self._to_be.add(name)
        self._do(self._create, name)
        if data:
            self._allow(WRITE, name)
            self._do(self._write, name, bytes(data), 0)

    def open(self, path: Path) -> int:
        """Open a file that is there; the number by which it is known."""
        name = str(path)
        if name not in self._files and not (self._noted is not None and name in self._to_be):
            raise _missing(path)
        self._allow(OPEN_TO_WRITE, name)
        self._last_fd += 1
        self._open[self._last_fd] = name
        return self._last_fd

    def write_at(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        """Write at a place; how many bytes were taken."""
        name = self._open[fd]
        taken = bytes(data)
        if self.rules and self._allow(WRITE, name):
            taken = taken[: max(1, len(taken) // 2)]
        self._do(self._write, name, taken, at)
        return len(taken)

    def cut(self, fd: int, size: int) -> None:
        """Let the file end there."""
        name = self._open[fd]
        self._allow(TRUNCATE, name)
        self._do(self._cut, name, size)

    def sync(self, fd: int) -> None:
        """Make what the file holds durable."""
        name = self._open[fd]
        if self.rules:
            self._allow(FSYNC, name)
        self._do(self._sync, name)

    def close(self, fd: int) -> None:
        """Close the file."""
        del self._open[fd]

    def close_all(self) -> None:
        """Close what a process had open that has ended."""
        self._open.clear()

    def rename(self, path: Path, target: Path) -> None:
        """Give a file another name, in the place of a file that had it."""
        self._allow(RENAME, str(path))
        self._to_be.add(str(target))
        self._do(self._rename, str(path), str(target))

    def remove(self, path: Path) -> None:
        """Remove a file."""
        self._allow(UNLINK, str(path))
        self._do(self._remove, str(path))

    def sync_names(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        self._do(self._sync_names, f"{folder}/")

    # ------------------------------------------------------------ what they do

    def _there(self, path: str) -> _File:
        if (file := self._files.get(path)) is None:
            raise _missing(path)
        return file

    def _name(self, path: str, file: _File | None) -> None:
        self._names_undo.append((path, self._files.get(path)))
        if file is None:
            del self._files[path]
        else:
            self._files[path] = file

    def _create(self, path: str) -> None:
        if path in self._files:
            self._cut(path, 0)
        else:
            self._name(path, _File())

    def _write(self, path: str, data: bytes, at: int) -> None:
        file = self._there(path)
        if not data:
            return
        held = file.data
        size, end = len(held), at + len(data)
        file.undo.append((at, bytes(held[at:end]), size))
        if at > size:
            held.extend(bytes(at - size))
        held[at:end] = data
        self._changes += 1
        file.changed = self._changes

    def _cut(self, path: str, size: int) -> None:
        file = self._there(path)
        file.undo.append((size, bytes(file.data[size:]), len(file.data)))
        del file.data[size:]
        file.data.extend(bytes(size - len(file.data)))
        self._changes += 1
        file.changed = self._changes

    def _sync(self, path: str) -> None:
        if (file := self._files.get(path)) is not None:
            file.undo.clear()

    def _remove(self, path: str) -> None:
        self._there(path)
        self._name(path, None)

    def _rename(self, path: str, target: str) -> None:
        file = self._there(path)
        if path != target:
            self._name(target, file)
            self._name(path, None)

    def _sync_names(self, head: str) -> None:
        self._names_undo = [one for one in self._names_undo if not _is_in(one[0], head)]

    # ------------------------------------------------------------ what befalls it

    def lose_unsynced(self, kept: float) -> Lost:
        """Power has failed: take back what was not synced, but for a share ``kept`` of its blocks."""
        files = size = 0
        names, changed = len(self._names_undo), dict.fromkeys(self._files.values())
        for path, file_before in reversed(self._names_undo):
            if file_before is None:
                self._files.pop(path, None)
            else:
                self._files[path] = file_before
        self._names_undo.clear()
        for file in changed | dict.fromkeys(self._files.values()):  # also what had lost its name
            if not file.undo:
                continue
            was = bytes(file.data)
            for at, data, before in reversed(file.undo):
                file.data[at : at + len(data)] = data
                del file.data[before:]
            file.undo.clear()
            begins = [at for at in range(0, len(was), BLOCK) if was[at : at + BLOCK] != file.data[at : at + BLOCK]]
            for at in begins:
                if kept and self._draw.random() < kept:
                    file.data.extend(bytes(max(0, at - len(file.data))))
                    file.data[at : at + BLOCK] = was[at : at + BLOCK]
                else:
                    size += len(was[at : at + BLOCK])
            files += bool(begins)
        return Lost(files, size, names)

    def held(self, folders: Sequence[str]) -> dict[str, bytes]:
        """What all files in some folders hold, by path."""
        return {path: bytes(file.data) for path, file in sorted(self._files.items()) if _is_below(path, folders)}

    def newest(self, folders: Sequence[str]) -> list[str]:
        """The files in some folders, the one that was changed last first."""
        found = [path for path in self._files if _is_below(path, folders)]
        return sorted(found, key=lambda path: (-self._files[path].changed, path))

    def put(self, path: str, data: bytes) -> None:
        """Let a file hold this, durably; made if it is not there."""
        self.make_folder(Path(path).parent)
        self._files[path] = _File(data)

    def empty(self, folders: Sequence[str]) -> None:
        """Remove all files in some folders, durably."""
        for path in [path for path in self._files if _is_below(path, folders)]:
            del self._files[path]


def _missing(path: object) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _is_in(path: str, head: str) -> bool:
    """Whether a path is one of the names in a folder, whose path with a slash is ``head``."""
    return path.startswith(head) and "/" not in path[len(head) :]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
