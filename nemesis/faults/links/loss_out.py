"""Drop a share of what the targets send to the others; what is sent to them arrives."""

from collections.abc import Sequence
from typing import ClassVar

from nemesis.faults.links.packet_loss import Loss, LossParams
from nemesis.targets.grudge import Grudge, one_way
from nemesis.targets.selectors import Selector


class LossOut(Loss):
    """Loss of one direction: from the targets, dropped where it arrives."""

    name: ClassVar[str] = "loss-out"
    help: ClassVar[str] = "one way: drop a share of what the others receive from {}"
    in_all: ClassVar[bool] = False

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Everybody drops what the targets send."""
        return {name: dropped for name, dropped in one_way(names, participants).items() if dropped}

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: LossParams) -> str:  # noqa: ARG003
        """The share and the way."""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % loss of what they send"
