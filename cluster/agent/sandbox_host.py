"""One host of a sandbox from inside: mounts, hostname and address, before its agent serves.

What runs on the host is started by ``cluster.agent.agent``.
"""

import os
import socket
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

from cluster.agent import linux
from cluster.agent.agent import Agent
from cluster.agent.linux import RefusedError

_HIDDEN: Final = ("/tmp", "/run", "/dev/shm")  # noqa: S108 - the folders that nodes must not share


class SandboxHost:
    """One host of a sandbox: sets itself up, then obeys."""

    def __init__(self, host: dict[str, Any], config: dict[str, Any], barrier: socket.socket) -> None:
        self._host = host
        self._config = config
        self._barrier = barrier
        self._control = socket.socket(fileno=host["fd"])
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
                Agent(self._control, {**self._config["env"], **self._host["env"]}, self._host["home"]).serve()
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
        files = {"/etc/hosts": self._config["hosts_text"].encode(), "/etc/nsswitch.conf": linux.NSSWITCH.encode()}
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
        with linux.namespace_fds(names) as fds:
            linux.send(self._control, {"namespaces": names, "hidden": self._originals}, fds)
