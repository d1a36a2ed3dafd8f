"""Set the wall clock of nodes forward or back, and back again at the fault's end."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from chaos.core.clock import NS_PER_S
from nemesis.faults.clocks.clock_fault import ClockFault
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.clocks.readings import Reading, ahead_by
from nemesis.faults.fault import Fact

MOST_S = 1e8
"""About three years."""


class ClockJumpParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far."""

    seconds: Annotated[
        float,
        Meta(ge=-MOST_S, le=MOST_S, description="so far ahead; below 0 behind, 0 does nothing", extra={"unit": "s"}),
    ] = 60.0


class ClockJump(ClockFault):
    """All targets have the same other time."""

    name: ClassVar[str] = "clock-jump"
    verb: ClassVar[str] = "given another time"
    help: ClassVar[str] = "set the wall clock of {} forward or back"
    Params: ClassVar[type[msgspec.Struct]] = ClockJumpParams

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How far."""
        return f"{' '.join(names)}, clock {params.seconds:+g} s"

    def shift(self, name: str) -> Shift | None:  # noqa: ARG002 - the same for all
        """See ``ClockFault``."""
        return Shift(base_ns=self.least_ns()) if self.least_ns() else None

    def judge(self, name: str, pid: int, reading: Reading) -> Fact:  # noqa: ARG002
        """See ``ClockFault``."""
        return ahead_by(reading, self.least_ns(), self.least_ns())

    def least_ns(self) -> int:
        """The jump."""
        return round(float(self.params.seconds) * NS_PER_S)
