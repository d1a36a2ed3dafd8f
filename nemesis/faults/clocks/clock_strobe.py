"""Set the wall clock of nodes there and back, many times a second."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.clock import NS_PER_S
from nemesis.faults.clocks.clock_fault import ClockFault
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.clocks.readings import Reading, swings_to
from nemesis.faults.fault import Fact

_MOST_S: Final = 1e8


class ClockStrobeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far, and how often."""

    seconds: Annotated[
        float,
        Meta(ge=-_MOST_S, le=_MOST_S, description="so far ahead; below 0 behind, 0 does nothing", extra={"unit": "s"}),
    ] = 60.0
    period_ms: Annotated[
        float,
        Meta(ge=1, le=1_000, description="there and back once in so long, half of it each", extra={"unit": "ms"}),
    ] = 100.0


class ClockStrobe(ClockFault):
    """All processes of a target are there and back at the same moments."""

    name: ClassVar[str] = "clock-strobe"
    verb: ClassVar[str] = "given a clock that jumps to and fro"
    help: ClassVar[str] = "set the wall clock of {} forth and back many times a second"
    Params: ClassVar[type[msgspec.Struct]] = ClockStrobeParams

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How far, and how often."""
        return f"{' '.join(names)}, clock {params.seconds:+g} s and back every {params.period_ms:g} ms"

    def shift(self, name: str) -> Shift | None:  # noqa: ARG002 - the same for all
        """See ``ClockFault``."""
        half_ns = round(self.params.period_ms * 1e6 / 2)
        return Shift(delta_ns=self.least_ns(), half_ns=half_ns) if self.least_ns() else None

    def judge(self, name: str, pid: int, reading: Reading) -> Fact:  # noqa: ARG002
        """See ``ClockFault``."""
        return swings_to(reading, self.least_ns())

    def least_ns(self) -> int:
        """How far it jumps."""
        return round(float(self.params.seconds) * NS_PER_S)

    def span_s(self, *, quick: bool) -> float:
        """See ``ClockFault``; some periods, so that both sides come."""
        return max(super().span_s(quick=quick), float(self.params.period_ms) / 1e3 * (1.1 if quick else 3))
