"""Delta debugging: a smallest part of a list, or a smallest number, with which something still happens. Pure.

The algorithm is ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions
on Software Engineering 28(2), 2002, section 3.2. A search is a generator, so a test drives it without a run.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from typing import Final, TypeVar

T = TypeVar("T")
_HALVES: Final = 2
Asking = Generator[tuple[T, ...], bool, tuple[T, ...]]
"""Yields what to try, is sent whether it still happens, returns what is left."""


def ddmin(items: Sequence[T], *, chunks_alone: bool = True) -> Asking[T]:
    """What is left of ``items``, in their order, when no single one of them can be left out any more.

    Args:
        items: all of them.
        chunks_alone: whether nothing at all, and each chunk without the others, are tried as well. A chunk alone often
            suffices where few items are needed, as of faults; of a history it seldom shows anything, and costs a try.
    """
    kept = tuple(items)
    if chunks_alone and kept and (yield ()):
        return ()
    parts = _HALVES
    while len(kept) > 1:
        chunks = split(kept, parts)
        alone = chunks if chunks_alone else []
        others = [] if chunks_alone and parts == _HALVES else [_without(chunks, chunk) for chunk in chunks]
        smaller = yield from _first([*alone, *others])
        if smaller is not None:
            parts = _HALVES if smaller in chunks else max(parts - 1, _HALVES)
            kept = smaller
        elif parts < len(kept):
            parts = min(len(kept), 2 * parts)
        else:
            break
    return kept


def smallest(items: Sequence[T], shows: Callable[[tuple[T, ...]], bool], more: Callable[[], bool]) -> tuple[T, ...]:
    """The items that all are needed to show it.

    Args:
        items: what shows it.
        shows: whether some of them, in the same order, do.
        more: whether it may be asked again; what is left then is shown, and perhaps not the smallest.
    """
    search, best = ddmin(items, chunks_alone=False), tuple(items)
    try:
        wanted = next(search)
        while more():
            shown = shows(wanted)
            best = wanted if shown else best
            wanted = search.send(shown)
    except StopIteration:
        pass
    return best


def _first(wanted: Sequence[tuple[T, ...]]) -> Generator[tuple[T, ...], bool, tuple[T, ...] | None]:
    """The first of them with which it still happens, None if there is none."""
    for each in wanted:
        if (yield each):
            return each
    return None


def split(items: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    """The items in so many neighbouring chunks of nearly the same length, the longer ones first."""
    length, longer = divmod(len(items), parts)
    bounds = [place * length + min(place, longer) for place in range(parts + 1)]
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
