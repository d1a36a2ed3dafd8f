"""When the rows of a mix come, how long they last and before which of them the load is quiet.

Drawn from the seed before it is known which fault a row is, so that another name moves no row (SEMANTICS 21, 24).
``nemesis.plan.mix`` deals the names to these slots. Does not know any fault.
"""

from collections.abc import Iterator
from itertools import count
from typing import Final, Literal

import msgspec

from chaos.basics.rand import stream

Rhythm = Literal["mixed", "even"]
"""``mixed``: lengths are drawn, some rows overlap, the load is quiet before some. ``even``: none of this."""

LENGTHS_S: Final = (0.5, 2.0, 8.0)
"""The lengths that are drawn beside the one that was asked for."""

LONG_S: Final = 8.0
"""A fault of this length, or of the asked one if that is shorter, is long: most systems elect another leader in it."""

BESIDE_SHARE: Final = 1 / 3
"""Of the rows of at least ``BESIDE_LEAST_S``, so many have another that begins while they last."""
BESIDE_LEAST_S: Final = 2.0

CLOSE_SHARE: Final = 1 / 4
CLOSE_S: Final = (0.2, 2.0)
"""So many rows that begin alone come so soon after the heal of the row before: whoever was away is just coming back."""

QUIET_S: Final = 2.0
QUIET_SHARE: Final = 0.4
"""Before so many rows the load is quiet for ``QUIET_S``, where the healthy stretch is at least twice as long."""

FOLLOW_SHARE: Final = 0.5
"""So many rows aimed at the leader of the replicas are followed by a restart of the node that they hit."""
FOLLOW_S: Final = 2.0
FOLLOW_LEAST_S: Final = 4.0
"""A healthy stretch shorter than this has no room for that restart."""

_ROUNDING_S: Final = 1e-9
_DIGITS: Final = 3


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A place for one row. ``number`` counts from 1; times in seconds.

    ``beside``: it begins while the slot before is in force. ``quiet_s``: the load is quiet for so long before it.
    """

    number: int
    at_s: float
    length_s: float
    long: bool
    beside: bool = False
    quiet_s: float = 0.0


def even_slots(interval_s: float, asked_s: float, time_limit_s: float) -> Iterator[Slot]:
    """Slots of one length, one after the other, as many as end within the limit."""
    for row in range(int((time_limit_s + _ROUNDING_S) // (interval_s + asked_s))):
        at_s = round(interval_s + row * (interval_s + asked_s), 9)
        yield Slot(number=row + 1, at_s=at_s, length_s=asked_s, long=True)


def mixed_slots(
    seed: int, interval_s: float, asked_s: float, time_limit_s: float, *, overlap: bool = True
) -> Iterator[Slot]:
    """Slots of drawn lengths, as many as end within the limit.

    Every four that do not overlap have the three lengths and the asked one, in a drawn order; the last one is as long
    as fits. ``overlap`` false: none begins while another is in force.
    """
    lengths = (*LENGTHS_S, asked_s)
    number, end_s = 0, 0.0
    for group in count():
        for length_s in stream(seed, "mix length", group).sample(lengths, len(lengths)):
            healthy_s = _healthy_s(seed, number + 1, interval_s)
            at_s = round(end_s + healthy_s, _DIGITS)
            fitting = [one for one in lengths if _fits(at_s, one, time_limit_s)]
            if not fitting:
                return
            number += 1
            fitting_s = length_s if length_s in fitting else max(fitting)
            base = _slot(seed, number, at_s, fitting_s, asked_s, healthy_s)
            yield base
            end_s = at_s + base.length_s
            beside = _beside(seed, number + 1, base, asked_s, time_limit_s) if overlap else None
            if beside is not None:
                number += 1
                yield beside
                end_s = max(end_s, beside.at_s + beside.length_s)


def _fits(at_s: float, length_s: float, time_limit_s: float) -> bool:
    return at_s + length_s <= time_limit_s + _ROUNDING_S


def _is_long(length_s: float, asked_s: float) -> bool:
    return length_s >= min(LONG_S, asked_s)


def _healthy_s(seed: int, number: int, interval_s: float) -> float:
    """How long all are healthy before the slot of this number, which begins alone."""
    draw = stream(seed, "mix close", number)
    if number == 1 or draw.random() >= CLOSE_SHARE:
        return interval_s
    return min(interval_s, draw.uniform(*CLOSE_S))


def _slot(seed: int, number: int, at_s: float, length_s: float, asked_s: float, healthy_s: float) -> Slot:
    quiet = healthy_s >= 2 * QUIET_S and stream(seed, "mix quiet", number).random() < QUIET_SHARE
    return Slot(
        number=number, at_s=at_s, length_s=length_s, long=_is_long(length_s, asked_s), quiet_s=QUIET_S if quiet else 0.0
    )


def _beside(seed: int, number: int, base: Slot, asked_s: float, time_limit_s: float) -> Slot | None:
    """The slot that begins while ``base`` lasts, if one does."""
    draw = stream(seed, "mix beside", number)
    if draw.random() >= BESIDE_SHARE or base.length_s < BESIDE_LEAST_S:
        return None
    at_s = round(base.at_s + base.length_s * draw.uniform(0.1, 0.9), _DIGITS)
    length_s = draw.choice((*LENGTHS_S, asked_s))
    if not _fits(at_s, length_s, time_limit_s):
        return None
    return Slot(number=number, at_s=at_s, length_s=length_s, long=_is_long(length_s, asked_s), beside=True)


def restart_after(seed: int, slot: Slot, interval_s: float, length_s: float) -> tuple[float, float] | None:
    """When a restart of whom this slot's row hit begins (s) and how long it may take; None: there is none.

    It lies in the healthy stretch behind the row, so it moves no other.
    """
    draw = stream(seed, "mix restart", slot.number)
    if draw.random() >= FOLLOW_SHARE or interval_s < FOLLOW_LEAST_S:
        return None
    at_s = slot.at_s + length_s + interval_s * draw.uniform(0.25, 0.5)
    return round(at_s, _DIGITS), min(FOLLOW_S, interval_s / 4)
