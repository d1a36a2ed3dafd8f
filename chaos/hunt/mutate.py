"""Small changes of a plan that has shown something new. Pure."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Final

import msgspec

from chaos.basics.rand import SEEDS
from chaos.core.errors import UsageError
from chaos.hunt.candidate import Candidate, end_s, last_end_s, on_nodes
from nemesis.occasions.occasion import LOG, OCCASIONS, occasion_of
from nemesis.plan.plan import Row, load_steps
from nemesis.targets.selectors import Selector
from nemesis.targets.topology import Topology

LIMIT_MOST_S: Final = 120.0
ROWS_MOST: Final = 30
CHANGES_MOST: Final = 3
_RECOVERY_S: Final = 3.0
_FAULT_MOST_S: Final = 20.0
_FAULT_LEAST_S: Final = 0.5
_WITHIN_S: Final = 5.0
_JUST_AFTER_S: Final = 0.1
_ANOTHER: Final = 10_000
"""Is added to the numbers of rows that come from another plan, so that none is there twice."""


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What a change may take from: another kept plan, a plan that was just drawn, and the nodes."""

    other: Candidate
    fresh: Candidate
    topology: Topology


Change = Callable[[Random, tuple[Row, ...], Material], list[Row]]


def mutate(random: Random, parent: Candidate, material: Material) -> Candidate:
    """The parent with one to three changes and another seed; it fits its time limit, which may grow."""
    rows = parent.rows
    for _ in range(random.randint(1, CHANGES_MOST)):
        changed = random.choice(list(CHANGES.values()))(random, rows, material)
        rows = parent.with_rows(msgspec.structs.replace(row, at_s=round(max(0.5, row.at_s), 3)) for row in changed).rows
    fitting = [row for row in rows if end_s(row) <= LIMIT_MOST_S][:ROWS_MOST]
    limit_s = max(parent.time_limit_s, last_end_s(fitting))
    child = msgspec.structs.replace(parent, time_limit_s=limit_s, seed=random.randrange(SEEDS))
    return child.with_rows(fitting)


def add(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:
    """One more fault."""
    return [*rows, *_foreign(random.sample(material.fresh.rows, min(1, len(material.fresh.rows))))]


def drop(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:  # noqa: ARG001 - as all changes
    """One fault less, unless it is the only one."""
    left_out = random.randrange(len(rows)) if len(rows) > 1 else None
    return [row for place, row in enumerate(rows) if place != left_out]


def move(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:  # noqa: ARG001
    """One fault earlier or later."""
    return _one(random, rows, lambda row: msgspec.structs.replace(row, at_s=row.at_s + random.uniform(-5, 5)))


def stretch(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:  # noqa: ARG001
    """One fault that lasts for a shorter or longer time."""

    def longer(row: Row) -> Row:
        least_s = max(_FAULT_LEAST_S, row.how.least_s)
        wanted_s = min(max(least_s, row.duration_s * random.choice((0.25, 0.5, 2.0, 4.0))), max(least_s, _FAULT_MOST_S))
        return msgspec.structs.replace(row, duration_s=round(wanted_s, 3))

    return _one(random, rows, longer)


def retarget(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:
    """One fault on other nodes, on the leader of another subject, or instead of on all nodes on some."""

    def elsewhere(row: Row) -> Row:
        nodes = tuple(name for role in row.roles for name in material.topology.nodes[role])
        if row.selector is Selector.ALL and Selector.FIXED in row.how.selectors and len(nodes) > 1 and not row.nodes:
            return on_nodes(row, tuple(random.sample(nodes, random.randint(1, len(nodes) - 1))))
        draw = {name: random.random() for name in row.draw}
        led = material.topology.led_by(row.roles[0]) if row.subjects and row.roles else ()
        subjects = (random.choice(led),) if led else row.subjects
        return msgspec.structs.replace(row, draw=draw, subjects=subjects)

    return _one(random, rows, elsewhere)


def combine(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:  # noqa: ARG001
    """The faults of both plans."""
    return [*rows, *_foreign(material.other.rows)]


def repeat_fault(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:  # noqa: ARG001
    """One fault a second time, shortly after it was healed: while the cluster recovers."""
    if not rows:
        return []
    row = random.choice(rows)
    when_s = end_s(row) + random.uniform(0.1, _RECOVERY_S)
    second = msgspec.structs.replace(
        row,
        row=row.row + _ANOTHER,
        at_s=when_s,
        follows=0 if row.nodes or not row.follows else row.follows,
        quiet_s=0.0,
    )
    return [*rows, second]


def await_occasion(random: Random, rows: tuple[Row, ...], material: Material) -> list[Row]:
    """One fault when another shows its effect: a new leader, its first acknowledgement, a replica that is behind."""
    able = [row for row in rows if not row.follows and not load_steps([row])]
    occasions = _occasions(material.topology)
    if len(able) < 2 or not occasions:  # noqa: PLR2004 - one causes it, one waits for it
        return list(rows)
    cause, waiting = random.sample(able, 2)
    changed = msgspec.structs.replace(
        waiting, at_s=cause.at_s + _JUST_AFTER_S, when=random.choice(occasions), within_s=_WITHIN_S, quiet_s=0.0
    )
    return [changed if row is waiting else row for row in rows]


def _occasions(topology: Topology) -> list[str]:
    """Those that can come in this cluster, whatever its nodes write into their logs."""
    found = []
    for name in OCCASIONS:
        with suppress(UsageError):
            if not name.startswith(LOG):
                occasion_of(name, topology)
                found.append(name)
    return found


CHANGES: Final[Mapping[str, Change]] = {
    "add": add,
    "drop": drop,
    "move": move,
    "stretch": stretch,
    "retarget": retarget,
    "combine": combine,
    "again": repeat_fault,
    "await": await_occasion,
}


def _one(random: Random, rows: tuple[Row, ...], change: Callable[[Row], Row]) -> list[Row]:
    if not rows:
        return []
    changed = random.randrange(len(rows))
    return [change(row) if place == changed else row for place, row in enumerate(rows)]


def _foreign(rows: tuple[Row, ...] | list[Row]) -> list[Row]:
    """Rows of another plan, numbered apart."""
    return [
        msgspec.structs.replace(row, row=row.row + _ANOTHER, follows=row.follows + _ANOTHER if row.follows else 0)
        for row in rows
    ]
