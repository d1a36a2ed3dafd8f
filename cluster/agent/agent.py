"""The agent: pid 1 of one host, in a sandbox as in a container.

Starts, reaps and kills what the harness asks for. Messages are JSON on a SOCK_SEQPACKET socket, one per packet. A
command comes with four descriptors: a status socket, stdin, stdout, stderr. Its exit code is written to the status
socket; a status socket that the harness closes earlier means "kill it". When the control socket closes, the agent ends,
and with it, because it is pid 1, everything on the host. SIGTERM, which is what an engine sends to a container that has
to stop, is passed on to everybody, and the agent ends when nobody is left. Does not relay data. Standard library only.
"""

import contextlib
import json
import os
import resource
import select
import signal
import socket
from collections.abc import Mapping
from typing import NoReturn

from cluster.agent import linux


class Agent:
    """What obeys the harness on one host; ``env`` and ``home`` are those of the commands."""

    def __init__(self, control: socket.socket, env: Mapping[str, str], home: str) -> None:
        self._control = control
        self._control.set_inheritable(False)
        self._running: dict[int, socket.socket] = {}
        os.environ.clear()
        os.environ.update(env)  # posix_spawnp looks for programs in *our* PATH
        os.chdir(home)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._stopping = False

    def serve(self) -> NoReturn:
        """Until the harness closes the control socket, or until nobody is left after SIGTERM."""
        wakeup = linux.Wakeup()
        signal.signal(signal.SIGTERM, self._stop)
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(wakeup.fd, select.POLLIN)
        while True:
            for fd, _ in poller.poll():
                if fd == self._control.fileno():
                    self._start(poller)
                elif fd == wakeup.fd:
                    self._reap(wakeup, poller)
                else:
                    self._abandon(fd, poller)

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGTERM)

    def _start(self, poller: select.poll) -> None:
        packet, fds, _, _ = socket.recv_fds(self._control, linux.PACKET_BYTES, 4)
        if not packet:
            os._exit(0)
        for fd in fds:  # recv_fds knows no flag for it; a command gets three descriptors and no more
            os.set_inheritable(fd, False)
        status = socket.socket(fileno=fds[0])
        argv = json.loads(packet)["argv"]
        try:
            pid = os.posix_spawnp(
                argv[0],
                argv,
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds[1:])],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM],
            )
        except OSError as error:
            linux.send(status, {"returncode": 127, "error": f"{argv[0]}: {error.strerror}"})
            status.close()
        else:
            self._running[pid] = status
            poller.register(status, select.POLLIN)
        for fd in fds[1:]:
            os.close(fd)

    def _reap(self, wakeup: linux.Wakeup, poller: select.poll) -> None:
        for pid, code in wakeup.ended():
            status = self._running.pop(pid, None)
            if status is not None:
                poller.unregister(status)
                linux.send(status, {"returncode": code})
                status.close()
        if self._stopping and linux.childless():
            os._exit(0)

    def _abandon(self, fd: int, poller: select.poll) -> None:
        """The caller gave up: kill the command with all its descendants; it is reaped like any other."""
        for pid, status in list(self._running.items()):
            if status.fileno() == fd:
                poller.unregister(status)
                status.close()
                del self._running[pid]
                for victim in (*linux.descendants(pid), pid):
                    linux.kill(victim)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)


def run_in_container(path: str) -> NoReturn:
    """Pid 1 of a container: meet the harness at the socket ``path``, hear env and home, say our namespaces, serve."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(path)
    told = json.loads(control.recv(linux.PACKET_BYTES))
    with linux.namespace_fds(linux.NAMESPACES) as fds:
        linux.send(control, {"namespaces": list(linux.NAMESPACES)}, fds)
    Agent(control, told["env"], told["home"]).serve()
