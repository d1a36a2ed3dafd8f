"""Delta debugging: a smallest part of a list with which something still happens. Pure.

The algorithm is ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions
on Software Engineering 28(2), 2002, section 3.2. Here it tries the empty list first.
"""

from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import Final, TypeVar

T = TypeVar("T")
_HALVES: Final = 2
Asking = Generator[tuple[T, ...], bool, tuple[T, ...]]
"""Yields what to try, is sent whether it still happens, returns what is left."""


def ddmin(items: Sequence[T]) -> Asking[T]:
    """What is left of ``items``, in their order, when no single one of them can be left out any more."""
    kept = tuple(items)
    if kept and (yield ()):
        return ()
    parts = _HALVES
    while len(kept) > 1:
        chunks = split(kept, parts)
        smaller = yield from _first([*chunks, *(_without(chunks, chunk) for chunk in chunks if parts > _HALVES)])
        if smaller is not None:
            parts = _HALVES if smaller in chunks else max(parts - 1, _HALVES)
            kept = smaller
        elif parts < len(kept):
            parts = min(len(kept), 2 * parts)
        else:
            break
    return kept


def _first(wanted: Sequence[tuple[T, ...]]) -> Generator[tuple[T, ...], bool, tuple[T, ...] | None]:
    """The first of them with which it still happens, None if there is none."""
    for each in wanted:
        if (yield each):
            return each
    return None


def split(items: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    """The items in so many neighbouring chunks of nearly the same length."""
    bounds = [len(items) * place // parts for place in range(parts + 1)]
    return [items[begin:end] for begin, end in pairwise(bounds) if begin < end]


def _without(chunks: Sequence[tuple[T, ...]], left_out: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(item for chunk in chunks if chunk is not left_out for item in chunk)


def lower_value(value: float, least: float) -> Generator[float, bool, float]:
    """The smallest of ``least``, and ``value`` halved so and so often, with which it still happens."""
    if value <= least:
        return value
    if (yield least):
        return least
    while (half := round(value / 2, 3)) > least and (yield half):
        value = half
    return value
