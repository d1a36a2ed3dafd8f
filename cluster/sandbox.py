"""The init program of a sandbox: runs between the machine and the nodes, ends when the harness ends.

Started by ``cluster.netns`` with ``python -I -S`` as a plain file, so it knows the standard library only.
One process becomes root of new namespaces (user if it has to, mount, pid, network, UTS, IPC), its child is
pid 1 there and lays the bridge. That one forks an *agent* per host, pid 1 of namespaces of its own, which runs
the commands the harness sends it. Whoever dies takes everything below with it, because the kernel ends a pid
namespace with its pid 1, and mounts, links and rules go with the namespaces.

The end of the harness is seen twice: its sockets close, and its pidfd becomes readable (which also holds when
a forked child of it still keeps the sockets open). PR_SET_PDEATHSIG alone would not do, since it fires when the
*thread* that started us ends.

Messages are JSON on SOCK_SEQPACKET sockets, one per packet. A command comes with four descriptors: a status
socket, stdin, stdout, stderr. Its exit code is written to the status socket; a status socket that the harness
closes earlier means "kill it". The module refuses to relay data and to know what it runs.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
NAMESPACES: Final = {
    "user": CLONE_NEWUSER,
    "pid": CLONE_NEWPID,
    "net": CLONE_NEWNET,
    "uts": CLONE_NEWUTS,
    "ipc": CLONE_NEWIPC,
    "mnt": CLONE_NEWNS,
}
"""In the order in which they are entered: rights first, the file system last."""

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_SLAVE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 19
_MNT_DETACH: Final = 2
_PR_SET_PDEATHSIG: Final = 1
_NEEDED_CAPABILITIES: Final = 1 << 21 | 1 << 12  # CAP_SYS_ADMIN, CAP_NET_ADMIN
_PACKET_BYTES: Final = 1 << 20
_BRIDGE: Final = "br0"
_HIDDEN: Final = ("/tmp", "/run", "/dev/shm")  # noqa: S108 - the folders that nodes must not share
_NSSWITCH: Final = b"passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"

_libc = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """The machine said no to ``step``; the harness turns this into a sentence with the command that helps."""

    def __init__(self, step: str, detail: str) -> None:
        super().__init__(f"{step}: {detail}")
        self.step = step
        self.detail = detail


def _call(step: str, what: str, result: int) -> None:
    if result != 0:
        raise RefusedError(step, f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare(step: str, flags: int) -> None:
    """Leave the named namespaces for new ones."""
    _call(step, "unshare", _libc.unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount as mount(2) does; the step of a refusal is "mount"."""
    arguments = [text.encode() if text else None for text in (source, target, kind)]
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() if data else None)
    _call("mount", f"mount {kind or source} on {target}", result)


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the (single-threaded) parent ends."""
    _call("namespaces", "prctl", _libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0))


def _capable() -> bool:
    """Whether this process may make namespaces without a user namespace of its own."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & _NEEDED_CAPABILITIES == _NEEDED_CAPABILITIES
    return False


def _become_root() -> None:
    """A user namespace in which this user is root; nothing outside changes."""
    uid, gid = os.geteuid(), os.getegid()
    unshare("user namespace", CLONE_NEWUSER)
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        raise RefusedError("user namespace", str(error)) from None


def _ip(lines: list[str]) -> None:
    """Run one batch of ip(8)."""
    try:
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines).encode(), capture_output=True, check=False)
    except OSError as error:
        raise RefusedError("iproute2", str(error)) from None
    if done.returncode != 0:
        raise RefusedError("network", "ip: " + " ".join(done.stderr.decode(errors="replace").split()))


def _send(channel: socket.socket, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
    """Send a message; a reader that is gone is nobody's loss."""
    try:
        socket.send_fds(channel, [json.dumps(message).encode()], fds)
    except OSError:
        return


def _sysctl(name: str, value: str) -> None:
    """Set a sysctl that some kernels do not have."""
    try:
        (Path("/proc/sys") / name).write_text(value)
    except OSError:
        return


class Wakeup:
    """A descriptor that becomes readable when a child ends; handlers stay empty so that nothing is interrupted."""

    def __init__(self) -> None:
        self.fd, self._write_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)

    def ended(self) -> list[tuple[int, int]]:
        """(pid, exit code) of the children that ended; negative for a signal."""
        try:
            while os.read(self.fd, 4096):
                pass
        except BlockingIOError:
            pass
        found: list[tuple[int, int]] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            found.append((pid, os.waitstatus_to_exitcode(status)))


# --- the agent: pid 1 of one host -----------------------------------------------------------------------------


class Agent:
    """One host from inside: sets itself up, then starts and reaps what the harness asks for."""

    def __init__(self, host: dict[str, Any], config: dict[str, Any], barrier: socket.socket) -> None:
        self._host = host
        self._config = config
        self._barrier = barrier
        self._control = socket.socket(fileno=host["fd"])
        self._running: dict[int, socket.socket] = {}
        self._env: dict[str, str] = {**config["env"], **host["env"]}
        self._originals: dict[str, int] = {}

    def main(self) -> NoReturn:
        """Set up, say so, serve until the harness closes the control socket; never returns."""
        try:
            die_with_parent()
            unshare("namespaces", CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)
            self._barrier.send(b"{}")
            self._barrier.recv(16)  # the veth is here now
            socket.sethostname(self._host["name"])
            self._mounts()
            self._network()
            self._say_namespaces()
            self._barrier.send(b"{}")
            self._barrier.close()
            self._environment()
            self._serve()
        except RefusedError as error:
            self._barrier.send(json.dumps({"step": error.step, "detail": error.detail}).encode())
        except OSError as error:
            self._barrier.send(json.dumps({"step": "namespaces", "detail": str(error)}).encode())
        finally:
            os._exit(1)

    def _mounts(self) -> None:
        mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        if self._host["hide"]:  # /proc/1/fd/N stays as the way back to what is hidden
            self._originals = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in _HIDDEN if Path(path).is_dir()}
        mount("tmpfs", "/run", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=64m")
        files = {"/etc/hosts": self._config["hosts_text"].encode(), "/etc/nsswitch.conf": _NSSWITCH}
        for path, content in files.items():
            if Path(path).exists():
                own = Path("/run") / Path(path).name
                own.write_bytes(content)
                mount(str(own), path, flags=_MS_BIND)
        if not self._host["hide"]:
            _call("mount", "umount /run", _libc.umount2(b"/run", _MNT_DETACH))
            return
        mount(self._host["home"] + "/tmp", "/tmp", flags=_MS_BIND)  # noqa: S108
        if "/dev/shm" in self._originals:  # noqa: S108
            mount("tmpfs", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")  # noqa: S108
        for path in self._config["keep"]:
            for hidden, fd in self._originals.items():
                if path.startswith(hidden + "/") and Path(f"/proc/self/fd/{fd}{path.removeprefix(hidden)}").is_dir():
                    Path(path).mkdir(parents=True, exist_ok=True)
                    mount(f"/proc/self/fd/{fd}{path.removeprefix(hidden)}", path, flags=_MS_BIND | _MS_REC)

    def _network(self) -> None:
        _sysctl("net/ipv6/conf/all/disable_ipv6", "1")
        _sysctl("net/ipv6/conf/default/disable_ipv6", "1")
        _sysctl("net/ipv4/ip_unprivileged_port_start", "0")
        _sysctl("net/ipv4/ping_group_range", "0 0")
        _ip(["link set lo up", f"addr add {self._host['address']} dev eth0", "link set eth0 up"])

    def _say_namespaces(self) -> None:
        """Give the harness descriptors of the namespaces, so that it never has to trust a pid."""
        names = [name for name in NAMESPACES if name != "user" or self._config["user"]]
        fds = tuple(os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names)
        _send(self._control, {"namespaces": names, "hidden": self._originals}, fds)
        for fd in fds:
            os.close(fd)

    def _environment(self) -> None:
        os.environ.clear()
        os.environ.update(self._env)  # posix_spawnp looks for programs in *our* PATH
        os.chdir(self._host["home"])
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def _serve(self) -> None:
        wakeup = Wakeup()
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

    def _start(self, poller: select.poll) -> None:
        packet, fds, _, _ = socket.recv_fds(self._control, _PACKET_BYTES, 4, socket.MSG_CMSG_CLOEXEC)
        if not packet:
            os._exit(0)
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
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD],
            )
        except OSError as error:
            _send(status, {"returncode": 127, "error": f"{argv[0]}: {error.strerror}"})
            status.close()
        else:
            self._running[pid] = status
            poller.register(status, select.POLLIN)
        for fd in fds[1:]:
            os.close(fd)

    def _reap(self, wakeup: Wakeup, poller: select.poll) -> None:
        for pid, code in wakeup.ended():
            status = self._running.pop(pid, None)
            if status is not None:
                poller.unregister(status)
                _send(status, {"returncode": code})
                status.close()

    def _abandon(self, fd: int, poller: select.poll) -> None:
        """The caller gave up: kill the command with all its descendants; it is reaped like any other."""
        for pid, status in list(self._running.items()):
            if status.fileno() == fd:
                poller.unregister(status)
                status.close()
                del self._running[pid]
                for victim in (*descendants(pid), pid):
                    kill(victim)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)


def kill(pid: int) -> None:
    """SIGKILL; gone already is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, as /proc shows them now."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib would triple the cost of a time-out
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found: list[int] = []
    todo = [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


# --- init: pid 1 of the sandbox -------------------------------------------------------------------------------


class Init:
    """Lays the network, forks the agents, waits for the end and cleans up after it."""

    def __init__(self, control: socket.socket, harness_pidfd: int, config: dict[str, Any]) -> None:
        self._control = control
        self._harness_pidfd = harness_pidfd
        self._config = config

    def main(self) -> NoReturn:
        """Never returns: ends with 0 after an orderly ``down`` and after the harness' death."""
        try:
            die_with_parent()
            mount("", "/", flags=_MS_REC | _MS_SLAVE)
            mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
            self._hosts()
            _send(self._control, {"ready": True})
            self._end(orderly=self._wait())
            os._exit(0)
        except RefusedError as error:
            _send(self._control, {"step": error.step, "detail": error.detail})
        except OSError as error:
            _send(self._control, {"step": "namespaces", "detail": str(error)})
        finally:
            os._exit(1)

    def _hosts(self) -> None:
        own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        agents: list[tuple[int, socket.socket]] = []
        for host in self._config["hosts"]:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            unshare("namespaces", CLONE_NEWPID)
            pid = os.fork()
            if pid == 0:
                self._leave_only(host["fd"], theirs.fileno())
                Agent(host, self._config, theirs).main()
            _call("namespaces", "setns", _libc.setns(own_pid_namespace, CLONE_NEWPID))
            theirs.close()
            agents.append((pid, ours))
        os.close(own_pid_namespace)
        for host in self._config["hosts"]:
            os.close(host["fd"])  # so that the harness sees the end of an agent
        for _, barrier in agents:
            _await(barrier)
        lines = ["link set lo up", f"link add {_BRIDGE} type bridge forward_delay 0 mcast_snooping 0"]
        lines.append(f"link set {_BRIDGE} up")
        for number, (pid, _) in enumerate(agents):
            lines.append(f"link add v{number} type veth peer name eth0 netns {pid}")
            lines.append(f"link set v{number} master {_BRIDGE} up")
        _sysctl("net/ipv6/conf/all/disable_ipv6", "1")
        _sysctl("net/ipv6/conf/default/disable_ipv6", "1")
        _ip(lines)
        for _, barrier in agents:
            barrier.send(b"go")
        for _, barrier in agents:
            _await(barrier)
            barrier.close()

    def _leave_only(self, *fds: int) -> None:
        """Close, in a new agent, what belongs to init and to other agents."""
        for fd in [self._control.fileno(), self._harness_pidfd, *(host["fd"] for host in self._config["hosts"])]:
            if fd not in fds:
                os.close(fd)

    def _wait(self) -> bool:
        """Until the harness says "down" (true) or is gone (false); reaps meanwhile."""
        wakeup = Wakeup()
        poller = select.poll()
        for fd in (self._control.fileno(), self._harness_pidfd, wakeup.fd):
            poller.register(fd, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poller.poll()}
            if wakeup.fd in ready:
                wakeup.ended()
            if self._control.fileno() in ready:
                return self._control.recv(16) == b"down"
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
        import shutil

        for host in self._config["hosts"]:
            home = Path(host["home"])
            for entry in home.iterdir() if home.is_dir() else ():
                if entry.is_dir() and not entry.is_symlink() and entry.name != "logs":
                    shutil.rmtree(entry, ignore_errors=True)
                elif entry.name != "logs":
                    entry.unlink(missing_ok=True)
            for folder in (home / "logs", home):
                try:
                    folder.rmdir()
                except OSError:
                    break  # it holds logs
        Path(self._config["record"]).unlink(missing_ok=True)


def _await(barrier: socket.socket) -> None:
    """Wait for an agent's next step and pass its refusal on."""
    said = json.loads(barrier.recv(_PACKET_BYTES) or b'{"step": "namespaces", "detail": "an agent ended"}')
    if said:
        raise RefusedError(said["step"], said["detail"])


def begin(control_fd: int, harness_pidfd: int) -> int:
    """The outermost process: make the namespaces, fork init, wait for it."""
    control = socket.socket(fileno=control_fd)
    config = json.loads(control.recv(_PACKET_BYTES))
    try:
        config["user"] = not _capable()
        if config["user"]:
            _become_root()
        unshare("namespaces", CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID)
        pid = os.fork()
    except (RefusedError, OSError) as error:
        step, detail = (error.step, error.detail) if isinstance(error, RefusedError) else ("namespaces", str(error))
        _send(control, {"step": step, "detail": detail})
        return 1
    if pid == 0:
        Init(control, harness_pidfd, config).main()
    for fd in (control_fd, harness_pidfd, *(host["fd"] for host in config["hosts"])):
        os.close(fd)
    control.detach()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def enter(namespaces: list[str], argv: list[str]) -> int:
    """Run ``argv`` inside a host's namespaces as our child, which dies with us; return as it ended."""
    folder = os.getcwd()  # noqa: PTH109 - a string survives the change of namespaces
    for item in namespaces:
        name, _, fd = item.partition("=")
        _call("namespaces", f"setns {name}", _libc.setns(int(fd), NAMESPACES[name]))
        os.close(int(fd))
    ourselves = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        if select.select([ourselves], [], [], 0)[0]:  # ended before the kernel was asked
            os._exit(1)
        try:
            os.chdir(folder)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execvp(argv[0], argv)  # noqa: S606 - no shell on purpose
        except OSError as error:
            sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
            os._exit(127)
    os.close(0)
    os.close(1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda passed, _frame: os.kill(pid, passed))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    if sys.argv[1] == "begin":
        sys.exit(begin(int(sys.argv[2]), int(sys.argv[3])))
    split = sys.argv.index("--")
    sys.exit(enter(sys.argv[2:split], sys.argv[split + 1 :]))
