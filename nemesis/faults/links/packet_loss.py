"""Drop a share of the packets on links, each way, and show that the share is the one that was asked for."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from chaos.core.clock import now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.host import Capability
from cluster.network import probe_matrix
from cluster.network.packet_filter import Rule
from nemesis.faults.links.zero_probability import IdleAtZero
from nemesis.proof import evidence
from nemesis.targets.grudge import Grudge, Link, links_touching
from nemesis.targets.selectors import Selector


class LossParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is lost."""

    probability: Annotated[
        float, Meta(ge=0, le=1, description="share of the packets that each direction loses; 0 does nothing")
    ] = 0.8


class Loss(IdleAtZero):
    """Each packet on the links of the grudge is dropped, by itself, with the same probability."""

    name: ClassVar[str] = "loss"
    verb: ClassVar[str] = "hit"
    help: ClassVar[str] = "drop a share of the packets on every link of {}, each way"
    Params: ClassVar[type[msgspec.Struct]] = LossParams
    colour: ClassVar[Colour] = "green"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.IPTABLES, Capability.STATISTIC})
    probes: ClassVar[int] = 200

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Every link of the targets, each way."""
        return links_touching(names, participants)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: LossParams) -> str:  # noqa: ARG003
        """The share."""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % loss each way"

    def rule(self, address: str) -> Rule:
        """Drop the share of what the peer sends."""
        return Rule(address, "INPUT", self.params.probability)

    def verify(self) -> Evidence:
        """Probe every link one way; where other faults hit every link of this one, its rules are looked at instead."""
        if not self.idle and self.hit <= self._in_force.disturbed(self, now_ns()):
            return self.verify_still()
        return super().verify()

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Within the exact binomial bounds on each link that is hit, everything elsewhere."""
        bounds = probe_matrix.binomial_bounds(sent, 1.0 - self.params.probability)
        return evidence.judge_lossy(
            self.hit - disturbed, (self.inside | self.others) - disturbed, received, sent, bounds
        )
