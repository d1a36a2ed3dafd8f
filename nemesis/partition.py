"""Cut links, both ways or one, and show that nothing passes across the cut and everything elsewhere."""

from collections.abc import Mapping
from typing import ClassVar

from nemesis import proof
from nemesis.catalog import Kind
from nemesis.grudge import Link
from nemesis.links import LinkFault


class Partition(LinkFault):
    """All packets on the links of the grudge are dropped where they arrive."""

    kind: ClassVar[Kind] = Kind.PARTITION

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> proof.Judged:
        """Nothing across, everything elsewhere."""
        return proof.cut(self.hit, self.inside - disturbed, self.others - disturbed, received, sent)


class PartitionIn(Partition):
    """The same, where the grudge names one direction only: what is sent to the targets."""

    kind: ClassVar[Kind] = Kind.PARTITION_IN


class PartitionOut(Partition):
    """The same, where the grudge names one direction only: what the targets send."""

    kind: ClassVar[Kind] = Kind.PARTITION_OUT
