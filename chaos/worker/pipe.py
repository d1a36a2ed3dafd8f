"""Both ends of the pipe between the main process and a process inside the cluster's network.

``Inside`` is the main process' end: it starts the child, sends commands, keeps what it says and notices when it ends.
``serve`` is the child's end. A child whose input closes leaves at once: the harness is gone.
"""

import asyncio
import importlib
import os
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeVar

import msgspec

from chaos import plugins
from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.worker.messages import Answer, Command, Report, Seen, Stats
from cluster.host import Backend, ClientProcess, RunsHere
from cluster.hosts.cpu_share import take_precedence

Message = TypeVar("Message", bound=Report)

_STATES: Final = (Stats, Seen)
"""Messages of which only the newest counts; all others wait until they are taken."""


class Inside:
    """A process in the cluster's network, seen from the main process."""

    def __init__(
        self, backend: Backend, name: str, argv: Sequence[str], env: Mapping[str, str], spec: msgspec.Struct
    ) -> None:
        self.name = name
        self._decoder = msgspec.json.Decoder(Report)
        self._changed = waiting.condition()
        self._received: list[Report] = []
        self._latest: dict[type[Any], Report] = {}
        self._ended = False
        self.garbled: str | None = None
        self._here: _Here | None = None
        self._process: ClientProcess | None = None
        if isinstance(backend, RunsHere):
            child: Child = importlib.import_module(argv[-1]).CHILD
            self._here = _Here(backend, child, spec, self._hear, self._note_end)
            return
        self._process = backend.popen_inside(argv, env)
        self._write(msgspec.json.encode(spec))
        self._reader = threading.Thread(target=self._read, name=f"{name}-reader", daemon=True)
        self._reader.start()

    def _write(self, line: bytes) -> None:
        if self._here is not None:
            if self._ended:
                raise ChaosError(f"{self.name} has ended; its last words are in the run folder's logs")
            self._here.lines.put_nowait(line)
            return
        assert self._process is not None
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(line + b"\n")
            stdin.flush()
        except (BrokenPipeError, ValueError):
            raise ChaosError(f"{self.name} has ended; its last words are in the run folder's logs") from None

    def _read(self) -> None:
        assert self._process is not None
        stdout = self._process.stdout
        assert stdout is not None
        with stdout:
            for line in stdout:
                self._hear(line)
        self._note_end()

    def _note_end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _hear(self, line: bytes) -> None:
        try:
            message = self._decoder.decode(line)
        except msgspec.DecodeError:
            self.garbled = line[:200].decode(errors="replace")
            return
        with self._changed:
            self._latest[type(message)] = message
            if not isinstance(message, _STATES):
                self._received.append(message)
            self._changed.notify_all()

    def send(self, command: Command) -> None:
        """Send a command; raises ChaosError if the process has ended."""
        self._write(msgspec.json.encode(command))

    def latest(self, kind: type[Message]) -> Message | None:
        """The newest message of a kind, if there was one."""
        with self._changed:
            message = self._latest.get(kind)
        return message if isinstance(message, kind) else None

    def take(self, kind: type[Message], deadline: Deadline) -> Message:
        """Wait for the next message of a kind and take it out.

        Raises:
            DeadlineError: it did not come in time.
            ChaosError: the process ended first.
        """
        with self._changed:
            while True:
                for position, message in enumerate(self._received):
                    if isinstance(message, kind):
                        del self._received[position]
                        return message
                if self._ended:
                    raise ChaosError(f"{self.name} ended while waiting for {deadline.what}; its log is in logs/")
                deadline.check()
                self._changed.wait(min(1.0, deadline.remaining_s()))

    @property
    def ended(self) -> bool:
        """Whether the process has closed its output."""
        with self._changed:
            return self._ended

    def close(self, timeout_s: float = 5.0) -> int | None:
        """Close its input, wait, then kill it; returns its exit status."""
        if self._here is not None:
            return self._close_here(timeout_s)
        assert self._process is not None
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            return self._process.wait(timeout_s)
        except Exception:  # noqa: BLE001 - TimeoutExpired of whichever Popen the backend returned
            self._process.kill()
            return None

    def _close_here(self, timeout_s: float) -> int | None:
        assert self._here is not None
        self._here.lines.put_nowait(None)
        until = Deadline(f"{self.name} to end", timeout_s)
        with self._changed:
            while not self._ended and not until.expired():
                self._changed.wait(until.remaining_s())
        if not self._ended:
            self._here.task.cancel()
        return self._here.status if self._ended else None


class Pipe(ABC):
    """The child's end: lines in, lines out. ``pid``: of the child where it runs; 0 if it is no process of its own."""

    pid = 0

    @abstractmethod
    async def line(self) -> bytes | None:
        """The next line, or None when the harness has closed the pipe."""

    @abstractmethod
    def say(self, message: Report) -> None:
        """Send a message to the main process."""

    def system(self, name: str) -> Any:
        """The system of this name, as it is reached from here."""
        return plugins.load("systems", name)()


class _Here(Pipe):
    """A child in the same process, and its end of the pipe.

    ``task``: what runs; ``lines``: what is sent to it, None at the end; ``status``: as a process' exit status.
    """

    def __init__(
        self,
        backend: RunsHere,
        child: "Child",
        spec: msgspec.Struct,
        hear: Callable[[bytes], None],
        note_end: Callable[[], None],
    ) -> None:
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.status = 0
        self._backend = backend
        self._hear = hear
        self._note_end = note_end
        self._encoder = msgspec.json.Encoder()
        copied = msgspec.json.decode(msgspec.json.encode(spec), type=child.spec)
        self._log = Path(child.log(copied))
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.touch()
        self.task = backend.run_here(self._run(child, copied))

    async def _run(self, child: "Child", spec: msgspec.Struct) -> None:
        try:
            await child.body(spec, self)
        except Exception:  # noqa: BLE001 - a process would have left its traceback there
            self.status = 1
            self._leave_words(traceback.format_exc())
        finally:
            self._note_end()

    def _leave_words(self, text: str) -> None:
        self._log.write_text(text)

    async def line(self) -> bytes | None:
        return await self.lines.get()

    def say(self, message: Report) -> None:
        self._hear(self._encoder.encode(message))

    def system(self, name: str) -> Any:
        return self._backend.seen_from_inside(super().system(name))


class _LinePipe(Pipe):
    """The end of a child that is a process."""

    def __init__(self, reader: asyncio.StreamReader, out_fd: int, pid: int) -> None:
        self.pid = pid
        self._reader = reader
        self._out_fd = out_fd
        self._encoder = msgspec.json.Encoder()

    async def line(self) -> bytes | None:
        return await self._reader.readline() or None

    def say(self, message: Report) -> None:
        os.write(self._out_fd, self._encoder.encode(message) + b"\n")


class Child(NamedTuple):
    """What runs inside: the type of its specification, what it does, and where its last words go."""

    spec: type[Any]
    body: Callable[[Any, Pipe], Awaitable[None]]
    log: Callable[[Any], str]


async def speak(child: Child, source: IO[Any], out_fd: int, log_to: Callable[[Path], None], pid: int = 0) -> None:
    """Be the child: read its specification from ``source``, then do what it does until that ends.

    ``log_to`` is told the file of its last words, whose folder is there then. ``pid``: see ``Pipe``.
    """
    reader = asyncio.StreamReader(limit=1 << 22)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    try:
        line = await reader.readline()
        if not line:
            return
        spec = msgspec.json.decode(line, type=child.spec)
        path = Path(child.log(spec))
        path.parent.mkdir(parents=True, exist_ok=True)
        log_to(path)
        await child.body(spec, _LinePipe(reader, out_fd, pid))
    finally:
        transport.close()


def serve(child: Child) -> None:
    """Be the child in a process of its own: standard error goes to its log file."""
    take_precedence()

    def log_to(path: Path) -> None:
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)

    asyncio.run(speak(child, sys.stdin, 1, log_to, os.getpid()))


def answer_of(error: str | None) -> Answer:
    """An ``Answer``: empty for yes."""
    return Answer(text=error or "")
