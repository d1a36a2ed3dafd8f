"""System calls and small acts that sandboxes (``sandbox_init``, ``sandbox_host``) and agents share.

Standard library only: these run under ``python -I -S``, where the project's packages are but nothing that was
installed. What the machine refuses is a ``RefusedError`` that names the step, so that the harness can say which command
helps.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

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

OF_A_HOST: Final = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC
"""What every host has of its own, beside its pids."""

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_SLAVE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 19
_MNT_DETACH: Final = 2
_PR_SET_PDEATHSIG: Final = 1
_NEEDED_CAPABILITIES: Final = 1 << 21 | 1 << 12  # CAP_SYS_ADMIN, CAP_NET_ADMIN
PACKET_BYTES: Final = 1 << 20
"""More than any message of ours."""

NSSWITCH: Final = "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
"""A host's /etc/nsswitch.conf: names come from files, so that none leaves the cluster."""

_libc = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """The machine said no to ``step``; the harness turns this into a sentence with the command that helps."""

    def __init__(self, step: str, detail: str) -> None:
        super().__init__(f"{step}: {detail}")
        self.step = step
        self.detail = detail


def refusal(error: RefusedError | OSError) -> dict[str, str]:
    """The message that tells the harness of it."""
    if isinstance(error, RefusedError):
        return {"step": error.step, "detail": error.detail}
    return {"step": "namespaces", "detail": str(error)}


def _call(step: str, what: str, result: int) -> None:
    if result != 0:
        raise RefusedError(step, f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare(step: str, flags: int) -> None:
    """Leave the named namespaces for new ones."""
    _call(step, "unshare", _libc.unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system, or with MS_BIND a folder or file, on ``target``."""
    arguments = [text.encode() if text else None for text in (source, target, kind)]
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() if data else None)
    _call("mount", f"mount {kind or source} on {target}", result)


def mount_proc() -> None:
    """Show this pid namespace, and no other, in /proc."""
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def umount(target: str) -> None:
    """Take a mount away, also while it is in use."""
    _call("mount", f"umount {target}", _libc.umount2(target.encode(), _MNT_DETACH))


def setns(fd: int, kind: int) -> None:
    """Enter a namespace of which ``fd`` is a descriptor."""
    _call("namespaces", "setns", _libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)))


@contextmanager
def namespace_fds(names: Iterable[str]) -> Iterator[tuple[int, ...]]:
    """Descriptors of this process' namespaces, in that order, while inside."""
    fds = tuple(os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names)
    try:
        yield fds
    finally:
        for fd in fds:
            os.close(fd)


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the (single-threaded) parent ends."""
    _call("namespaces", "prctl", _libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0))


def capable() -> bool:
    """Whether this process may make namespaces without a user namespace of its own."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & _NEEDED_CAPABILITIES == _NEEDED_CAPABILITIES
    return False


def become_root() -> None:
    """A user namespace in which this user is root; nothing outside changes."""
    uid, gid = os.geteuid(), os.getegid()
    unshare("user namespace", CLONE_NEWUSER)
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        raise RefusedError("user namespace", str(error)) from None


def ip(lines: list[str]) -> None:
    """Configure links and addresses with iproute2, all in one batch."""
    try:
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines).encode(), capture_output=True, check=False)
    except OSError as error:
        raise RefusedError("iproute2", str(error)) from None
    if done.returncode != 0:
        raise RefusedError("network", "ip: " + " ".join(done.stderr.decode(errors="replace").split()))


def send(channel: socket.socket, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
    """Send a message; a reader that is gone is nobody's loss."""
    try:
        socket.send_fds(channel, [json.dumps(message).encode()], fds)
    except OSError:
        return


def sysctl(name: str, value: str) -> None:
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


def childless() -> bool:
    """Whether this process has no child, not even a zombie."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def kill(pid: int) -> None:
    """SIGKILL; gone already is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def empty_home(home: Path) -> None:
    """Remove what a dead run left in a host's home; logs stay, for they are what a person wants to see."""
    import shutil  # costs more than all the rest and is wanted on one way out only

    for entry in home.iterdir() if home.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink() and entry.name != "logs":
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name != "logs":
            entry.unlink(missing_ok=True)
    for folder in (home / "logs", home):
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return  # it holds logs


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
