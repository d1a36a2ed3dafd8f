"""What partition and loss share: rules at the receiving end of each direction, and a probe matrix as proof.

All nodes of the cluster and the client's host take part in the proof, so that it also shows what the fault leaves
alone. Does not judge the counts: ``nemesis.proof.evidence`` does.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from chaos.core.clock import now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Hits
from cluster.host import Capability, Host
from cluster.network import packet_filter, probe_matrix
from nemesis.faults.fault import Fault, Scene, on_each
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.proof import evidence
from nemesis.targets.grudge import Link, all_links, complement, links

PROBES: Final = 20
LOOKS: Final = 3
"""A look at links that should pass is repeated this often before a swallowed probe counts against the proof."""


Judge = Callable[[Mapping[Link, int], int, frozenset[Link]], evidence.Judged]
"""From what arrived, what was sent and the links that other faults hit to evidence."""


class LinkFault(Fault):
    """Rules on links; a subclass says how many probes its proof takes and what the counts must be."""

    hits: ClassVar[Hits] = "links"
    least_s: ClassVar[float] = 2.0
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.IPTABLES})
    probes: ClassVar[int] = PROBES
    done: ClassVar[str] = "dropped"
    """What its rules do to packets."""

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._run_id = scene.cluster.run_id
        self._in_force = scene.in_force
        self._hosts: dict[str, Host] = {node.name: node.host for node in scene.cluster.nodes.values()}
        self.everyone: dict[str, Host] = {**self._hosts, scene.client.name: scene.client}
        targets = scene.targets
        self._rules = {
            name: tuple(self.rule(self._hosts[source].address) for source in sorted(sources))
            for name, sources in targets.grudge.items()
        }
        self.hit: frozenset[Link] = links(targets.grudge)
        self.inside: frozenset[Link] = complement(targets.grudge, targets.participants)
        self.others: frozenset[Link] = all_links(self.everyone) - self.hit - self.inside

    def rule(self, address: str) -> packet_filter.Rule:
        """What a node does to the packets of a peer that the fault catches: drop them all."""
        return packet_filter.Rule(address)

    def act(self) -> None:
        """Put the rules in place on all nodes at once, beside those of other faults in force."""
        self._in_force.disturb(self, self.hit)

        def cut(name: str) -> None:
            self._in_force.hold(self, name, self._rules[name], lambda rules: self._put(name, rules))

        on_each(self._rules, cut, "the packet filter's rules", ACTION_TIMEOUT_S).check("cutting links")

    def _put(self, name: str, rules: tuple[packet_filter.Rule, ...]) -> None:
        if rules:
            packet_filter.apply(self._hosts[name], self._run_id, rules)
        else:
            packet_filter.clear(self._hosts[name], self._run_id)

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """What the counts prove while the fault is in force; ``disturbed`` links are hit by other faults too."""
        raise NotImplementedError

    def verify(self) -> Evidence:
        """Probe every link one way."""
        return self._looked(self.judge, self.probes)

    def verify_still(self) -> Evidence:
        """Ask every packet filter whether the rules are there, whether packets get to them, and what they dropped."""
        found = on_each(
            self._rules,
            lambda name: packet_filter.read_held(self._hosts[name], self._run_id),
            "the packet filter's list",
            ACTION_TIMEOUT_S,
        ).check("looking at the rules")
        return evidence.rules_in_force(self._rules, found, self.done)

    def heal(self) -> None:
        """Remove our rules from every node that got some; the others are done even if one fails."""

        def clear(name: str) -> None:
            self._in_force.release(self, name, lambda rules: self._put(name, rules))

        on_each(self._rules, clear, "the packet filter's clearing", ACTION_TIMEOUT_S).check("healing links")
        self._in_force.calm(self)

    def verify_healed(self) -> Evidence:
        """Probe every link and ask every packet filter for what is left of us."""
        left = on_each(
            self._hosts,
            lambda name: self._in_force.look_at(name, lambda rules: self._left(name, rules)),
            "the packet filter's list",
            ACTION_TIMEOUT_S,
        ).check("looking for rules that are left")
        everything = self.hit | self.inside | self.others

        def judge(received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
            return evidence.judge_whole(everything - disturbed, received, sent, left)

        return self._looked(judge, PROBES)

    def _left(self, name: str, others: tuple[packet_filter.Rule, ...]) -> tuple[str, ...]:
        """What the packet filter of a node holds that no other fault asked for."""
        if not others:
            return packet_filter.own_lines(self._hosts[name])
        return evidence.unasked_rules(packet_filter.counters(self._hosts[name], self._run_id), others)

    def _looked(self, judge: Judge, probes: int) -> Evidence:
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = probe_matrix.measure(self.everyone, probes)
            disturbed = self._in_force.disturbed(self, began_ns)
            judged = judge(seen.received, seen.sent, disturbed)
            judged.evidence.details["looks"] = look
            if not judged.look_again:
                break
        return evidence.beside_others(judged.evidence, disturbed)
