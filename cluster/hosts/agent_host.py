"""The harness' end of agents: hosts on which an agent obeys, and processes of ours in the network of one of them.

What hosts in namespaces and hosts in containers have in common. Commands go to ``cluster.agent.agent`` over a socket,
their three files go along as descriptors, so data never passes through anybody in between, and a command costs a few
milliseconds.
"""

import errno
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from chaos.core.clock import Deadline
from chaos.core.errors import DeadlineError, DeployError, UsageError
from cluster.host import Capability, Completed, ControlLink, Machine
from cluster.hosts.file_copy import COPY_TIMEOUT_S, GET, MISSING, PUT, atomic_file
from cluster.hosts.pipes import Pipes

ROOT: Final = Path(__file__).parents[2]
"""The folder of our packages."""

_SANDBOX: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from cluster.agent.sandbox_init import main; sys.exit(main(sys.argv[2:]))"
)
_SEND_TIMEOUT_S: Final = 10.0
_PACKET_BYTES: Final = 1 << 17
_FDS: Final = 8
_SBIN: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")


def clean_environment(ambient: Mapping[str, str], *first: str) -> dict[str, str]:
    """Pure: what of an environment commands on hosts may see: where programs are, and no more.

    ``first``: folders that come first on the PATH.
    """
    path = [*first, *[entry for entry in ambient.get("PATH", "").split(":") if entry and entry not in first]]
    kept = {"PATH": ":".join([*path, *[entry for entry in _SBIN if entry not in path]]), "LANG": "C.UTF-8"}
    if "JAVA_HOME" in ambient:
        kept["JAVA_HOME"] = ambient["JAVA_HOME"]
    return kept


def sandbox_argv(*arguments: str) -> list[str]:
    """The command line of ``sandbox_init``: our packages, but nothing that was installed, and no one's settings."""
    return [sys.executable, "-I", "-S", "-c", _SANDBOX, str(ROOT), *arguments]


def popen_entered(
    namespaces: Mapping[str, int], argv: Sequence[str], env: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start ``argv`` in namespaces of which we have descriptors; it sees this file system unless ``mnt`` is among them.

    ``cgroup`` among them is the file that takes processes into a control group; see
    ``cluster.agent.sandbox_init.enter``. ``env`` is added to the harness' own environment. The child dies with the
    returned process, and with pid 1 of the pid namespace.
    """
    names = [f"{name}={fd}" for name, fd in namespaces.items()]
    return subprocess.Popen(
        [*sandbox_argv("enter"), *names, "--", *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=tuple(namespaces.values()),
        start_new_session=True,
        env={**os.environ, **env},
    )


class AgentHost:
    """One host with an agent; safe to use from several threads at once.

    ``control``: the socket on which its agent listens. ``why_gone``: says, once the agent is gone, what has become of
    the host, for people.
    """

    def __init__(self, name: str, address: str, home: str, control: socket.socket, why_gone: Callable[[], str]) -> None:
        self.name = name
        self.address = address
        self.home = home
        self.capabilities: frozenset[Capability] = frozenset()
        self.control: ControlLink | None = None  # commands come by a socket that no rule can cut
        self.machine: Machine | None = None
        control.settimeout(_SEND_TIMEOUT_S)
        self._control = control
        self._why_gone = why_gone
        self._ended_on_purpose = False

    def run(self, *argv: str, stdin: bytes = b"", timeout_s: float) -> Completed:
        """See ``Host.run``. The command has ended when its process has, whatever it left in the background."""
        with Pipes() as pipes:
            source = os.open(os.devnull, os.O_RDONLY) if not stdin else pipes.reader_of(stdin)
            status = self._spawn(argv, (source, pipes.collector(), pipes.collector()))
            with status:
                shown = " ".join(" ".join(argv).split())[:100]
                told = pipes.pump(status, Deadline(f"`{shown}` on {self.name}", timeout_s))
            if told is None:
                raise self._gone()
            stdout, stderr = pipes.collected()
        if "error" in told:
            stderr += told["error"].encode()
        return Completed(argv=argv, returncode=told["returncode"], stdout=stdout, stderr=stderr)

    def put(self, source: bytes | Path, target: str, *, mode: int = 0o644) -> None:
        """See ``Host.put``."""
        argv = ("sh", "-c", PUT, "sh", target, f"{mode:o}")
        if isinstance(source, bytes):
            self.run(*argv, stdin=source, timeout_s=COPY_TIMEOUT_S).check(f"{self.name}: writing {target}")
            return
        with source.open("rb") as file:
            done = self._with_file(argv, (os.dup(file.fileno()), os.open(os.devnull, os.O_WRONLY)))
        done.check(f"{self.name}: writing {target}")

    def get(self, source: str, target: Path) -> None:
        """See ``Host.get``."""
        argv = ("sh", "-c", GET, "sh", source)
        with atomic_file(target) as file:
            done = self._with_file(argv, (os.open(os.devnull, os.O_RDONLY), os.dup(file.fileno())))
            if done.returncode == MISSING:
                raise FileNotFoundError(f"{self.name}:{source}")
            done.check(f"{self.name}: reading {source}")

    def _with_file(self, argv: tuple[str, ...], files: tuple[int, int]) -> Completed:
        """Run with stdin and stdout that are files: data goes by the kernel, not through this process."""
        with Pipes() as pipes:
            status = self._spawn(argv, (*files, pipes.collector()))
            with status:
                told = pipes.pump(status, Deadline(f"a copy to or from {self.name}", COPY_TIMEOUT_S))
            if told is None:
                raise self._gone()
            return Completed(argv=argv, returncode=told["returncode"], stdout=b"", stderr=pipes.collected()[0])

    def _spawn(self, argv: Sequence[str], files: tuple[int, int, int]) -> socket.socket:
        """Hand a command and its three files (closed here) to the agent; returns the status socket."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            socket.send_fds(self._control, [json.dumps({"argv": argv}).encode()], [theirs.fileno(), *files])
        except OSError as error:
            ours.close()
            if error.errno == errno.EMSGSIZE:
                raise UsageError(f"{self.name}: a command line beyond 100 KiB; pass the data as stdin") from None
            if isinstance(error, TimeoutError):
                raise DeadlineError(f"waited {_SEND_TIMEOUT_S:g} s for {self.name} to take a command") from None
            raise self._gone() from None
        finally:
            theirs.close()
            for fd in files:
                os.close(fd)
        return ours

    def _gone(self) -> DeployError:
        return DeployError(f"host {self.name} is gone: {self._why_gone()}; nothing runs there any more")

    def met(self) -> tuple[dict[str, Any], tuple[int, ...]]:
        """What the agent says first, with the descriptors that came along: once, before any command.

        Raises:
            DeployError: it ended first.
            DeadlineError: it said nothing.
        """
        try:
            packet, fds, _, _ = socket.recv_fds(self._control, _PACKET_BYTES, _FDS)
        except TimeoutError:
            raise DeadlineError(f"waited {_SEND_TIMEOUT_S:g} s for {self.name} to say that it is there") from None
        except ConnectionError:
            packet, fds = b"", []
        if not packet:
            raise self._gone()
        return dict(json.loads(packet)), tuple(fds)

    def check(self) -> None:
        """Raise DeployError if the agent, and so the host, has ended; costs nothing."""
        if self._ended_on_purpose:
            return
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        if poller.poll(0):  # after its first words an agent is silent for ever
            raise self._gone()

    def end_expected(self) -> None:
        """From now on it is no news that the agent has ended."""
        self._ended_on_purpose = True

    def rejoin(self, control: socket.socket) -> None:
        """The host was started again; ``control`` is its new agent's socket."""
        control.settimeout(_SEND_TIMEOUT_S)
        old, self._control = self._control, control
        old.close()
        self._ended_on_purpose = False

    def close(self) -> None:
        """Let the agent end."""
        self._control.close()
