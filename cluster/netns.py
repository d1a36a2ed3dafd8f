r"""Hosts as network namespaces of this machine, for an ordinary user and for root alike.

Why: a cluster of seven hosts that breaks like real ones, up in a fraction of a second, with nothing to
install and nothing left behind, however the harness ends. The work inside is done by ``cluster.sandbox``;
this is the harness' end. Use::

    backend = NetnsBackend()
    with hosts_up(backend, "run-1", [NodeSpec(name="b1", role="broker")], Path("work")) as hosts:
        print(hosts["b1"].run("hostname", "-I", timeout_s=5).check().text)  # b1's address, 198.18.0.10
        hosts["b1"].put(b"key=value\n", hosts["b1"].home + "/node.conf")
        worker = backend.popen_inside([sys.executable, "-m", "my.worker"], {})  # in the network of `client`
        worker.communicate(b"hello", timeout=10)

Each host has namespaces of its own (network, mount, pid, UTS, IPC), an address in 198.18.0.0/15, every other
host in its hosts file, private /tmp, /run and /dev/shm, and no route to anywhere else. Commands run in
``host.home`` with a short, clean environment. ``client`` sees /tmp and /run as they are, because workers write
into the run folder. The module refuses to know systems and faults.
"""

import contextlib
import errno
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, ChaosError, DeadlineError, DeployError, UsageError
from chaos.core.events import Note
from cluster import network, records
from cluster.copying import COPY_TIMEOUT_S, GET, MISSING, PUT
from cluster.host import CLIENT, Capability, Completed, ControlLink, Host, NodeSpec, check_names
from cluster.pipes import Pipes

_NETWORK: Final = ipaddress.ip_network("198.18.0.0/15")
_FIRST: Final = 10  # low numbers stay free for whoever watches a wire
_ROOT: Final = Path(__file__).parents[1]
_SANDBOX: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from cluster.sandbox import main; sys.exit(main(sys.argv[2:]))"
)
_UP_TIMEOUT_S: Final = 30.0
_DOWN_TIMEOUT_S: Final = 10.0
_SEND_TIMEOUT_S: Final = 10.0
_PACKET_BYTES: Final = 1 << 17
_SBIN: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
_BIND: Final = '[ -e "$2" ] && exit 0; mkdir -p "$2" && exec mount -c --bind "/proc/1/fd/$1" "$2"'
HELP: Final = {
    "user namespace": "`sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000` as root",
    "namespaces": "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root, or run as root",
    "mount": "run as root, or outside a container that masks /proc",
    "iproute2": "`apt-get install iproute2`",
    "network": "`modprobe -a veth bridge` as root",
}
"""The steps of the way into namespaces, in order, each with what helps."""


def addresses(names: Sequence[str]) -> dict[str, str]:
    """Pure: an address for each name, in order, from the range reserved for tests between hosts."""
    if len(names) > _NETWORK.num_addresses - _FIRST - 1:
        raise UsageError(f"{len(names)} hosts do not fit into {_NETWORK}; use fewer nodes")
    return {name: str(_NETWORK[_FIRST + position]) for position, name in enumerate(names)}


def hosts_text(by_name: Mapping[str, str]) -> str:
    """Pure: the hosts file that every host sees."""
    return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in by_name.items())


class SandboxError(CapabilityError):
    """The machine refused a step of the way into namespaces; ``help`` is the command that may change its mind."""

    def __init__(self, step: str, detail: str) -> None:
        self.step = step
        self.detail = detail
        self.help = HELP[step]
        super().__init__(f"network namespaces: {step}: {detail}; {self.help}")


def clean_environment(ambient: Mapping[str, str]) -> dict[str, str]:
    """Pure: what of the harness' environment commands on hosts may see: where programs are, and no more."""
    here = str(Path(sys.executable).parent)  # python3 of a host is the harness' own
    path = [here, *[entry for entry in ambient.get("PATH", "").split(":") if entry and entry != here]]
    kept = {"PATH": ":".join([*path, *[entry for entry in _SBIN if entry not in path]]), "LANG": "C.UTF-8"}
    if "JAVA_HOME" in ambient:
        kept["JAVA_HOME"] = ambient["JAVA_HOME"]
    return kept


def _sandbox(*arguments: str) -> list[str]:
    """The command line of the inside: our packages, but nothing that was installed, and no one's settings."""
    return [sys.executable, "-I", "-S", "-c", _SANDBOX, str(_ROOT), *arguments]


class NetnsHost:
    """One host; safe to use from several threads at once."""

    control: ControlLink | None = None

    def __init__(self, name: str, address: str, home: str, control: socket.socket) -> None:
        self.name = name
        self.address = address
        self.home = home
        self.capabilities: frozenset[Capability] = frozenset()
        self._control = control

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
        partial = target.with_name(target.name + ".partial")
        try:
            with partial.open("wb") as file:
                done = self._with_file(argv, (os.open(os.devnull, os.O_RDONLY), os.dup(file.fileno())))
            if done.returncode == MISSING:
                raise FileNotFoundError(f"{self.name}:{source}")
            done.check(f"{self.name}: reading {source}")
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)

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
        return DeployError(f"host {self.name} is gone: its namespaces have ended; nothing runs there any more")

    def close(self) -> None:
        """Let the agent end."""
        self._control.close()


class NetnsBackend:
    """Hosts in network namespaces; see the module."""

    name = "netns"

    def __init__(self) -> None:
        self._run_id = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._hosts: dict[str, NetnsHost] = {}
        self._hidden: dict[str, dict[str, int]] = {}
        self._namespaces: dict[str, int] = {}
        self._provided: list[Path] = []
        self._record: Path | None = None
        self._lock = threading.Lock()

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:
        """See ``Backend.up``."""
        check_names(run_id, specs)
        if self._process is not None:
            raise UsageError("this backend is up already; make another one")
        self._run_id = run_id
        try:
            self._start([*(spec.name for spec in specs), CLIENT], work.resolve())
            capabilities = network.capabilities(self._hosts[CLIENT]) | {Capability.SIGNALS, Capability.RESTART}
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
                ours.settimeout(_SEND_TIMEOUT_S)
                self._hosts[name] = NetnsHost(name, by_name[name], str(home), ours)
            self._record = records.write(self._run_id, work, tuple(host.home for host in self._hosts.values()))
            config = self._config(work, {name: end.fileno() for name, end in ends.items()})
            fds = (init_end.fileno(), pidfd, *(end.fileno() for end in ends.values()))
            self._process = subprocess.Popen(
                [*_sandbox("begin"), str(init_end.fileno()), str(pidfd)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=config["env"], pass_fds=fds, cwd="/",
                start_new_session=True,  # a Ctrl-C at the terminal is the harness' to answer
            )  # fmt: skip
        finally:
            os.close(pidfd)
            init_end.close()
            for end in ends.values():
                end.close()
        self._await_ready(config)

    def _config(self, work: Path, fds: Mapping[str, int]) -> dict[str, Any]:
        env = clean_environment(os.environ) | records.marker(self._run_id)
        keep = [str(work), sys.prefix, sys.base_prefix, str(_ROOT), *map(str, self._provided)]
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
                    "address": f"{host.address}/{_NETWORK.prefixlen}",
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
            packet, fds, _, _ = socket.recv_fds(host._control, _PACKET_BYTES, 8)  # noqa: SLF001 - one module, one secret
            told = json.loads(packet)
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
        fds = tuple(self._namespaces.values())
        names = [f"{name}={fd}" for name, fd in self._namespaces.items()]
        return subprocess.Popen(
            [*_sandbox("enter"), *names, "--", *argv],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=fds, start_new_session=True,
            env={**os.environ, **env, **records.marker(self._run_id)},
        )  # fmt: skip

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

    def another(self) -> "NetnsBackend":
        """See ``Backend.another``."""
        return NetnsBackend()

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
