"""What kill and suspend share: the targets' processes as they were before, and looks at all of them at once.

A process is known by pid and start time, so neither a reused pid nor a restart by something else (a supervisor)
passes for it. The module does not send signals.
"""

from collections.abc import Callable
from typing import ClassVar, Final, TypeVar

from chaos.core.errors import DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Hits
from chaos.core.node_notes import ENDED
from cluster.cluster import Node
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Fault, Scene, look_then_act, on_each
from nemesis.proof import evidence

ACTION_TIMEOUT_S: Final = 30.0
S = TypeVar("S")


class ProcessFault(Fault):
    """The processes of some nodes; a subclass says what is done to them."""

    hits: ClassVar[Hits] = "nodes"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self.run_id = scene.cluster.run_id
        self.nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self.before: dict[str, ProcState] = {}

    def on_all(self, action: Callable[[Node], object], what: str, timeout_s: float = ACTION_TIMEOUT_S) -> None:
        """Do something to all targets at once.

        Raises:
            ChaosError: naming the targets on which it failed; the others have been acted on.
        """
        on_each(self.nodes, lambda name: action(self.nodes[name]), what, timeout_s).check(what)

    def look_and_act(
        self,
        look: Callable[[Node], S],
        action: Callable[[Node, S], object],
        what: str,
        timeout_s: float = ACTION_TIMEOUT_S,
    ) -> None:
        """Look at all targets, and once all have been looked at do something to all at once.

        Raises:
            ChaosError: naming the targets on which either failed; the others have been acted on.
        """
        look_then_act(
            self.nodes,
            lambda name: look(self.nodes[name]),
            lambda name, seen: action(self.nodes[name], seen),
            what,
            timeout_s,
        ).check(what)

    def remember(self, node: Node) -> ProcState:
        """Look at a target just before it is acted on; one that something else has started anew is the target now."""
        seen = process.state(node)
        if seen.successor is not None and process.adopt(node) is not None:
            seen = process.state(node)
        self.before[node.name] = seen
        return seen

    def remember_alive(self, node: Node) -> ProcState:
        """Look at a target just before it is acted on. Raises DeployError: it has no process."""
        seen = self.remember(node)
        if not seen.alive or seen.pid is None or seen.start_time is None:
            raise DeployError("has no process")
        return seen

    def same(self, name: str, now: ProcState) -> bool:
        """Whether it is the process that was remembered."""
        before = self.before.get(name)
        return before is not None and (now.pid, now.start_time) == (before.pid, before.start_time)

    def is_it(self, name: str, now: ProcState) -> bool:
        """Whether a target lives and is the process that was remembered."""
        return now.alive and now.pid is not None and self.same(name, now)

    def look(
        self, fact: Callable[[str, ProcState], Fact], why_not: Callable[[str, ProcState], str] | None = None
    ) -> Evidence:
        """Look at /proc of all targets and put the facts together.

        Args:
            fact: of one target.
            why_not: of a target that a heal did not bring back: whose doing that is, in the words of
                ``chaos.core.node_notes``.
        """
        states = on_each(self.nodes, lambda name: process.state(self.nodes[name]), "a look at /proc", ACTION_TIMEOUT_S)
        facts, seen = states.facts(fact), states.good()
        details: dict[str, object] = {"before": _plain(self.before), "seen": _plain(seen)}
        if why_not is not None:
            details["failed"] = {
                name: why_not(name, seen[name]) if name in seen else "could not be looked at"
                for name, (good, _) in facts.items()
                if not good
            }
        return evidence.each_node(facts, details)

    def look_undone(self, undone: Callable[[str, ProcState], Fact]) -> Evidence:
        """Look whether targets are what they were, once they are healed; ``undone``: whether one is as before."""

        def fact(name: str, now: ProcState) -> Fact:
            if not now.alive or now.pid is None:
                return False, "is dead"
            if name in self.before and not self.same(name, now):
                return False, f"is another process now, pid {now.pid}"
            return undone(name, now)

        def why_not(name: str, now: ProcState) -> str:
            return ENDED if name in self.before and self.before[name].alive and not now.alive else "not as it was"

        return self.look(fact, why_not)


def _plain(states: dict[str, ProcState]) -> dict[str, dict[str, object]]:
    return {
        name: {"alive": state.alive, "stopped": state.stopped, "pid": state.pid, "start_time": state.start_time}
        for name, state in states.items()
    }
