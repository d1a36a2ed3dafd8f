"""Drop a share of the packets on links, each way, and show that the share is the one that was asked for."""

from collections.abc import Mapping
from typing import ClassVar

from chaos.core.clock import now_ns
from chaos.core.events import Evidence
from cluster.host import Capability
from cluster.network import probe_matrix
from nemesis.faults.fault import Scene
from nemesis.faults.links import LinkFault
from nemesis.plan.catalog import Kind
from nemesis.proof import evidence
from nemesis.targets.grudge import Link


class Loss(LinkFault):
    """Each packet on the links of the grudge is dropped, by itself, with the targets' probability."""

    kind: ClassVar[Kind] = Kind.LOSS
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.IPTABLES, Capability.STATISTIC})
    probes: ClassVar[int] = 200

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        assert scene.targets.probability is not None, "loss has a probability"
        self._passing = 1.0 - scene.targets.probability

    def verify(self) -> Evidence:
        """Probe every link one way; where other faults hit every link of this one, its rules are looked at instead."""
        if self.hit <= self._in_force.disturbed(self, now_ns()):
            return self.verify_still()
        return super().verify()

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Within the exact binomial bounds on each link that is hit, everything elsewhere."""
        bounds = probe_matrix.binomial_bounds(sent, self._passing)
        return evidence.lossy(self.hit - disturbed, (self.inside | self.others) - disturbed, received, sent, bounds)
