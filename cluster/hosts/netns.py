r"""Hosts as network namespaces of this machine, for an ordinary user and for root alike.

Why: a cluster of seven hosts that breaks like real ones, up in a fraction of a second, with nothing to
install and nothing left behind, however the harness ends. The work inside is done by ``cluster.agent.sandbox_init``;
this is the harness' end. Use::

    backend = NetnsBackend()
    with hosts_up(backend, "run-1", [NodeSpec(name="b1", role="broker")], Path("work")) as hosts:
        print(hosts["b1"].run("hostname", "-I", timeout_s=5).check().text)  # b1's address, 198.18.0.10
        hosts["b1"].put(b"key=value\n", hosts["b1"].home + "/node.conf")
        worker = backend.popen_inside([sys.executable, "-m", "my.worker"], {})  # in the network of `client`
        worker.communicate(b"hello", timeout=10)

Each host has namespaces of its own (network, mount, pid, UTS, IPC), an address in 198.18.0.0/15, every other host in
its hosts file, private /tmp, /run and /dev/shm, and no route to anywhere else. Commands run in ``host.home`` with a
short, clean environment. ``client`` sees /tmp and /run as they are, because workers write into the run folder.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from chaos.core.errors import CapabilityError, ChaosError, DeadlineError, DeployError, UsageError
from chaos.core.events import Note
from cluster.cleanup import run_records
from cluster.host import Capability, Host, NodeSpec
from cluster.hosts.addressing import CLIENT, NETWORK, addresses, hosts_text, names_of
from cluster.hosts.agent_host import ROOT, AgentHost, clean_environment, popen_entered, sandbox_argv
from cluster.network import packet_filter

_UP_TIMEOUT_S: Final = 30.0
_DOWN_TIMEOUT_S: Final = 10.0
_PACKET_BYTES: Final = 1 << 17
_HERE: Final = str(Path(sys.executable).parent)  # python3 of a host is the harness' own
_BIND: Final = '[ -e "$2" ] && exit 0; mkdir -p "$2" && exec mount -c --bind "/proc/1/fd/$1" "$2"'
HELP: Final = {
    "user namespace": "`sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000` as root",
    "namespaces": "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root, or run as root",
    "mount": "run as root, or outside a container that masks /proc",
    "iproute2": "`apt-get install iproute2`",
    "network": "`modprobe -a veth bridge` as root",
}
"""The steps of the way into namespaces, in order, each with what helps."""


class SandboxError(CapabilityError):
    """The machine refused a step of the way into namespaces; ``help`` is the command that may change its mind."""

    def __init__(self, step: str, detail: str) -> None:
        self.step = step
        self.detail = detail
        self.help = HELP[step]
        super().__init__(f"network namespaces: {step}: {detail}; {self.help}")


class NetnsBackend:
    """Hosts in network namespaces; see the module."""

    name = "netns"
    help = "each host a set of namespaces of this machine; needs no root"
    options: Mapping[str, str] = MappingProxyType({})
    lacks: Mapping[Capability, str] = MappingProxyType(
        {Capability.MACHINE: "hosts in namespaces are no containers; --backend docker has them"}
    )
    on_this_machine = True

    def __init__(self) -> None:
        self._run_id = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._hosts: dict[str, AgentHost] = {}
        self._hidden: dict[str, dict[str, int]] = {}
        self._namespaces: dict[str, int] = {}
        self._provided: list[Path] = []
        self._record: Path | None = None
        self._lock = threading.Lock()

    def prepare(self, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:
        """See ``Backend.prepare``. These hosts are made of nothing but this machine, and leave nothing."""

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:
        """See ``Backend.up``."""
        names = names_of(run_id, specs)
        if self._process is not None:
            raise UsageError("this backend is up already; make another one")
        self._run_id = run_id
        try:
            self._start(names, work.resolve())
            able = {
                Capability.SIGNALS,
                Capability.RESTART,
                Capability.PROGRAMS,
                Capability.FILES,
                Capability.CLOCK,
                Capability.LINK,
                Capability.DISK,
            }
            capabilities = packet_filter.capabilities(self._hosts[CLIENT]) | able
            for host in self._hosts.values():
                host.capabilities = capabilities
        except BaseException:
            self.down()
            raise
        return dict(self._hosts)

    def _start(self, names: Sequence[str], work: Path) -> None:
        by_name = addresses(names)
        ends: dict[str, socket.socket] = {}
        pidfd = os.pidfd_open(os.getpid())
        self._control, init_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_UP_TIMEOUT_S)
        try:
            for name in names:
                home = work / name
                for folder in (home / "tmp", home / "logs"):
                    folder.mkdir(parents=True, exist_ok=True)
                ours, ends[name] = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._hosts[name] = AgentHost(name, by_name[name], str(home), ours, lambda: "its namespaces have ended")
            self._record = run_records.write(self._run_id, work, tuple(host.home for host in self._hosts.values()))
            config = self._config(work, {name: end.fileno() for name, end in ends.items()})
            fds = (init_end.fileno(), pidfd, *(end.fileno() for end in ends.values()))
            self._process = subprocess.Popen(
                [*sandbox_argv("begin"), str(init_end.fileno()), str(pidfd)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=config["env"],
                pass_fds=fds,
                cwd="/",
                start_new_session=True,  # a Ctrl-C at the terminal is the harness' to answer
            )
        finally:
            os.close(pidfd)
            init_end.close()
            for end in ends.values():
                end.close()
        self._await_ready(config)

    def _config(self, work: Path, fds: Mapping[str, int]) -> dict[str, Any]:
        env = clean_environment(os.environ, _HERE) | run_records.marker(self._run_id)
        keep = [str(work), sys.prefix, sys.base_prefix, str(ROOT), *map(str, self._provided)]
        keep += env["PATH"].split(":")
        keep += [env["JAVA_HOME"]] if "JAVA_HOME" in env else []
        return {
            "env": env,
            "hosts_text": hosts_text({name: host.address for name, host in self._hosts.items()}),
            "keep": list(dict.fromkeys(keep)),
            "record": str(self._record),
            "hosts": [
                {
                    "name": name,
                    "address": f"{host.address}/{NETWORK.prefixlen}",
                    "fd": fds[name],
                    "home": host.home,
                    "hide": name != CLIENT,
                    "env": {"HOME": host.home, "TMPDIR": "/tmp", "XTABLES_LOCKFILE": f"{host.home}/tmp/xtables.lock"},  # noqa: S108
                }
                for name, host in self._hosts.items()
            ],
        }

    def _await_ready(self, config: Mapping[str, Any]) -> None:
        assert self._control is not None
        try:
            self._control.send(json.dumps(config).encode())
            said = json.loads(self._control.recv(_PACKET_BYTES) or b'{"step": "namespaces", "detail": "init ended"}')
        except TimeoutError:
            raise DeadlineError(f"waited {_UP_TIMEOUT_S:g} s for {len(self._hosts)} network namespaces") from None
        except ConnectionError:
            raise CapabilityError("network namespaces: the init program ended; its last words are above") from None
        if "ready" not in said:
            raise SandboxError(said["step"], said["detail"])
        for name, host in self._hosts.items():
            told, fds = host.met()
            self._hidden[name] = told["hidden"]
            if name == CLIENT:
                self._namespaces = dict(zip(told["namespaces"], fds, strict=True))
            else:
                for fd in fds:
                    os.close(fd)

    def provide(self, source: Path) -> str:
        """See ``Backend.provide``. Hosts share the file system; only what lies in a folder they hide is bound in."""
        source = source.resolve()
        with self._lock:
            self._provided.append(source)
        for name, hidden in self._hidden.items():
            for folder, fd in hidden.items():
                if source.is_relative_to(folder):
                    inside = f"{fd}/{source.relative_to(folder)}"
                    done = self._hosts[name].run("sh", "-c", _BIND, "sh", inside, str(source), timeout_s=10)
                    done.check(f"{name}: showing {source}")
        return str(source)

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """See ``Backend.popen_inside``. ``env`` is added to the harness' own environment.

        The child dies with the returned process, with the sandbox and with the harness.
        """
        if self._process is None or not self._namespaces:
            raise DeployError("the client's namespaces are not up; call up() first")
        return popen_entered(self._namespaces, argv, {**env, **run_records.marker(self._run_id)})

    def check(self) -> None:
        """See ``Backend.check``."""
        for host in self._hosts.values():
            host.check()

    def down(self) -> None:
        """See ``Backend.down``: kills all and waits for its end; files in ``work`` stay for who collects them."""
        with self._lock:
            process, self._process = self._process, None
            control, self._control = self._control, None
            hosts, self._hosts = self._hosts, {}
            namespaces, self._namespaces = self._namespaces, {}
            self._hidden = {}
        for fd in namespaces.values():
            os.close(fd)
        try:
            if control is not None and process is not None:
                with contextlib.suppress(OSError):
                    control.send(b"down")
                self._await_end(process)
        finally:
            for closing in (*hosts.values(), *((control,) if control else ())):
                closing.close()
            for host in hosts.values():
                shutil.rmtree(Path(host.home) / "tmp", ignore_errors=True)
            if self._record is not None:
                self._record.unlink(missing_ok=True)

    def notes(self) -> Sequence[Note]:
        """See ``Backend.notes``: one machine, one clock, and all of it ends with the namespaces."""
        return ()

    def _await_end(self, process: "subprocess.Popen[bytes]") -> None:
        try:
            process.wait(_DOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)  # takes init and everything below with it
            try:
                process.wait(_DOWN_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                raise ChaosError(f"the sandbox of {self._run_id}, pid {process.pid}, outlives SIGKILL") from None
