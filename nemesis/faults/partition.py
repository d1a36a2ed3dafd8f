"""Cut links, both ways or one, and show that nothing passes across the cut and everything elsewhere."""

from collections.abc import Mapping
from typing import ClassVar

from nemesis.faults.links import LinkFault
from nemesis.plan.catalog import Kind
from nemesis.proof import evidence
from nemesis.targets.grudge import Link


class Partition(LinkFault):
    """All packets on the links of the grudge are dropped where they arrive."""

    kind: ClassVar[Kind] = Kind.PARTITION

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Nothing across, everything elsewhere."""
        return evidence.cut(self.hit, self.inside - disturbed, self.others - disturbed, received, sent)


class PartitionIn(Partition):
    """The same, where the grudge names one direction only: what is sent to the targets."""

    kind: ClassVar[Kind] = Kind.PARTITION_IN


class PartitionOut(Partition):
    """The same, where the grudge names one direction only: what the targets send."""

    kind: ClassVar[Kind] = Kind.PARTITION_OUT
