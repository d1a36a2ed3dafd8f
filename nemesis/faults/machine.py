"""Faults of nodes done to the host itself instead of its process or its link: ``--kill container``.

A host that is killed or stopped loses its processes and what its memory held; its home stays. It is started again at
the fault's end or, restarted, at once, and its process with it. A frozen host runs nothing at all, not even what would
answer for it, so the proof comes from who runs it; one off its network is proven by probes. The module refuses hosts
that are not machines of somebody's.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, Literal

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import Evidence
from chaos.core.node_notes import ENDED as ENDED_BY_ITSELF
from cluster.cluster import Node
from cluster.host import Capability, Host, Machine, MachineState
from cluster.nodes import process
from nemesis.faults.disconnect import Disconnect
from nemesis.faults.fault import Fact, Fault, Scene, on_each, registered
from nemesis.faults.processes import ACTION_TIMEOUT_S
from nemesis.faults.registry import FAULTS
from nemesis.faults.restarts import Restarts
from nemesis.plan.catalog import Kind
from nemesis.proof import evidence
from nemesis.targets.grudge import all_links

ENDED: Final = "had ended already, so nothing was done to it"


class MachineFault:
    """The hosts of some nodes; a subclass says what is done to them."""

    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.MACHINE})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        self._restarts = Restarts(scene.cluster.run_id, scene.serve_within_s)
        self._wait_s = scene.serve_within_s + ACTION_TIMEOUT_S
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self._before: dict[str, MachineState] = {}
        self._in_force = scene.in_force
        self._missing: dict[str, str] = {}
        everyone = (*scene.cluster.nodes, scene.client.name)
        self._hit = frozenset(link for link in all_links(everyone) if not self._nodes.keys().isdisjoint(link))

    def _take(self, action: Callable[[Node], object], what: str) -> None:
        """Do it to all hosts at once: from now on nothing answers on their links."""
        self._in_force.disturb(self, self._hit)
        self._on_all(action, what)

    def _give_back(self, action: Callable[[Node], object], what: str, timeout_s: float = ACTION_TIMEOUT_S) -> None:
        self._on_all(action, what, timeout_s)
        self._in_force.calm(self)

    def _on_all(self, action: Callable[[Node], object], what: str, timeout_s: float = ACTION_TIMEOUT_S) -> None:
        on_each(self._nodes, lambda name: action(self._nodes[name]), what, timeout_s).check(what)

    def _remember(self, node: Node) -> None:
        self._before[node.name] = machine_of(node).state()

    def _look(self, fact: Callable[[str, MachineState], Fact]) -> Evidence:
        states = on_each(
            self._nodes, lambda name: machine_of(self._nodes[name]).state(), "a look at the host", ACTION_TIMEOUT_S
        )
        return evidence.each_node(states.facts(fact), {"failed": dict(self._missing)} if self._missing else None)

    def _with_its_process(self, name: str) -> Fact:
        """Of a host that runs again: whether its process does."""
        state = process.state(self._nodes[name])
        if not state.alive:
            self._missing[name] = self._why_not(name)
        return state.alive, f"runs again, pid {state.pid} {'lives' if state.alive else 'is dead'}"

    def _why_not(self, name: str) -> str:
        """Whose doing it is that the process on a host that runs again does not."""
        return self._restarts.why_not(name, alive=False)

    def _not_running(self, name: str) -> Fact:
        self._missing[name] = "its host does not run"
        return False, "does not run"


class MachineKill(MachineFault):
    """The host of each target ends at once and is started again."""

    kind: ClassVar[Kind] = Kind.KILL

    def act(self) -> None:
        """End all hosts at once."""
        self._take(self._end, "ending the host")

    def _end(self, node: Node) -> None:
        self._remember(node)
        machine_of(node).kill()

    def verify(self) -> Evidence:
        """Each host that ran before does not run."""
        return self._look(lambda name, now: self._ended(name, now, "ended as a whole"))

    def verify_still(self) -> Evidence:
        """Look at the same, just before the start."""
        return self._look(lambda name, now: self._ended(name, now, "has not run since"))

    def _ended(self, name: str, now: MachineState, word: str) -> Fact:
        before = self._before.get(name)
        if before is None or not before.running:
            return False, ENDED
        if now.running or now.started != before.started:
            return False, "runs"
        return True, word

    def heal(self) -> None:
        """Start every host and its process, and wait until that serves."""

        def start(node: Node) -> None:
            machine_of(node).start()
            self._restarts.bring_back(node)

        self._give_back(start, "starting the host", self._wait_s)

    def verify_healed(self) -> Evidence:
        """Each host runs, and its process with it."""
        self._missing = {}
        return self._look(lambda name, now: self._with_its_process(name) if now.running else self._not_running(name))


class MachineStop(MachineKill):
    """The host of each target is asked to end, and is started again."""

    kind: ClassVar[Kind] = Kind.STOP

    def _end(self, node: Node) -> None:
        self._remember(node)
        machine_of(node).stop(process.GRACE_S)


class MachineRestart(MachineKill):
    """The host of each target is asked to end and started again at once, and its process with it."""

    kind: ClassVar[Kind] = Kind.RESTART

    def _end(self, node: Node) -> None:
        self._remember(node)
        machine_of(node).restart(process.GRACE_S)
        self._restarts.start(node)

    def verify(self) -> Evidence:
        """Each host that ran before is another now."""
        return self._look(lambda name, now: self._another(name, now, "was started anew as a whole"))

    def verify_still(self) -> Evidence:
        """Look at the same, just before its process is waited for."""
        return self._look(lambda name, now: self._another(name, now, "runs"))

    def _another(self, name: str, now: MachineState, word: str) -> Fact:
        before = self._before.get(name)
        if before is None or not before.running:
            return False, ENDED
        if now.started == before.started:
            return False, "was never ended"
        return now.running, word if now.running else "does not run"


class MachineDisconnect(Disconnect):
    """The host of each target is not in its network."""

    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.MACHINE})

    def unplug(self, host: Host) -> None:
        """See ``Disconnect``."""
        machine_at(host).unplug()

    def plug(self, host: Host) -> None:
        """See ``Disconnect``."""
        machine_at(host).plug()

    def plugged(self, host: Host) -> bool:
        """See ``Disconnect``."""
        return machine_at(host).state().plugged


class MachineFreeze(MachineFault):
    """The host of each target stands still and goes on."""

    kind: ClassVar[Kind] = Kind.SUSPEND

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._frozen_ns: dict[str, int] = {}

    def act(self) -> None:
        """Freeze all hosts at once."""

        def freeze(node: Node) -> None:
            self._remember(node)
            machine_of(node).freeze()
            self._frozen_ns[node.name] = now_ns()

        self._take(freeze, "freezing the host")

    def verify(self) -> Evidence:
        """Each host is frozen, and is the one it was."""
        return self._look(self._stands)

    def verify_still(self) -> Evidence:
        """Look at the same, just before they go on."""
        return self._look(self._stands)

    def _stands(self, name: str, now: MachineState) -> Fact:
        before = self._before.get(name)
        if before is None or not before.running:
            return False, ENDED
        if now.started != before.started or not now.running:
            return False, "is not the host that it was"
        stands_s = (now_ns() - self._frozen_ns.get(name, now_ns())) / NS_PER_S
        return now.frozen, f"is frozen as a whole for {stands_s:.1f} s" if now.frozen else "runs"

    def heal(self) -> None:
        """Let every host go on; fine if it was never frozen, or has ended."""
        self._give_back(lambda node: machine_of(node).thaw(), "thawing the host")

    def verify_healed(self) -> Evidence:
        """Each host runs, and its process has lived through it."""
        self._missing = {}

        def healed(name: str, now: MachineState) -> Fact:
            runs = now.running and not now.frozen
            return self._with_its_process(name) if runs else self._not_running(name)

        return self._look(healed)

    def _why_not(self, name: str) -> str:
        """It lived when its host was frozen, and nothing has ended it."""
        return ENDED_BY_ITSELF if name in self._frozen_ns else "not as it was"


def machine_at(host: Host) -> Machine:
    """The host as a machine; whoever plans such a fault has asked for ``Capability.MACHINE``."""
    assert host.machine is not None
    return host.machine


def machine_of(node: Node) -> Machine:
    """The node's host as a machine."""
    return machine_at(node.host)


_ON_MACHINES: Final = registered(MachineKill, MachineStop, MachineRestart, MachineFreeze, MachineDisconnect)


def faults_on(what: Literal["process", "container"]) -> Mapping[Kind, type[Fault]]:
    """The faults by kind, with those of nodes done to that."""
    return FAULTS if what == "process" else {**FAULTS, **_ON_MACHINES}
