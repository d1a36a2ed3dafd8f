"""``--backend sim``: the whole cluster, its clients and the harness in one process and in simulated time.

The seed of the run decides everything: how long messages and disks take, what is lost, when processes are scheduled. A
run has the same history each time. Only systems that are ``cluster.simulation.core.Simulated`` can run here.
"""

import asyncio
import gc
import itertools
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, Final

from chaos.core import waiting
from chaos.core.client import Client
from chaos.core.clock import NS_PER_S, speed
from chaos.core.errors import UsageError
from chaos.core.events import Note
from cluster.host import Capability, ClientProcess, Host, NodeSpec
from cluster.hosts.addressing import CLIENT, addresses, names_of
from cluster.simulation.commands import Answers
from cluster.simulation.core import HasInvariants, NodeLink, Simulated, SimulatedNode
from cluster.simulation.host import ABLE, SimulatedHost
from cluster.simulation.links import MachineLink
from cluster.simulation.machine import Machine
from cluster.simulation.network import Network, weather_of
from cluster.simulation.virtual_time import BEGIN_NS, VirtualTime
from cluster.system import ClusterView, Probe

_LACKING: Final = "simulated hosts have no {}; use another backend"
TOLD_MOST: Final = 5
"""So many violated invariants of a run are told; what follows from the first is no news."""
_FIRST_PID: Final = 1_000
_GARBAGE: Final = 20_000
"""So many new objects, a few seconds' of simulated time, are looked through at a time."""


@contextmanager
def _rarely_looking_for_garbage() -> Iterator[None]:
    """Else all that this process has loaded is looked through again and again, in a run that leaves little behind."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_GARBAGE, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


class _Wrapped:
    """A system whose clients and probe reach the simulated nodes; all else is the system's own."""

    def __init__(self, system: Simulated, links: Callable[[str], NodeLink]) -> None:
        self._system = system
        self._links = links

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """See ``cluster.system.System``."""
        return self._system.simulated_client(view, number, clients, seed, self._links)

    def probe(self, view: ClusterView) -> Probe:
        """See ``cluster.system.System``."""
        return self._system.simulated_probe(view, self._links)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)


class SimBackend:
    """Hosts that are simulated; implements ``cluster.host.Backend`` and ``cluster.host.RunsHere``."""

    name = "sim"
    help = "simulated hosts, all in one process and in simulated time"
    options: Mapping[str, str] = MappingProxyType({})
    lacks: Mapping[Capability, str] = MappingProxyType(
        {one: _LACKING.format(one) for one in Capability if one not in ABLE}
    )
    on_this_machine = False
    defaults: Mapping[str, Any] = MappingProxyType({"rate": 50.0, "workers": 1, "engine": "local"})
    """Each operation costs real time here, and none is lost by asking seldom: faults come as often."""

    def __init__(self) -> None:
        self._time: VirtualTime | None = None
        self._network: Network | None = None
        self._machines: dict[str, Machine] = {}
        self._system: Simulated | None = None
        self._seed = 0
        self._answers: Answers = {}
        self.simulated_s = 0.0
        self._say: Callable[[str], None] = lambda _: None
        self.broken: Sequence[str] = ()

    @contextmanager
    def keeping_time(self, system: object, seed: int, say: Callable[[str], None], answers: Answers) -> Iterator[None]:
        """See ``cluster.host.RunsHere``."""
        if not isinstance(system, Simulated):
            name = getattr(system, "name", type(system).__name__)
            raise UsageError(f"--backend sim: {name} runs as processes only; see docs/guide/simulate.md")
        self._system, self._seed, self._time = system, seed, VirtualTime()
        self._answers = answers
        self._say, self.broken = say, ()
        began_s = time.perf_counter()
        try:
            with _rarely_looking_for_garbage(), waiting.kept_by(self._time):
                yield
        finally:
            took_s = time.perf_counter() - began_s
            self.simulated_s = virtual_s = (self._time.now_ns() - BEGIN_NS) / NS_PER_S
            self._time.close()
            system.end_simulation()
            if virtual_s:
                say(f"sim      {virtual_s:.1f} s of simulated time in {took_s:.2f} s: {speed(virtual_s, took_s)}")

    def _kept(self) -> VirtualTime:
        if self._time is None:
            raise UsageError("--backend sim: only for whole runs; a cluster by hand needs real time")
        return self._time

    def prepare(self, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:  # noqa: ARG002
        """Nothing has to be made; a cluster by hand is refused."""
        self._kept()

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:  # noqa: ARG002 - no folder
        """A simulated host for each node and one for the clients."""
        keeper, system = self._kept(), self._system
        assert system is not None
        weather = weather_of(self._seed)
        self._network = network = Network(keeper, weather, Random(f"{self._seed}/network"))
        pids = itertools.count(_FIRST_PID)
        watch = self._watch(system)
        hosts: dict[str, SimulatedHost] = {}
        self._machines = {}
        for name, address in addresses(names_of(run_id, specs)).items():
            network.join(name, address)
            machine = None
            if name != CLIENT:
                machine = self._machines[name] = Machine(
                    name, str(self._seed), system.simulated_node, keeper, network, weather, self._machines
                )
                machine.watch = watch
            hosts[name] = SimulatedHost(name, address, network, machine, lambda: next(pids), self._answers)
        by_address = {host.address: host for host in hosts.values()}
        for host in hosts.values():
            host.meet(by_address)
        return hosts

    def _watch(self, system: Simulated) -> Callable[[SimulatedNode], None]:
        """Tells of invariants that do not hold, a few times."""
        if not isinstance(system, HasInvariants):
            return lambda _: None
        look = system.invariants()

        def watch(node: SimulatedNode) -> None:
            broken = look(node)
            if broken is not None and broken not in self.broken and len(self.broken) < TOLD_MOST:
                self.broken = *self.broken, broken
                self._say(f"broken   invariant: {broken}")

        return watch

    def provide(self, source: Path) -> str:  # noqa: ARG002 - nodes are made of modules that are loaded here
        """Nodes need no folder."""
        return "/simulated"

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> ClientProcess:  # noqa: ARG002
        """Processes cannot live in simulated time.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"--backend sim: {' '.join(argv)} would be a process; nothing is one here")

    def run_here(self, body: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """See ``cluster.host.RunsHere``."""
        return self._kept().loop.create_task(body)

    def seen_from_inside(self, system: Any) -> Any:
        """See ``cluster.host.RunsHere``."""
        return _Wrapped(system, self._link)

    def _link(self, address: str) -> NodeLink:
        assert self._network is not None
        return MachineLink(self._machines[self._network.name_at(address)], self._network, self._kept())

    def check(self) -> None:
        """Nothing goes away by itself."""

    def down(self) -> None:
        """Let the cluster go."""
        self._machines = {}

    def notes(self) -> Sequence[Note]:
        """Nothing happens to such hosts."""
        return ()
