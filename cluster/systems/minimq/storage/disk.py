"""What a node keeps: its folder, its lives, and one thread that makes writes durable in their order.

A write is durable when ``fsync`` has returned; all that waits while one runs goes into the next, so the disk's pace
sets the size of a batch and not the pace of the node. After an error the thread touches nothing more: what ``fsync``
could not write may be gone (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020), so the
node has to end and to recover from what is there.
"""

import fcntl
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from cluster.systems.minimq.protocol.broker_messages import Record
from cluster.systems.minimq.protocol.io import Truncate, Write
from cluster.systems.minimq.protocol.messages import Entry, HardState
from cluster.systems.minimq.storage.segments import (
    SEGMENT_BYTES,
    SegmentedLog,
    StorageError,
    decode_record,
    encode_record,
)

Kept = Write | Truncate

WAITING_MAX: Final = 1 << 16
"""Writes that wait for the disk; beyond it the node stands still until there is room."""
STALL_S: Final = 60.0
"""How long it stands still before it gives up."""
INCARNATION: Final = "incarnation"

_JOURNAL: Final = msgspec.msgpack.Decoder(HardState | Entry | Truncate)
_encode_journal: Final = msgspec.msgpack.Encoder().encode


class DiskError(Exception):
    """The node cannot keep its data: where, what, and what to do."""


# ---------------------------------------------------------------- the folder


class Folder:
    """A node's data folder, held for this process alone until it ends."""

    def __init__(self, path: Path) -> None:
        """Make the folder if need be, and hold it.

        Raises:
            DiskError: it cannot be used, or another process holds it.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / "lock").open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DiskError(f"{path}: another process works in it; end that one, or give another folder") from None
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror}; give a folder that this user can write") from None

    def next_incarnation(self) -> str:
        """A name for this life, greater than that of every life before; durable when this returns.

        Raises:
            DiskError: the last one cannot be read, or this one not kept.
        """
        path = self.path / INCARNATION
        try:
            count = int(path.read_text()) + 1 if path.exists() else 1
            partial = path.with_suffix(".partial")
            with partial.open("w") as file:
                file.write(f"{count}\n")
                file.flush()
                os.fsync(file.fileno())
            partial.rename(path)
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except ValueError:
            raise DiskError(f"{path}: not a number; restore it, or remove the whole folder") from None
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror}; free the disk") from None
        return f"{count:012d}"


# ---------------------------------------------------------------- what is kept of which core


class Store(Protocol):
    """Where a core's writes go. Used by one thread at a time."""

    def keep(self, effects: Sequence[Kept]) -> None:
        """Make the effects durable in their order.

        Raises:
            OSError: they may not be.
        """
        ...


class BrokerStore:
    """A broker's commit log: the log's position is the record's."""

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Open it; a segment that has reached ``segment_bytes`` is followed by another.

        Raises:
            DiskError: damage, or no access.
        """
        self._log = _open(folder, segment_bytes)

    def recovered(self) -> list[Record]:
        """The records found, handed out once.

        Raises:
            DiskError: one that is whole is no record.
        """
        try:
            return [decode_record(payload) for payload in self._log.take_recovered()]
        except msgspec.DecodeError as error:
            raise DiskError(f"the commit log holds what is no record ({error}); restore it from a replica") from None

    def keep(self, effects: Sequence[Kept]) -> None:
        """See ``Store``."""
        payloads: list[bytes] = []
        for effect in effects:
            if isinstance(effect, Write) and isinstance(effect.record, Record):
                payloads.append(encode_record(effect.record))
            elif isinstance(effect, Truncate):
                self._log.append(payloads)
                payloads.clear()
                self._log.truncate(effect.start)
        self._log.append(payloads)
        self._log.sync()

    def close(self) -> None:
        """Close the files."""
        self._log.close()


class ControllerStore:
    """A controller's journal: every write and every truncation is one more payload."""

    def __init__(self, folder: Path) -> None:
        """Open it.

        Raises:
            DiskError: damage, or no access.
        """
        self._log = _open(folder)

    def recovered(self) -> Iterable[HardState | Entry | Truncate]:
        """The journal found, handed out once.

        Raises:
            DiskError: a payload that is whole is not of a journal.
        """
        try:
            return [_JOURNAL.decode(payload) for payload in self._log.take_recovered()]
        except msgspec.DecodeError as error:
            raise DiskError(f"the journal holds what no controller wrote ({error}); restore the folder") from None

    def keep(self, effects: Sequence[Kept]) -> None:
        """See ``Store``."""
        self._log.append([_encode_journal(each.record if isinstance(each, Write) else each) for each in effects])
        self._log.sync()

    def close(self) -> None:
        """Close the files."""
        self._log.close()


def _open(folder: Path, segment_bytes: int = SEGMENT_BYTES) -> SegmentedLog:
    try:
        return SegmentedLog(folder, segment_bytes=segment_bytes)
    except StorageError as error:
        raise DiskError(str(error)) from None
    except OSError as error:
        raise DiskError(f"{folder}: {error.strerror}; give a folder that this user can write") from None


# ---------------------------------------------------------------- the thread


class Disk:
    """Carries a core's writes out beside it, and says what is durable.

    ``on_written`` and ``on_error`` are called in the thread; nothing follows an error.
    """

    def __init__(self, store: Store, on_written: Callable[[int], None], on_error: Callable[[str], None]) -> None:
        self._store = store
        self._on_written = on_written
        self._on_error = on_error
        self._waiting: deque[Kept] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="disk", daemon=True)
        self._thread.start()

    def put(self, effects: Sequence[Kept]) -> None:
        """Have the effects made durable.

        Raises:
            DiskError: the disk has taken nothing for ``STALL_S`` and there is no room to wait.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._waiting) < WAITING_MAX, STALL_S):
                raise DiskError(f"the disk took no write for {STALL_S:g} s; look at what holds it up")
            self._waiting.extend(effects)
            self._changed.notify_all()

    def close(self, timeout_s: float) -> None:
        """Let what waits become durable, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while effects := self._take():
            try:
                self._store.keep(effects)
            except OSError as error:
                self._on_error(f"the disk failed: {error}; free or replace it, then start the node again")
                return
            self._on_written(effects[-1].token)

    def _take(self) -> list[Kept]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            effects = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        return effects
