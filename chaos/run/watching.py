"""What a run tells whoever looks on while it goes: lines, events, and once a second how it stands.

The run must not wait for who looks on, and what goes wrong there is no business of its: a watcher takes everything at
once and never raises. Does not show anything (``chaos.cli.live.display`` does).
"""

from typing import Protocol

import msgspec

from chaos.core.events import Event
from cluster.leaders import Leads
from nemesis.plan.plan import Row


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole load. ``plan``'s times count from ``origin_ns``.

    ``changes``: what operations are called that change the object.
    """

    title: str
    changes: str
    nodes: tuple[str, ...]
    plan: tuple[Row, ...]
    origin_ns: int
    time_limit_s: float


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over all workers, type word or ``refused`` → number; the others as in ``messages.Stats``.

    ``changes``: operations that change the object; ``rest``: all others.
    """

    changes: dict[str, int]
    rest: dict[str, int]
    worst_lag_s: float
    worst_ack_s: float
    last_ack_ns: int
    in_flight: int
    last_sent: dict[int, int]
    last_acked: dict[int, int]

    @property
    def begun(self) -> int:
        """How many operations were begun."""
        return sum(self.changes.values()) + sum(self.rest.values()) + self.in_flight


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """How it stands now. ``totals``: of all workers; the worst of lag and ack are recent."""

    now_ns: int
    totals: Totals
    leads: Leads
    silent: tuple[str, ...] = ()


class Watcher(Protocol):
    """Looks on. Every call returns at once and raises nothing."""

    def say(self, text: str) -> None:
        """A line for people."""
        ...

    def opening(self, opening: Opening) -> None:
        """The load is about to begin."""
        ...

    def event(self, event: Event) -> None:
        """A fault, a phase or a note; from any thread."""
        ...

    def beat(self, beat: Beat) -> None:
        """Once a second under load."""
        ...


class Quiet:
    """Looks on and says nothing."""

    def say(self, text: str) -> None:
        """See ``Watcher``."""

    def opening(self, opening: Opening) -> None:
        """See ``Watcher``."""

    def event(self, event: Event) -> None:
        """See ``Watcher``."""

    def beat(self, beat: Beat) -> None:
        """See ``Watcher``."""
