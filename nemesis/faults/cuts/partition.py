"""Cut links, both ways, and show that nothing passes across the cut and everything elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from chaos.core.fault_nature import Colour
from nemesis.faults.fault import Shape
from nemesis.faults.links.link_fault import LinkFault
from nemesis.proof import evidence
from nemesis.targets.grudge import Grudge, Link, bridge, components, majorities_ring
from nemesis.targets.selectors import EXCEPT_ALL, Selector
from nemesis.targets.topology import CONTROLLER


class Partition(LinkFault):
    """All packets on the links of the grudge are dropped where they arrive."""

    name: ClassVar[str] = "partition"
    verb: ClassVar[str] = "cut off"
    help: ClassVar[str] = "cut {} off from the others, both ways"
    selectors: ClassVar[tuple[Selector, ...]] = EXCEPT_ALL
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape("all-partition", Selector.ALL, "cut all nodes off from each other, both ways"),
        Shape(
            "partition-majorities-ring",
            Selector.RING,
            "each node reaches a majority, no two the same: its neighbours in a random ring; 4 nodes or more",
        ),
        Shape(
            "bridge",
            Selector.BRIDGE,
            "two halves that only one random node between them reaches, both ways; 3 nodes or more",
        ),
    )
    cuts: ClassVar[bool] = True
    silences: ClassVar[bool] = True
    recurs: ClassVar[bool] = True
    together: ClassVar[str] = CONTROLLER
    colour: ClassVar[Colour] = "violet"
    arrow: ClassVar[str] = "|"

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:
        """Both sides drop what the other sends."""
        match selector:
            case Selector.RING:
                return majorities_ring(names)
            case Selector.BRIDGE:
                return bridge(names)
            case Selector.ALL:
                return components(*([name] for name in names))
            case _:
                return components(names, [name for name in participants if name not in names])

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Who is on which side."""
        own, rest = " ".join(names), " ".join(others)
        if selector is Selector.RING:
            return f"ring {own}"
        if selector is Selector.BRIDGE:
            middle = len(names) // 2
            return f"{{{' '.join(names[:middle])} | {' '.join(names[middle + 1 :])}}} bridged by {names[middle]}"
        if selector is Selector.ALL:
            return f"{{{' | '.join(names)}}}"
        return f"{{{own} {cls.arrow} {rest}}}"

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Nothing across, everything elsewhere."""
        return evidence.cut(self.hit, self.inside - disturbed, self.others - disturbed, received, sent)
