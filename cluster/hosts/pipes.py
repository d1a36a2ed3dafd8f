"""The harness' ends of the pipes of a command that somebody else runs: feed it, collect what it writes.

Like ``subprocess.communicate``, with three differences: the command has ended when the one who runs it says so (a
daemon it left behind may keep the pipes), a deadline covers everything, and collected output has a bound.
"""

import json
import os
import select
import socket
from typing import Any, Final, Self

from chaos.core.clock import Deadline
from chaos.core.errors import DeployError

OUTPUT_LIMIT_BYTES: Final = 64 << 20
"""What a command may write to stdout and to stderr each; files of any size go through ``Host.get``."""

_PACKET_BYTES: Final = 1 << 17


class Pipes:
    """The harness' ends of one command's pipes; a context that closes them."""

    def __init__(self) -> None:
        self._stdin: tuple[int, memoryview] | None = None
        self._outputs: dict[int, bytearray] = {}
        self._open: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open:
            os.close(fd)

    def reader_of(self, data: bytes) -> int:
        """A descriptor from which ``data`` can be read."""
        theirs, ours = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(ours, False)
        self._open.add(ours)
        self._stdin = (ours, memoryview(data))
        return theirs

    def collector(self) -> int:
        """A descriptor whose content is collected."""
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(ours, False)
        self._open.add(ours)
        self._outputs[ours] = bytearray()
        return theirs

    def pump(self, status: socket.socket, deadline: Deadline) -> dict[str, Any] | None:
        """Move data until the command has ended; returns what the agent said, None if the agent is gone."""
        poller = select.poll()
        poller.register(status, select.POLLIN)
        for fd in self._outputs:
            poller.register(fd, select.POLLIN)
        if self._stdin:
            poller.register(self._stdin[0], select.POLLOUT)
        while True:
            events = poller.poll(deadline.remaining_s() * 1000)
            for fd, _ in events:
                if fd in self._outputs:
                    self._take(fd, poller)
                elif self._stdin and fd == self._stdin[0]:
                    self._feed(poller)
            if any(fd == status.fileno() for fd, _ in events):
                for fd in self._outputs.keys() & self._open:
                    self._take(fd, poller)  # what the process itself wrote is in the pipe by now
                try:
                    said = status.recv(_PACKET_BYTES)
                except ConnectionError:
                    return None
                return dict(json.loads(said)) if said else None
            deadline.check()

    def _drop(self, fd: int, poller: select.poll) -> None:
        poller.unregister(fd)
        os.close(fd)
        self._open.discard(fd)

    def _feed(self, poller: select.poll) -> None:
        assert self._stdin is not None
        fd, rest = self._stdin
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want the rest
            rest = rest[:0]
        self._stdin = (fd, rest)
        if not rest:
            self._drop(fd, poller)
            self._stdin = None

    def _take(self, fd: int, poller: select.poll) -> None:
        collected = self._outputs[fd]
        while True:
            try:
                data = os.read(fd, 1 << 20)
            except BlockingIOError:
                return
            if not data:
                self._drop(fd, poller)
                return
            collected += data
            if len(collected) > OUTPUT_LIMIT_BYTES:
                limit = OUTPUT_LIMIT_BYTES >> 20
                raise DeployError(f"a command wrote more than {limit} MiB; let it write to a file, then get that")

    def collected(self) -> tuple[bytes, ...]:
        """What was written, in the order of ``collector`` calls."""
        return tuple(bytes(data) for data in self._outputs.values())
