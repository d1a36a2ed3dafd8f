"""What faults of nodes share that are done to the host itself instead of its process: ``--kill container``.

A host that is killed or stopped loses its processes and what its memory held; its home stays. It is started again at
the fault's end or, restarted, at once, and its process with it. A frozen host runs nothing at all, not even what would
answer for it, so the proof comes from who runs it. Each is in the module of the fault that it stands for.
"""

from collections.abc import Callable
from typing import ClassVar, Final

from chaos.core.events import Evidence
from chaos.core.fault_nature import Hits
from cluster.cluster import Node
from cluster.host import Capability, Host, Machine, MachineState
from cluster.nodes import process
from nemesis.faults.bring_back import Restarts
from nemesis.faults.fault import Fact, Fault, Scene, look_then_act, on_each
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S
from nemesis.proof import evidence
from nemesis.targets.grudge import all_links

ENDED: Final = "had ended already, so nothing was done to it"


class MachineFault(Fault):
    """The hosts of some nodes; a subclass says what is done to them."""

    hits: ClassVar[Hits] = "nodes"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.MACHINE})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._restarts = Restarts(scene.cluster.run_id, scene.serve_within_s)
        self._wait_s = scene.serve_within_s + ACTION_TIMEOUT_S
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self._before: dict[str, MachineState] = {}
        self._in_force = scene.in_force
        self._missing: dict[str, str] = {}
        everyone = (*scene.cluster.nodes, scene.client.name)
        self._hit = frozenset(link for link in all_links(everyone) if not self._nodes.keys().isdisjoint(link))

    def _take(self, action: Callable[[Node], object], what: str) -> None:
        """Look at all hosts, then do it to all at once: from now on nothing answers on their links."""
        self._in_force.disturb(self, self._hit)
        look_then_act(
            self._nodes,
            lambda name: self._remember(self._nodes[name]),
            lambda name, _: action(self._nodes[name]),
            what,
            ACTION_TIMEOUT_S,
        ).check(what)

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


def machine_at(host: Host) -> Machine:
    """The host as a machine; whoever plans such a fault has asked for ``Capability.MACHINE``."""
    assert host.machine is not None
    return host.machine


def machine_of(node: Node) -> Machine:
    """The node's host as a machine."""
    return machine_at(node.host)
