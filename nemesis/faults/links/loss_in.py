"""Drop a share of what the others send to the targets; what these send arrives."""

from collections.abc import Sequence
from typing import ClassVar

from nemesis.faults.links.packet_loss import Loss, LossParams
from nemesis.targets.grudge import Grudge
from nemesis.targets.selectors import Selector


class LossIn(Loss):
    """Loss of one direction: towards the targets."""

    name: ClassVar[str] = "loss-in"
    help: ClassVar[str] = "one way: drop a share of what the others send to {}"
    in_all: ClassVar[bool] = False

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """The targets drop, also what they send each other."""
        return {name: frozenset(participants) - {name} for name in names}

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: LossParams) -> str:  # noqa: ARG003
        """The share and the way."""
        return f"{' '.join(names)}, {params.probability * 100:.4g} % loss of what is sent to them"
