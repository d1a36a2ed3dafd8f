"""The init program of a sandbox: runs between the machine and the hosts, ends when the harness ends.

Started by ``cluster.hosts.netns`` with ``python -I -S``, so it knows the standard library only. One process becomes
root of new namespaces (user if it has to, mount, pid, network, UTS, IPC), its child is pid 1 there and lays the bridge.
That one forks a process per host, pid 1 of namespaces of its own (``cluster.agent.sandbox_host``). Whoever dies
takes everything below with it, because the kernel ends a pid namespace with its pid 1, and mounts, links and rules
go with the namespaces.

The end of the harness is seen twice: its sockets close, and its pidfd becomes readable (which also holds when a forked
child of it still keeps the sockets open). PR_SET_PDEATHSIG alone would not do, since it fires when the *thread* that
started us ends. Does not touch anything outside its namespaces but the hosts' homes and the record of the run, and
those only if the harness died without saying "down".
"""

import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from cluster.agent import linux
from cluster.agent.linux import RefusedError
from cluster.agent.sandbox_host import SandboxHost

_BRIDGE: Final = "br0"


class Init:
    """Lays the network, forks the agents, waits for the end and cleans up after it."""

    def __init__(self, control: socket.socket, harness_pidfd: int, config: dict[str, Any]) -> None:
        self._control = control
        self._harness_pidfd = harness_pidfd
        self._config = config

    def main(self) -> NoReturn:
        """Never returns: ends with 0 after an orderly ``down`` and after the harness' death."""
        try:
            linux.die_with_parent()
            linux.mount("", "/", flags=linux.MS_REC | linux.MS_SLAVE)
            linux.mount_proc()
            self._hosts()
            linux.send(self._control, {"ready": True})
            self._end(orderly=self._wait())
            os._exit(0)
        except (RefusedError, OSError) as error:
            linux.send(self._control, linux.refusal(error))
        except Exception:  # noqa: BLE001 - its last words go to the harness' standard error
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)

    def _hosts(self) -> None:
        agents = self._fork_agents()
        for _, barrier in agents:
            _await(barrier)  # its network namespace is there
        linux.sysctl("net/ipv6/conf/all/disable_ipv6", "1")
        linux.sysctl("net/ipv6/conf/default/disable_ipv6", "1")
        lines = ["link set lo up", f"link add {_BRIDGE} type bridge forward_delay 0 mcast_snooping 0"]
        lines.append(f"link set {_BRIDGE} up")
        for number, (pid, _) in enumerate(agents):
            lines.append(f"link add v{number} type veth peer name eth0 netns {pid}")
            lines.append(f"link set v{number} master {_BRIDGE} up")
        linux.ip(lines)
        for _, barrier in agents:
            barrier.send(b"go")
        for _, barrier in agents:
            _await(barrier)
            barrier.close()

    def _fork_agents(self) -> list[tuple[int, socket.socket]]:
        """One process per host, pid 1 of a pid namespace of its own; with the socket on which it says how it goes."""
        own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        agents: list[tuple[int, socket.socket]] = []
        for host in self._config["hosts"]:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            linux.unshare("namespaces", linux.CLONE_NEWPID)
            pid = os.fork()
            if pid == 0:
                others = [each["fd"] for each in self._config["hosts"] if each is not host]
                for fd in (self._control.fileno(), self._harness_pidfd, own_pid_namespace, ours.fileno(), *others):
                    os.close(fd)
                for _, barrier in agents:
                    barrier.close()
                SandboxHost(host, self._config, theirs).main()
            linux.setns(own_pid_namespace, linux.CLONE_NEWPID)
            theirs.close()
            agents.append((pid, ours))
        os.close(own_pid_namespace)
        for host in self._config["hosts"]:
            os.close(host["fd"])  # so that the harness sees the end of an agent
        return agents

    def _wait(self) -> bool:
        """Until the harness says "down" (true) or is gone (false); reaps meanwhile."""
        wakeup = linux.Wakeup()
        poller = select.poll()
        for fd in (self._control.fileno(), self._harness_pidfd, wakeup.fd):
            poller.register(fd, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poller.poll()}
            if wakeup.fd in ready:
                wakeup.ended()
            if self._control.fileno() in ready:
                try:
                    return self._control.recv(16) == b"down"
                except ConnectionError:  # it died before it read what we said
                    return False
            if self._harness_pidfd in ready:
                return False

    def _end(self, *, orderly: bool) -> None:
        """Kill all that lives here; if the harness died, remove node data (logs stay) and the record of the run."""
        try:
            os.kill(-1, signal.SIGKILL)
            while True:
                os.wait()
        except (ProcessLookupError, ChildProcessError):
            pass
        if orderly:
            return
        for host in self._config["hosts"]:
            linux.empty_home(Path(host["home"]))
        Path(self._config["record"]).unlink(missing_ok=True)


def _await(barrier: socket.socket) -> None:
    """Wait for an agent's next step and pass its refusal on."""
    said = json.loads(barrier.recv(linux.PACKET_BYTES) or b'{"step": "namespaces", "detail": "an agent ended"}')
    if said:
        raise RefusedError(said["step"], said["detail"])


def begin(control_fd: int, harness_pidfd: int) -> int:
    """The outermost process: make the namespaces, fork init, wait for it."""
    control = socket.socket(fileno=control_fd)
    asked = control.recv(linux.PACKET_BYTES)
    if not asked:  # the harness ended before it said what it wants
        return 1
    config = json.loads(asked)
    try:
        config["user"] = not linux.capable()
        if config["user"]:
            linux.become_root()
        linux.unshare("namespaces", linux.OF_A_HOST | linux.CLONE_NEWPID)
        pid = os.fork()
    except (RefusedError, OSError) as error:
        linux.send(control, linux.refusal(error))
        return 1
    if pid == 0:
        Init(control, harness_pidfd, config).main()
    for fd in (control_fd, harness_pidfd, *(host["fd"] for host in config["hosts"])):
        os.close(fd)
    control.detach()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def enter(namespaces: list[str], argv: list[str]) -> int:
    """Run ``argv`` inside a host's namespaces as our child, which dies with us; return as it ended.

    ``cgroup=FD`` among them is the file ``cgroup.procs`` of a control group that weighs it; what is refused stays.
    """
    folder = os.getcwd()  # noqa: PTH109 - a string survives the change of namespaces
    for item in sorted(namespaces, key=lambda item: not item.startswith("cgroup=")):  # while we have our own rights
        name, _, fd = item.partition("=")
        if name == "cgroup":
            with suppress(OSError):
                os.write(int(fd), b"0")
        else:
            linux.setns(int(fd), linux.NAMESPACES[name])
        os.close(int(fd))
    ourselves = os.pidfd_open(os.getpid())
    try:
        pid = os.fork()
    except OSError:  # the host has ended meanwhile, so the child would be dead by now
        os.kill(os.getpid(), signal.SIGKILL)
    if pid == 0:
        linux.die_with_parent()
        if select.select([ourselves], [], [], 0)[0]:  # ended before the kernel was asked
            os._exit(1)
        _become(argv, folder, shares_files=not any(item.startswith("mnt=") for item in namespaces))
    os.close(0)
    os.close(1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda passed, _frame: os.kill(pid, passed))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _become(argv: list[str], folder: str, *, shares_files: bool) -> NoReturn:
    """Be ``argv`` in ``folder``; who shares our files but not our pids gets a /proc that shows those pids."""
    try:
        if shares_files:
            linux.unshare("namespaces", linux.CLONE_NEWNS)
            linux.mount("", "/", flags=linux.MS_REC | linux.MS_SLAVE)
            linux.mount_proc()
        os.chdir(folder)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 - no shell on purpose
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
    os._exit(127)


def main(arguments: list[str]) -> int:
    """``begin CONTROL-FD PIDFD`` or ``enter NAMESPACE=FD ... [cgroup=FD] -- PROGRAM ...``."""
    if arguments[0] == "begin":
        return begin(int(arguments[1]), int(arguments[2]))
    split = arguments.index("--")
    return enter(arguments[1:split], arguments[split + 1 :])
