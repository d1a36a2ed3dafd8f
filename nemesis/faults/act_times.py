"""When each node was acted on: noted while a fault acts, so that its evidence says how far apart that was.

``on_each`` of ``nemesis.faults.fault`` notes; whoever has a fault act listens. The harness knows when it began to act
on a node and when that was done, by one clock; when it came to pass there lies between the two.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

SPREAD: Final = "spread_ms"
"""The name of this in the details of evidence."""

_NS_PER_MS: Final = 1_000_000


class Span(NamedTuple):
    """When something began on a node and when it was done, in ns."""

    began_ns: int
    done_ns: int


class ActTimes:
    """The steps of one act: what was done, and when on each node."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self._steps: dict[str, tuple[Span, ...]] = {}

    def note(self, step: str, spans: tuple[Span, ...]) -> None:
        """A step that was done on several nodes at once."""
        self._steps[step] = spans

    def spread_ms(self) -> dict[str, dict[str, float]]:
        """How far apart the nodes of each step were, of steps on two nodes or more.

        ``began``: from the first beginning to the last. ``within``: from the first beginning to the last end, and no
        two nodes were hit further apart than that.
        """
        return {step: spread_of(spans) for step, spans in self._steps.items() if len(spans) > 1}


def spread_of(spans: tuple[Span, ...]) -> dict[str, float]:
    """Pure: how far apart some spans are, in ms; see ``ActTimes.spread_ms``."""
    first_ns = min(span.began_ns for span in spans)
    ends_ns = {"began": max(span.began_ns for span in spans), "within": max(span.done_ns for span in spans)}
    return {word: round((end_ns - first_ns) / _NS_PER_MS, 3) for word, end_ns in ends_ns.items()}


_listening: ContextVar[ActTimes | None] = ContextVar("act-times", default=None)


@contextmanager
def record() -> Iterator[ActTimes]:
    """Record what the calling thread does on nodes."""
    times = ActTimes()
    token = _listening.set(times)
    try:
        yield times
    finally:
        _listening.reset(token)


def note(step: str, spans: tuple[Span, ...]) -> None:
    """Tell whoever listens that a step was done; fine if nobody does."""
    if (times := _listening.get()) is not None:
        times.note(step, spans)
