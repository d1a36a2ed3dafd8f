"""The agent: pid 1 of one host in a sandbox.

Sets the host up from inside (mounts, hostname, address), then starts, reaps and kills what the harness asks
for. Messages are JSON on a SOCK_SEQPACKET socket, one per packet. A command comes with four descriptors: a
status socket, stdin, stdout, stderr. Its exit code is written to the status socket; a status socket that the
harness closes earlier means "kill it". When the control socket closes, the agent ends, and with it, because it
is pid 1, everything on the host. The module refuses to relay data and to know what it runs.
"""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

from cluster import linux
from cluster.linux import RefusedError

_HIDDEN: Final = ("/tmp", "/run", "/dev/shm")  # noqa: S108 - the folders that nodes must not share
_NSSWITCH: Final = b"passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"


class Agent:
    """One host from inside: sets itself up, then starts and reaps what the harness asks for."""

    def __init__(self, host: dict[str, Any], config: dict[str, Any], barrier: socket.socket) -> None:
        self._host = host
        self._config = config
        self._barrier = barrier
        self._control = socket.socket(fileno=host["fd"])
        self._control.set_inheritable(False)
        self._running: dict[int, socket.socket] = {}
        self._env: dict[str, str] = {**config["env"], **host["env"]}
        self._originals: dict[str, int] = {}

    def main(self) -> NoReturn:
        """Set up, say so, serve until the harness closes the control socket; never returns."""
        try:
            try:
                self._set_up()
            except (RefusedError, OSError) as error:
                linux.send(self._barrier, linux.refusal(error))
            else:
                self._barrier.send(b"{}")
                self._barrier.close()
                self._environment()
                self._serve()
        except Exception:  # noqa: BLE001 - pid 1 ends here; its last words go to the harness' standard error
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)

    def _set_up(self) -> None:
        linux.die_with_parent()
        linux.unshare("namespaces", linux.OF_A_HOST)
        self._barrier.send(b"{}")
        self._barrier.recv(16)  # the veth is here now
        socket.sethostname(self._host["name"])
        self._mounts()
        self._network()
        self._say_namespaces()

    def _mounts(self) -> None:
        linux.mount_proc()
        if self._host["hide"]:  # /proc/1/fd/N stays as the way back to what is hidden
            there = [path for path in _HIDDEN if Path(path).is_dir()]
            self._originals = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in there}
        linux.mount("tmpfs", "/run", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=64m")
        files = {"/etc/hosts": self._config["hosts_text"].encode(), "/etc/nsswitch.conf": _NSSWITCH}
        for path, content in files.items():
            if Path(path).exists():
                own = Path("/run") / Path(path).name
                own.write_bytes(content)
                linux.mount(str(own), path, flags=linux.MS_BIND)
        if not self._host["hide"]:
            linux.umount("/run")
            return
        linux.mount(self._host["home"] + "/tmp", "/tmp", flags=linux.MS_BIND)  # noqa: S108
        if "/dev/shm" in self._originals:  # noqa: S108
            linux.mount("tmpfs", "/dev/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")  # noqa: S108
        for path in self._config["keep"]:
            for hidden, fd in self._originals.items():
                original = f"/proc/self/fd/{fd}{path.removeprefix(hidden)}"
                if path.startswith(hidden + "/") and os.path.isdir(original):  # noqa: PTH112 - false where it is forbidden
                    Path(path).mkdir(parents=True, exist_ok=True)
                    linux.mount(original, path, flags=linux.MS_BIND | linux.MS_REC)

    def _network(self) -> None:
        linux.sysctl("net/ipv6/conf/all/disable_ipv6", "1")
        linux.sysctl("net/ipv6/conf/default/disable_ipv6", "1")
        linux.sysctl("net/ipv4/ip_unprivileged_port_start", "0")
        linux.sysctl("net/ipv4/ping_group_range", "0 0")
        linux.ip(["link set lo up", f"addr add {self._host['address']} dev eth0", "link set eth0 up"])

    def _say_namespaces(self) -> None:
        """Give the harness descriptors of the namespaces, so that it never has to trust a pid."""
        names = [name for name in linux.NAMESPACES if name != "user" or self._config["user"]]
        fds = tuple(os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names)
        linux.send(self._control, {"namespaces": names, "hidden": self._originals}, fds)
        for fd in fds:
            os.close(fd)

    def _environment(self) -> None:
        os.environ.clear()
        os.environ.update(self._env)  # posix_spawnp looks for programs in *our* PATH
        os.chdir(self._host["home"])
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def _serve(self) -> None:
        wakeup = linux.Wakeup()
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
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD],
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
