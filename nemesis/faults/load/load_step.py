"""More load for a while, to see whether the system serves as before once it is gone, or stays behind.

Clients begin so many times as many operations, by the schedule that the plan decides before the load begins; the fault
itself acts not at all, it looks at how many were begun. What becomes of them the checks judge: a system that does not
recover from a step of load alone is metastable (Bronson et al., HotOS 2021).
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core import waiting
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.host import Capability
from nemesis.faults.fault import Fault, Scene, Shape
from nemesis.targets.selectors import Selector

KIND: Final = "operations"
WATCH_S: Final = 2.0
"""So long operations are counted."""
TELL_S: Final = 0.5
"""What workers have begun is known by then."""


class LoadStepParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much more."""

    factor: Annotated[float, Meta(ge=1, le=100, description="so many times the load; 1 changes nothing")] = 3.0


class LoadStep(Fault):
    """A step of the load of all clients."""

    name: ClassVar[str] = "load-step"
    verb: ClassVar[str] = "under more load"
    help: ClassVar[str] = "raise the load on {}"
    hits: ClassVar[Hits] = "client"
    needs: ClassVar[frozenset[Capability]] = frozenset()
    Params: ClassVar[type[msgspec.Struct]] = LoadStepParams
    selectors: ClassVar[tuple[Selector, ...]] = ()
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape("load-step", Selector.ALL, "raise the load of all clients, and lower it again"),
    )
    colour: ClassVar[Colour] = "grey"
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 2 * WATCH_S + TELL_S

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._load = scene.load

    @classmethod
    def load_factor(cls, params: Any) -> float:
        """As asked."""
        return float(params.factor)

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How much."""
        return f"{params.factor:g} times the load"

    def act(self) -> None:
        """Nothing: the schedule has it."""

    def verify(self) -> Evidence:
        """Count what is begun."""
        waiting.sleep(TELL_S)
        return self._more(wanted=True)

    def verify_still(self) -> Evidence:
        """Count again."""
        return self._more(wanted=True)

    def last_look_s(self) -> float:
        """Counting takes so long."""
        return WATCH_S

    def heal(self) -> None:
        """Nothing: the schedule has it."""

    def verify_healed(self) -> Evidence:
        """Count what is begun now."""
        waiting.sleep(TELL_S)
        return self._more(wanted=False)

    def _more(self, *, wanted: bool) -> Evidence:
        before, began_ns = self._load.begun(), now_ns()
        waiting.sleep(WATCH_S)
        begun_s = (self._load.begun() - before) * NS_PER_S / max(1, now_ns() - began_ns)
        return judge(begun_s, self._load.due_s, self.params.factor, wanted=wanted)


def judge(begun_s: float, due_s: float, factor: float, *, wanted: bool) -> Evidence:
    """Pure: whether so many operations a second are, by factors, nearer to the step than to the usual, or are not."""
    more = factor > 1 and begun_s > due_s * math.sqrt(factor)
    said = f"{begun_s:,.0f} operations a second are begun, {due_s:,.0f} are due without it"
    if factor <= 1 and wanted:
        said = "the load is as usual: factor is 1"
    return Evidence(kind=KIND, proven=more is wanted, summary=said)
