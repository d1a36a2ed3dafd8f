"""One kept SSH connection to one machine, and commands over it.

Each command has a channel of its own, started by ``cluster/agent/ssh_exec.py`` on the other side, so that its output is
told apart from what a login shell prints and its end from that of daemons it left behind. A deadline covers the wait
for a free channel too; a connection that broke is made anew, which has a deadline of its own. Does not repeat a command
by itself: whether one that was cut off took effect is not known.
"""

import contextlib
import hashlib
import secrets
import select
import shlex
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

import paramiko
from paramiko.ssh_exception import SSHException

from chaos.core.clock import Deadline
from chaos.core.errors import DeadlineError, DeployError, UsageError
from cluster.agent import ssh_exec
from cluster.host import ControlLink
from cluster.hosts.ssh.login import Authenticator, Secret
from cluster.hosts.ssh.nodes_file import Machine
from cluster.hosts.ssh.streams import GREET, Bounded, Fed, Greeting, Plain, Stream, Write, greeting

CHANNELS: Final = 8
"""Commands at once on one machine; stock sshd allows ten sessions on a connection."""

COMMAND_LINE_BYTES: Final = 100 << 10
_TOOL: Final = Path(ssh_exec.__file__)
_KILL_TIMEOUT_S: Final = 10.0
_GREET_TIMEOUT_S: Final = 20.0
_READ_BYTES: Final = 1 << 16
_REFUSED_PAUSE_S: Final = 0.05

# $1: the token of the command whose processes are to end.
_KILL: Final = f"""\
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  found=$(grep -lsaF -e "{ssh_exec.TOKEN}=$1" /proc/[0-9]*/environ) || exit 0
  for file in $found; do pid=${{file#/proc/}}; kill -s KILL "${{pid%/environ}}" 2> /dev/null; done
done
exit 1
"""


class Connection:
    """A machine in reach; safe to use from several threads at once."""

    def __init__(self, name: str, machine: Machine, authenticator: Authenticator, sudo_password: Secret | None) -> None:
        self.name = name
        self._machine = machine
        self._authenticator = authenticator
        self._sudo_password = sudo_password
        self._clients: tuple[paramiko.SSHClient, ...] = ()
        self._greeting: Greeting | None = None
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(CHANNELS)
        self._closed = False
        self._sudo: tuple[str, ...] = ()
        self._stdin_prefix = b""

    def open(self, *, may_sudo: bool) -> Greeting:
        """Log in and get to know the machine; from now on commands run as root where sudo allows it.

        Raises:
            UsageError: the login is refused, or the machine lacks what every run needs.
            DeployError: nobody answers.
        """
        self._transport()
        said = self._greeting
        assert said is not None
        if said.python == "none":
            raise UsageError(f"{self.name}: no python3 there; `apt-get install python3` on it")
        if may_sudo and said.uid != 0:
            if said.sudo == "free":
                self._sudo = ("sudo", "-n", "--")
            elif said.sudo == "asks" and self._sudo_password is not None:
                self._sudo = ("sudo", "-S", "-k", "-p", "", "--")
                self._stdin_prefix = f"{self._sudo_password.reveal()}\n".encode()
        return said

    @property
    def is_root(self) -> bool:
        """Whether commands have root's rights."""
        return self._greeting is not None and (self._greeting.uid == 0 or bool(self._sudo))

    @property
    def control(self) -> ControlLink | None:
        """The connection as the machine sees it."""
        return self._greeting.control if self._greeting is not None else None

    def run(
        self, argv: Sequence[str], home: str, run_id: str, source: bytes | BinaryIO, out: Write, timeout_s: float
    ) -> tuple[int, bytes]:
        """Run a command to its end: its exit code, negative for a signal, and what it wrote to standard error.

        Raises:
            UsageError: a command line that is too long.
            DeadlineError: it did not end in time; all it started is killed.
            DeployError: the machine is gone, or the output beyond all bounds.
        """
        token = secrets.token_hex(12)
        line = self._line(token, home, run_id, argv)
        shown = " ".join(" ".join(argv).split())[:100]
        deadline = Deadline(f"`{shown}` on {self.name}", timeout_s)
        errors = Bounded()
        streams = Stream(token, out), Stream(token, errors)
        try:
            status = self._exchange(line, self._stdin_prefix, source, streams, deadline)
        except (DeadlineError, DeployError):
            self._kill(token)
            raise
        if streams[0].returncode is None or streams[1].returncode is None:
            chatter = b" ".join(stream.chatter for stream in streams).decode(errors="replace")
            raise DeployError(f"{self.name}: `{shown}` was not run: exit {status}: {' '.join(chatter.split())}")
        return streams[0].returncode, bytes(errors.data)

    def _line(self, token: str, home: str, run_id: str, argv: Sequence[str]) -> str:
        said = self._greeting
        assert said is not None, "open() comes first"
        tool = f"{said.folder}/.chaos/tools/{tool_name()}"
        words = ("exec", *self._sudo, "python3", "-I", "-S", tool, token, home, run_id, *argv)
        line = " ".join(map(shlex.quote, words))
        if "\0" in line:
            raise UsageError(f"{self.name}: a command line with a NUL byte; pass the data as stdin")
        if len(line.encode()) > COMMAND_LINE_BYTES:
            raise UsageError(f"{self.name}: a command line beyond 100 KiB; pass the data as stdin")
        return line

    def _kill(self, token: str) -> None:
        """End what a command left; a machine that is gone cannot be asked."""
        with contextlib.suppress(DeployError, DeadlineError):
            deadline = Deadline(f"a command on {self.name} to be killed", _KILL_TIMEOUT_S)
            words = ("exec", *self._sudo, "sh", "-c", _KILL, "sh", token)
            line = " ".join(map(shlex.quote, words))
            self._exchange(line, self._stdin_prefix, b"", (Plain(), Plain()), deadline)

    def _exchange(
        self, line: str, prefix: bytes, source: bytes | BinaryIO, streams: tuple[Fed, Fed], deadline: Deadline
    ) -> int:
        """Run a line by the login shell over a channel of its own; returns its exit status, -1 if it told none."""
        if not self._free.acquire(timeout=deadline.remaining_s()):
            deadline.check(f"{CHANNELS} others were running")
        try:
            transport = self._transport()
            channel = self._channel(transport, deadline)
            feeder = _Feeder(channel, line, prefix, source)
            try:
                self._pump(channel, streams, deadline)
            except (SSHException, OSError, EOFError):
                raise self._gone(transport) from None
            finally:
                channel.close()
                feeder.join()
            if not transport.is_active():
                raise self._gone(transport)
            return channel.exit_status
        finally:
            self._free.release()

    def _pump(self, channel: paramiko.Channel, streams: tuple[Fed, Fed], deadline: Deadline) -> None:
        """Read both outputs until both have ended, or the channel has."""
        out, err = streams
        while out.returncode is None or err.returncode is None:
            over = channel.eof_received or channel.closed
            moved = False
            if channel.recv_ready():
                out.feed(channel.recv(_READ_BYTES))
                moved = True
            if channel.recv_stderr_ready():
                err.feed(channel.recv_stderr(_READ_BYTES))
                moved = True
            if over and not moved:
                channel.status_event.wait(deadline.remaining_s())
                deadline.check()
                return
            if not moved:
                select.select([channel], [], [], min(1.0, deadline.remaining_s()))
            deadline.check()

    def _channel(self, transport: paramiko.Transport, deadline: Deadline) -> paramiko.Channel:
        """A new channel; a machine that has no room for one more is asked again."""
        while True:
            try:
                return transport.open_session(timeout=deadline.remaining_s())
            except (SSHException, OSError, EOFError) as error:
                # Of two refusals at once paramiko keeps one reason: only a dead connection says that it is broken.
                if not transport.is_active():
                    deadline.check("no answer")
                    raise self._gone(transport) from None
                deadline.check(f"no further session: {error}")
                time.sleep(_REFUSED_PAUSE_S)

    def _gone(self, transport: paramiko.Transport) -> DeployError:
        transport.close()
        where = self._machine.login
        return DeployError(f"host {self.name} is gone: its SSH connection to {where.address}:{where.port} broke")

    def _transport(self) -> paramiko.Transport:
        """The connection, made anew if it broke."""
        with self._lock:
            if self._closed:
                raise DeployError(f"host {self.name} is gone: its connection was closed")
            transport = self._clients[0].get_transport() if self._clients else None
            if transport is None or not transport.is_active():
                self._leave()
                try:
                    self._clients = self._authenticator.enter(self.name, self._machine)
                    transport = self._clients[0].get_transport()
                    assert transport is not None
                    self._greeting = self._greet(transport)
                except DeployError as error:
                    if self._greeting is None:
                        raise
                    raise DeployError(f"host {self.name} is gone: {error}") from None
            return transport

    def _greet(self, transport: paramiko.Transport) -> Greeting:
        word = secrets.token_hex(12)
        deadline = Deadline(f"{self.name} to answer after the login", _GREET_TIMEOUT_S)
        line = " ".join(map(shlex.quote, ("exec", "sh", "-c", GREET, "sh", word, tool_name())))
        streams = Plain(), Plain()
        with contextlib.closing(self._channel(transport, deadline)) as channel:
            _Feeder(channel, line, b"", _TOOL.read_bytes())
            self._pump(channel, streams, deadline)
        said = greeting(streams[0].data.decode(errors="replace"), word)
        if said is None:
            answer = b" ".join(bytes(stream.data) for stream in reversed(streams)).decode(errors="replace")
            raise UsageError(f"{self.name}: no POSIX shell answers there: {' '.join(answer.split())[:300]}")
        return said

    def talk(self, program: str, rounds: int, timeout_s: float) -> list[tuple[int, bytes, int]]:
        """Send a line to a Python program there and read one, so many times, once it has said its first argument.

        Returns for each: the time before it was sent and after it was answered, in nanoseconds of this machine's
        wall clock, and the answer between them.
        """
        word = secrets.token_hex(12)
        deadline = Deadline(f"{self.name} to answer {rounds} times", timeout_s)
        line = " ".join(map(shlex.quote, ("exec", "python3", "-I", "-S", "-u", "-c", program, word)))
        found: list[tuple[int, bytes, int]] = []
        transport = self._transport()
        with contextlib.closing(self._channel(transport, deadline)) as channel:
            channel.settimeout(timeout_s)
            try:
                channel.exec_command(line)
                answers = channel.makefile("r")
                _skip_to(word, answers, deadline)
                while len(found) < rounds:
                    before_ns = time.time_ns()
                    channel.sendall(b"\n")
                    answer = str(answers.readline()).strip().encode()
                    found.append((before_ns, answer, time.time_ns()))
                    deadline.check()
            except (SSHException, OSError, EOFError):
                raise self._gone(transport) from None
        return found

    def _leave(self) -> None:
        clients, self._clients = self._clients, ()
        for client in clients:
            client.close()

    def close(self) -> None:
        """Hang up; commands in flight are cut off, later ones refused."""
        with self._lock:
            self._closed = True
            self._leave()


def _skip_to(word: str, answers: paramiko.ChannelFile, deadline: Deadline) -> None:
    """Leave out what the login shell says first."""
    while (said := str(answers.readline())).strip() != word:
        if not said:
            raise EOFError
        deadline.check()


def tool_name() -> str:
    """The tool's name on a machine: by content, so that another version is another file."""
    return f"run-{hashlib.blake2b(_TOOL.read_bytes(), digest_size=8).hexdigest()}.py"


class _Feeder(threading.Thread):
    """Starts a command on its channel and writes its standard input; ends with the channel.

    A thread, because asking for a command has no deadline of its own: it waits for an answer until the channel
    is closed, which its reader does when the time is up.
    """

    def __init__(self, channel: paramiko.Channel, line: str, prefix: bytes, source: bytes | BinaryIO) -> None:
        super().__init__(name="ssh-feeder", daemon=True)
        self._channel = channel
        self._line = line
        self._prefix = prefix
        self._source = source
        self.start()

    def run(self) -> None:
        """A command that does not want the rest of its input may leave it."""
        try:
            self._channel.exec_command(self._line)
        except (OSError, EOFError, SSHException):
            self._channel.close()
            return
        with contextlib.suppress(OSError, EOFError, SSHException):
            self._channel.sendall(self._prefix)
            if isinstance(self._source, bytes):
                self._channel.sendall(self._source)
            else:
                while chunk := self._source.read(_READ_BYTES):
                    self._channel.sendall(chunk)
            self._channel.shutdown_write()
