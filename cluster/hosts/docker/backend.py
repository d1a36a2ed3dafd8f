r"""Hosts as containers of this machine's Docker engine.

Why: what people run brokers in, with an engine's images, volumes and limits, and the same faults as everywhere. Each
host is a container with a hostname and a fixed address on an internal network of its run, out of 198.18.0.0/15. Its pid
1 is ``cluster.agent.agent``: it reaps, and obeys the harness over a Unix socket in a mounted folder, so that a command
costs milliseconds, goes on through an engine that hangs, and never crosses the network that faults cut. Use::

    backend = DockerBackend(memory="512m")
    with hosts_up(backend, "run-1", [NodeSpec(name="b1", role="broker")], Path("work")) as hosts:
        print(hosts["b1"].run("hostname", timeout_s=5).check().text)

A node's home is a named volume whose content lies in the run's folder: logs are there as they are written, and are
there when the engine is not. Rights: NET_ADMIN and NET_RAW for packet filters, nothing else, never privileged. Load and
observers are processes of this machine that enter the client's network, for their clock and their files must be the
harness'. All carries the run's labels; ``cluster.hosts.docker.cleanup`` removes what a dead harness leaves.
"""

import contextlib
import math
import os
import re
import select
import shutil
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, ChaosError, DeployError, UsageError
from chaos.core.events import Note
from cluster.agent import linux
from cluster.cleanup import run_records
from cluster.host import Capability, Host, NodeSpec, check_programs
from cluster.hosts import cpu_share
from cluster.hosts.addressing import CLIENT, addresses, names_of
from cluster.hosts.agent_host import AgentHost, clean_environment, popen_entered
from cluster.hosts.docker import cleanup
from cluster.hosts.docker import image as docker_image
from cluster.hosts.docker import network as docker_network
from cluster.hosts.docker.container import Wanted, control_folder, environment, fate, listener, rights, settings
from cluster.hosts.docker.engine import Engine, connect, labels
from cluster.hosts.docker.machine import ContainerMachine
from cluster.network import packet_filter

_AT_ONCE: Final = 4
_UP_TIMEOUT_S: Final = 60.0
_GONE_TIMEOUT_S: Final = 3
_LOOK_S: Final = 1.0
_LEAST_MEMORY_BYTES: Final = 16 << 20
_LEAST_CORES: Final = 0.01
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)b?")
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_NO_WAY_OUT: Final = ("ip", "route", "flush", "default")
"""Some engines give hosts of an internal network a default route and only filter what takes it."""

_REQUIRED: Final = (
    "cat",
    "chmod",
    "dirname",
    "env",
    "grep",
    "head",
    "ip",
    "iptables",
    "iptables-restore",
    "mkdir",
    "mv",
    "rm",
    "setsid",
    "tail",
    "wc",
)
"""What ``cluster.nodes.process`` and ``cluster.network.packet_filter`` use on a host, beside the shell."""


_CONTENT: Final = f"an image for hosts has python3, sh and {', '.join(_REQUIRED)} on its PATH"


def nano_cpus(text: str | None) -> int:
    """Pure: what ``--cpus`` asks for in thousand-millionths of a core; 0 for no limit.

    Raises:
        UsageError: it is no such number.
    """
    if text is None:
        return 0
    try:
        cores = float(text)
    except ValueError:
        cores = math.nan
    if not _LEAST_CORES <= cores < math.inf:
        raise UsageError(f"--cpus {text}: give a number of cores from {_LEAST_CORES} on, like 0.5")
    return round(cores * 10**9)


def memory_bytes(text: str | None) -> int:
    """Pure: what ``--memory`` asks for, as docker writes it (``512m``, ``1g``); 0 for no limit.

    Raises:
        UsageError: it is no such size, or too little for anything.
    """
    if text is None:
        return 0
    found = _SIZE.fullmatch(text.strip().lower())
    size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if size < _LEAST_MEMORY_BYTES:
        raise UsageError(f"--memory {text}: give at least {_LEAST_MEMORY_BYTES >> 20}m, as a number with k, m or g")
    return size


def _leave_no_way_out(host: Host) -> None:
    host.run(*_NO_WAY_OUT, timeout_s=_UP_TIMEOUT_S)


class DockerBackend:
    """Hosts in containers of this machine's Docker engine; see the module."""

    name = "docker"
    help = "each host a container of this machine's Docker engine"
    options: Mapping[str, str] = MappingProxyType(
        {
            "image": "Image of the hosts, instead of the one that `chaos image build` makes.",
            "cpus": "Cores that a node may use at most, e.g. 0.5.",
            "memory": "Memory that a node may use at most, e.g. 512m.",
        }
    )
    lacks: Mapping[Capability, str] = MappingProxyType(
        {Capability.DISK: "a container may not mount a file system over a node's data; --backend netns does"}
    )
    on_this_machine = True

    def __init__(self, image: str | None = None, cpus: str | None = None, memory: str | None = None) -> None:
        self._image = image
        self._nano_cpus = nano_cpus(cpus)
        self._memory_bytes = memory_bytes(memory)
        self._provided: dict[str, None] = {}
        self._run_id = ""
        self._env: dict[str, str] = {}
        self._engine: Engine | None = None
        self._hosts: dict[str, AgentHost] = {}
        self._containers: dict[str, str] = {}
        self._listeners: dict[str, socket.socket] = {}
        self._namespaces: dict[str, int] = {}
        self._controls: Path | None = None
        self._record: Path | None = None
        self._reaper: cleanup.Reaper | None = None
        self._lock = threading.Lock()

    def prepare(self, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:
        """See ``Backend.prepare``: the engine answers, dead runs are gone from it, and it has the image."""
        with connect() as engine:
            engine.check_enterable()
            self._check_limits(engine)
            dead = cleanup.leftovers(engine)
            for leftover in dead:
                cleanup.remove(engine, leftover)
            for run_id, count in Counter(leftover.run_id for leftover in dead).items():
                say(f"clean    {count} containers, networks and volumes of dead run {run_id}")
            if self._image is None:
                docker_image.build(engine, docker_image.packages_for(specs), say)
            elif docker_image.find(engine, self._image) is None:
                raise UsageError(f"--image {self._image}: the engine does not have it; `docker pull` or build it")
            say(f"docker   {engine.described}")

    def _check_limits(self, engine: Engine) -> None:
        if self._nano_cpus and not engine.limits_cpus:
            raise CapabilityError("--cpus: this engine cannot limit cores; a rootful engine, or cgroup v2, can")
        if self._memory_bytes and not engine.limits_memory:
            raise CapabilityError("--memory: this engine cannot limit memory; a rootful engine, or cgroup v2, can")
        if self._nano_cpus > engine.cores * 10**9:
            raise UsageError(f"--cpus {self._nano_cpus / 1e9:g}: the engine has {engine.cores} cores")

    def provide(self, source: Path) -> str:
        """See ``Backend.provide``: mounted read-only, under its own name."""
        if self._engine is not None:
            raise DeployError(f"{source} cannot be shown to containers that run; provide it before")
        path = str(source.resolve())
        self._provided[path] = None
        return path

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:
        """See ``Backend.up``."""
        names = names_of(run_id, specs)
        if self._engine is not None:
            raise UsageError("this backend is up already; make another one")
        self._run_id = run_id
        try:
            self._engine = engine = connect()
            engine.check_enterable()
            image = self._image or docker_image.tag_of(docker_image.packages_for(specs))
            self._start(engine, names, work.resolve(), image)
            check_programs(self._hosts[CLIENT], _REQUIRED, f"image {image}")
            able = {
                Capability.SIGNALS,
                Capability.RESTART,
                Capability.PROGRAMS,
                Capability.FILES,
                Capability.CLOCK,
                Capability.LINK,
                Capability.MACHINE,
            }
            capabilities = packet_filter.capabilities(self._hosts[CLIENT]) | able
            for host in self._hosts.values():
                host.capabilities = capabilities
        except BaseException:
            with contextlib.suppress(ChaosError):  # what went wrong first is what has to be said
                self.down()
            raise
        return dict(self._hosts)

    def _start(self, engine: Engine, names: Sequence[str], work: Path, image: str) -> None:
        known = docker_image.find(engine, image)
        if known is None:
            raise CapabilityError(f"docker: the engine has no image {image}; `chaos image build`")
        homes = {name: work / name for name in names}
        for home in homes.values():
            for folder in (home / "tmp", home / "logs"):
                folder.mkdir(parents=True, exist_ok=True)
        self._controls = controls = control_folder(self._run_id)
        self._record = run_records.write(self._run_id, work, tuple(map(str, (*homes.values(), controls))))
        self._reaper = cleanup.Reaper(self._run_id, self._record)
        self._listeners = {name: listener(controls, name) for name in names}
        network_id, part = docker_network.make(engine, self._run_id, len(names))
        by_name = addresses(names, part)
        self._env = clean_environment(environment(known)) | run_records.marker(self._run_id)
        deadline = Deadline(f"{len(names)} containers to come up", _UP_TIMEOUT_S)

        def bring_up(name: str) -> None:
            home = str(homes[name])
            wanted = Wanted(name=name, image=image, home=home, network=network_id, addresses=by_name)
            self._containers[name] = self._create(engine, wanted)
            try:
                with engine.doing(f"starting container {name} of image {image}"):
                    engine.api.start(self._containers[name])
            except DeployError as error:
                if "python3" not in str(error):
                    raise
                raise UsageError(f"image {image} has no python3 (3.10 or newer); {_CONTENT}") from None
            control = self._accept(engine, name, deadline)
            host = AgentHost(name, by_name[name], home, control, lambda: self._fate(name))
            self._hosts[name] = host
            host.machine = ContainerMachine(
                engine, self._containers[name], network_id, host, self._settle_again, _leave_no_way_out
            )
            self._settle(host, control)
            if name == CLIENT:
                self._open_group(engine)

        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="docker") as pool:
            for done in [pool.submit(bring_up, name) for name in names]:
                done.result()
        self._hosts = {name: self._hosts[name] for name in names}

    def _open_group(self, engine: Engine) -> None:
        """Have load and observers weighed with the client's container, where that is more than they have."""
        with engine.doing("looking at a container"):
            pid = int(engine.api.inspect_container(self._containers[CLIENT])["State"]["Pid"])
        procs = cpu_share.procs_of(pid)
        if procs is not None:
            with contextlib.suppress(OSError):  # not ours to write
                self._namespaces["cgroup"] = os.open(procs, os.O_WRONLY | os.O_CLOEXEC)

    def _settle(self, host: AgentHost, control: socket.socket) -> None:
        """Tell a new agent what it has to know, and hear what it says."""
        own = {"HOME": host.home, "TMPDIR": "/tmp", "XTABLES_LOCKFILE": f"{host.home}/tmp/xtables.lock"}  # noqa: S108
        linux.send(control, {"env": self._env | own, "home": host.home})
        told, fds = host.met()
        _leave_no_way_out(host)
        for kind, fd in zip(told["namespaces"], fds, strict=True):
            if host.name == CLIENT and kind != "mnt" and not (kind == "user" and linux.capable()):
                self._namespaces[kind] = fd
            else:
                os.close(fd)

    def _settle_again(self, host: AgentHost) -> None:
        """Meet the agent of a container that was started again."""
        assert self._engine is not None
        deadline = Deadline(f"the agent of container {host.name} to call again", _UP_TIMEOUT_S)
        control = self._accept(self._engine, host.name, deadline)
        host.rejoin(control)
        self._settle(host, control)

    def _create(self, engine: Engine, wanted: Wanted) -> str:
        marks = labels(self._run_id)
        volume = f"chaos-{self._run_id}-{wanted.name}"
        limited = wanted.name != CLIENT  # what the harness runs beside it has no limits, but the larger share
        assert self._controls is not None
        with engine.doing(f"making container {wanted.name}"):
            engine.api.create_volume(volume, "local", {"type": "none", "o": "bind", "device": wanted.home}, marks)
            made = engine.api.create_container(
                **settings(wanted, engine.api),
                name=volume,
                labels=marks,
                environment=run_records.marker(self._run_id),
                host_config=engine.api.create_host_config(
                    **rights(wanted, volume, self._controls, tuple(self._provided)),
                    cpu_shares=cpu_share.SHARES if not limited and engine.limits_cpus else None,
                    nano_cpus=self._nano_cpus if limited and self._nano_cpus else None,
                    mem_limit=self._memory_bytes if limited and self._memory_bytes else None,
                    memswap_limit=self._memory_bytes if limited and self._memory_bytes else None,
                ),
            )
        return str(made["Id"])

    def _accept(self, engine: Engine, name: str, deadline: Deadline) -> socket.socket:
        """The agent's socket, once it has called."""
        while not select.select([self._listeners[name]], [], [], min(_LOOK_S, deadline.remaining_s()))[0]:
            seen = fate(engine, self._containers[name])
            if seen is not None:
                raise DeployError(f"docker: container {name} {seen} before its agent called")
            deadline.check(f"container {name} has not called")
        return self._listeners[name].accept()[0]

    def _fate(self, name: str) -> str:
        """What has become of a container whose agent is gone, for people."""
        engine, container = self._engine, self._containers.get(name)
        if engine is None or container is None:
            return "its container was removed"
        try:
            return f"its container {fate(engine, container, _GONE_TIMEOUT_S) or 'runs, but its agent has ended'}"
        except ChaosError as error:
            return f"its container ended ({error})"

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """See ``Backend.popen_inside``. The child dies with the returned process and with the client's container.

        It enters the client's network, hostname and pids, but not its files and clock; ``cluster.hosts.cpu_share`` says
        what share of the processors it has.
        """
        if not self._namespaces:
            raise DeployError("the client's container is not up; call up() first")
        return popen_entered(self._namespaces, argv, {**env, **run_records.marker(self._run_id)})

    def notes(self) -> Sequence[Note]:
        """See ``Backend.notes``: one machine, one clock, and all of it ends with the containers."""
        return ()

    def check(self) -> None:
        """See ``Backend.check``."""
        for host in self._hosts.values():
            host.check()

    def down(self) -> None:
        """See ``Backend.down``: the agents end, and all with them; then the engine forgets what we made."""
        with self._lock:
            engine, self._engine = self._engine, None
            hosts, self._hosts = self._hosts, {}
            listeners, self._listeners = self._listeners, {}
            namespaces, self._namespaces = self._namespaces, {}
            reaper, self._reaper = self._reaper, None
            record, self._record = self._record, None
            controls, self._controls = self._controls, None
            self._containers = {}
        for fd in namespaces.values():
            os.close(fd)
        for host in hosts.values():
            host.close()
        for listening in listeners.values():
            listening.close()
        try:
            if engine is not None:
                with engine:
                    self._forget(engine)
        finally:
            if reaper is not None:
                reaper.end()
            for host in hosts.values():
                shutil.rmtree(Path(host.home) / "tmp", ignore_errors=True)
            if controls is not None:
                linux.empty_home(controls)
            if record is not None:
                record.unlink(missing_ok=True)

    def _forget(self, engine: Engine) -> None:
        made = cleanup.of_run(engine, self._run_id, run_records.marker(self._run_id)[run_records.OWNER])
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="docker") as pool:
            containers = [each for each in made if each.kind == "container"]
            for done in [pool.submit(cleanup.remove, engine, each) for each in containers]:
                done.result()
        for each in made:
            if each.kind != "container":
                cleanup.remove(engine, each)
