"""Let the wall clock of nodes run too fast or too slow."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from chaos.core.clock import NS_PER_S
from nemesis.faults.clocks.clock_fault import ClockFault
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.clocks.readings import Reading, runs_at
from nemesis.faults.fault import Fact, Scene


class ClockDriftParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fast."""

    ppm: Annotated[
        float,
        Meta(
            ge=-500_000,
            le=500_000,
            description="it gains so many millionths of the time that passes, 10000 are 1 %; below 0 it loses, 0 does "
            "nothing",
            extra={"unit": "ppm"},
        ),
    ] = 10_000.0


class ClockDrift(ClockFault):
    """The clock is right when the fault begins, and jumps back to what is right at its end."""

    name: ClassVar[str] = "clock-drift"
    verb: ClassVar[str] = "given a clock that drifts"
    help: ClassVar[str] = "make the wall clock of {} run too fast or too slow"
    Params: ClassVar[type[msgspec.Struct]] = ClockDriftParams

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._first: dict[tuple[str, int], Reading] = {}

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How fast."""
        return f"{' '.join(names)}, clock {params.ppm:+g} ppm"

    def shift(self, name: str) -> Shift | None:  # noqa: ARG002 - the same for all
        """See ``ClockFault``."""
        return Shift(rate=self._rate) if self._rate else None

    def judge(self, name: str, pid: int, reading: Reading) -> Fact:
        """See ``ClockFault``. The last look goes on from the first one: the longer it is, the more it tells."""
        first = self._first.setdefault((name, pid), reading)
        samples = first.samples if first is reading else (*first.samples, *reading.samples)
        return runs_at(msgspec.structs.replace(reading, samples=samples), self._rate)

    def least_ns(self) -> int:
        """What it gains in a second."""
        return round(abs(self._rate) * NS_PER_S)

    def span_s(self, *, quick: bool) -> float:
        """See ``ClockFault``."""
        return super().span_s(quick=quick) if quick else 1.0

    @property
    def _rate(self) -> float:
        return float(self.params.ppm) / 1e6
