"""Which smaller runs to try, one after the other, until each part of what is left is needed. Pure.

A reduction is a generator: it yields a run to try and is sent that run, with the seed with which it failed, or None if
it did not fail. So a test drives it without a run.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Final

import msgspec

from chaos.basics.delta_debugging import ddmin, lower_value
from chaos.hunt.candidate import Candidate, last_end_s, on_nodes, shift_row
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan import Row
from nemesis.targets.selectors import Selector
from nemesis.targets.topology import Topology

Trying = Generator[Candidate, Candidate | None, Candidate]

LEAST_RATE: Final = 10.0
LEAST_S: Final = 1.0
"""So long is the load at least, and so soon comes the first fault, and each after the beginning of the one before."""
LEAST_FAULT_S: Final = 0.5
_DRAWN: Final = (Selector.MINOR, Selector.MAJOR, Selector.RANDOM, Selector.ALL, Selector.FIXED)
"""Selectors whose nodes are known before the run, and of which some may be left out."""


def reduce_run(start: Candidate, topology: Topology) -> Trying:
    """Reduce until a whole round changes nothing; the smallest run that failed is returned."""
    best = start
    while True:
        before = best
        for reduction in (_fewer_faults, _sooner, _shorter, partial(_fewer_targets, topology), _less_load):
            best = yield from reduction(best)
        if best.with_seed(0) == before.with_seed(0):
            return best


def _fewer_faults(best: Candidate) -> Trying:
    search = ddmin([row.row for row in best.rows])
    whole = best
    try:
        wanted = next(search)
        while True:
            smallest = whole.with_rows(row for row in whole.rows if row.row in wanted)
            found = yield smallest.with_seed(best.seed)
            best = found or best
            wanted = search.send(found is not None)
    except StopIteration:
        return best


def _sooner(best: Candidate) -> Trying:
    """End the load after the last fault; let each fault come sooner after the one before."""
    for place in range(len(best.rows)):
        gap_s = best.rows[place].at_s - (best.rows[place - 1].at_s if place else 0.0)
        best = yield from _number(best, gap_s, LEAST_S, partial(_with_gap, place))
    least_s = max(LEAST_S, last_end_s(best.rows))
    return (
        yield from _number(
            best, best.time_limit_s, least_s, lambda now, value: msgspec.structs.replace(now, time_limit_s=value)
        )
    )


def _with_gap(place: int, now: Candidate, gap_s: float) -> Candidate:
    """All from the fault at a place on sooner, so that it comes so long after the one before."""
    before_s = now.rows[place - 1].at_s if place else 0.0
    by_s = before_s + gap_s - now.rows[place].at_s
    return now.with_rows([*now.rows[:place], *(shift_row(row, by_s) for row in now.rows[place:])])


def _shorter(best: Candidate) -> Trying:
    """Let each fault last for a shorter time, and load before it that is not quiet."""
    for place, row in enumerate(best.rows):
        least_s = max(LEAST_FAULT_S, row.how.least_s)
        best = yield from _number(best, row.duration_s, least_s, partial(_lasting, place))
        if best.rows[place].quiet_s:
            found = yield best.with_row(msgspec.structs.replace(best.rows[place], quiet_s=0.0))
            best = found or best
    return best


def _lasting(place: int, now: Candidate, duration_s: float) -> Candidate:
    return now.with_row(msgspec.structs.replace(now.rows[place], duration_s=duration_s))


def _fewer_targets(topology: Topology, best: Candidate) -> Trying:
    for place in range(len(best.rows)):
        changed = True
        while changed:
            changed = False
            for row in fewer_targets_of(best.rows[place], topology):
                found = yield best.with_row(row)
                if found is not None:
                    best, changed = found, True
                    break
    return best


def fewer_targets_of(row: Row, topology: Topology) -> tuple[Row, ...]:
    """The same fault on fewer: without one of its nodes each, or on the leaders of one of its roles or subjects."""
    if row.selector is Selector.LEADER and not row.nodes:
        return _fewer_leaders(row, topology)
    if row.selector not in _DRAWN or Selector.FIXED not in row.how.selectors or row.follows:
        return ()
    targets = choose(row, topology, {})
    if targets is None or len(targets.names) <= 1:
        return ()
    return tuple(on_nodes(row, tuple(n for n in targets.names if n != left)) for left in targets.names)


def _fewer_leaders(row: Row, topology: Topology) -> tuple[Row, ...]:
    if len(row.subjects) > 1:
        return tuple(
            msgspec.structs.replace(row, subjects=(one,), roles=_roles_for(row, one, topology)) for one in row.subjects
        )
    return ()


def _roles_for(row: Row, subject: str, topology: Topology) -> tuple[str, ...]:
    """The roles of a fault that hits the leader of one subject; of a fault of links all count."""
    if row.how.on_links():
        return row.roles
    return tuple(role for role in row.roles if subject in topology.led_by(role)) or row.roles


def _less_load(best: Candidate) -> Trying:
    replace = msgspec.structs.replace
    best = yield from _number(best, best.rate, LEAST_RATE, lambda now, value: replace(now, rate=value))
    best = yield from _number(best, best.keys, 1, lambda now, value: replace(now, keys=max(1, int(value))))
    return (yield from _number(best, best.clients, 1, lambda now, value: replace(now, clients=max(1, int(value)))))


def _number(best: Candidate, value: float, least: float, made: Callable[[Candidate, float], Candidate]) -> Trying:
    """The smallest value of one number with which a run still fails."""
    search = lower_value(value, least)
    try:
        wanted = next(search)
        while True:
            found = yield made(best, wanted)
            best = found or best
            wanted = search.send(found is not None)
    except StopIteration:
        return best
