"""Have the wall clocks of nodes disagree: each is off by another amount."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.clock import NS_PER_S
from nemesis.faults.clocks.clock_fault import ClockFault
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.clocks.readings import Reading, ahead_by
from nemesis.faults.fault import Fact, Scene

_MOST_S: Final = 1e8


class ClockOffsetParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far at most."""

    seconds: Annotated[
        float,
        Meta(ge=0, le=_MOST_S, description="so far at most, ahead or behind; 0 does nothing", extra={"unit": "s"}),
    ] = 5.0


class ClockOffset(ClockFault):
    """One after the other the targets are ahead and behind, two of them by all of it, the others by parts of it."""

    name: ClassVar[str] = "clock-offset"
    verb: ClassVar[str] = "given clocks that disagree"
    help: ClassVar[str] = "make the wall clocks of {} disagree, each by an offset of its own"
    Params: ClassVar[type[msgspec.Struct]] = ClockOffsetParams

    def __init__(self, scene: Scene) -> None:
        """Give each target its offset."""
        super().__init__(scene)
        names = scene.targets.names
        self._ns: dict[str, int] = {
            name: round(share * float(self.params.seconds) * NS_PER_S) for name, share in _shares(names).items()
        }

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Each offset."""
        return ", ".join(f"{name} clock {share * params.seconds:+.3g} s" for name, share in _shares(names).items())

    def shift(self, name: str) -> Shift | None:
        """See ``ClockFault``."""
        return Shift(base_ns=self._ns[name]) if self._ns[name] else None

    def judge(self, name: str, pid: int, reading: Reading) -> Fact:  # noqa: ARG002 - all processes of a node alike
        """See ``ClockFault``."""
        return ahead_by(reading, self._ns[name], self._ns[name])

    def least_ns(self) -> int:
        """The smallest offset."""
        return min(abs(offset) for offset in self._ns.values())


def _shares(names: Sequence[str]) -> dict[str, float]:
    """Pure: what part of the greatest offset each target has: no two have the same, and none has none."""
    steps = (len(names) + 1) // 2
    return {name: (-1) ** place * (steps - place // 2) / steps for place, name in enumerate(names)}
