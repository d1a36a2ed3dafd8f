"""How the same run fares night after night: verdict, recovery, availability. Pure.

The same run is one system, workload, nemesis and cell of a matrix; versions and seeds may change, that is the point.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from chaos.core.matrix_results import Recovery
from chaos.core.verdict import Valid
from reports.across.noise import Difference, as_numbers, difference
from reports.across.stores import Stored
from reports.page.spread import Spread, spread_of

_NOON: Final = timedelta(hours=12)
BROKE: Final = "broke"
_WORST_FIRST: Final = (False, BROKE, "unknown", None, True)
Outcome = Valid | str | None
"""A verdict, ``broke``, or None for a run that is not over or was never judged."""


class Kind(msgspec.Struct, frozen=True, order=True):
    """What is the same from night to night."""

    system: str
    workload: str
    nemesis: str
    cell: str


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one kind in one night. ``worst``: the run whose outcome is the night's.

    ``rto``: recovery of changes from each fault. ``share``: the least availability of a run. ``lost``: of all runs.
    """

    name: str
    outcome: Outcome
    worst: Stored
    runs: int
    rto: tuple[Recovery, ...]
    spread: Spread
    share: float | None
    lost: int


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The nights of one kind, the oldest first. ``rto``: how the last stands to all before it, if there were any."""

    kind: Kind
    nights: tuple[Night, ...]
    rto: Difference | None


def night_of(began: str) -> str:
    """The day on which a night begins: from noon to noon in UTC. Empty where the time cannot be read."""
    try:
        return (datetime.fromisoformat(began) - _NOON).date().isoformat()
    except ValueError:
        return ""


def outcome_of(run: Stored) -> Outcome:
    """How a run ended; a verdict of FAIL stands whatever broke."""
    figures = run.figures
    if figures is None:
        return BROKE
    if figures.valid is not False and (figures.run.error or figures.run.status == "crashed"):
        return BROKE
    return figures.valid


def trends(runs: Iterable[Stored]) -> tuple[Trend, ...]:
    """A trend for each kind, sorted by it; runs that cannot be read are of no kind."""
    kinds: dict[Kind, dict[str, list[Stored]]] = {}
    for run in runs:
        if run.figures is not None:
            info = run.figures.run
            kind = Kind(info.system, info.workload, info.nemesis, run.cell)
            kinds.setdefault(kind, {}).setdefault(night_of(run.began), []).append(run)
    return tuple(
        _trend(kind, [_night(name, own) for name, own in sorted(kinds[kind].items())]) for kind in sorted(kinds)
    )


def _trend(kind: Kind, nights: Sequence[Night]) -> Trend:
    before = [value for night in nights[:-1] for value in as_numbers(night.rto)]
    rto = difference(before, as_numbers(nights[-1].rto), "faults") if len(nights) > 1 else None
    return Trend(kind=kind, nights=tuple(nights), rto=rto)


def _night(name: str, runs: Sequence[Stored]) -> Night:
    worst = min(reversed(runs), key=lambda run: _WORST_FIRST.index(outcome_of(run)))
    figures = [run.figures for run in runs if run.figures is not None]
    rto = tuple(value for one in figures for value in one.rto.get(one.change, ()))
    shares = [one.share for one in figures if one.share is not None]
    return Night(
        name=name,
        outcome=outcome_of(worst),
        worst=worst,
        runs=len(runs),
        rto=rto,
        spread=spread_of(rto),
        share=min(shares, default=None),
        lost=sum(one.lost or 0 for one in figures),
    )
