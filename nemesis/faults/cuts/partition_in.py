"""Drop what the others send to the targets, and let through what these answer."""

from collections.abc import Sequence
from typing import ClassVar

from nemesis.faults.cuts.partition import Partition
from nemesis.faults.fault import Shape
from nemesis.targets.grudge import Grudge, one_way
from nemesis.targets.selectors import EXACT, Selector


class PartitionIn(Partition):
    """A cut of one direction."""

    name: ClassVar[str] = "partition-in"
    help: ClassVar[str] = "one way: drop what the others send to {}"
    selectors: ClassVar[tuple[Selector, ...]] = EXACT
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape(
            "one-way-partition",
            Selector.RANDOM,
            "one way: drop what the others send to a random number of random nodes",
        ),
    )
    silences: ClassVar[bool] = False
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    arrow: ClassVar[str] = "<-/-"

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """The receivers drop what the senders send."""
        others = [name for name in participants if name not in names]
        return one_way(others, names)
