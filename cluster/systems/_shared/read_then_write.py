"""Transactions that a client reads first and then writes: what one makes of what the keys have held."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from chaos.models.transactions.words import Do, Micro, Reads

Held: TypeAlias = Mapping[int, tuple[int, ...]]
"""By key the elements of a list; of a register its value alone, or nothing."""


def outcome_of(micros: Iterable[Micro], held: Held, *, lists: bool) -> tuple[Reads, Held]:
    """What a transaction reads, and the keys that it changes as they are then. Pure.

    Args:
        micros: what it does, in order.
        held: what each of its keys held before.
        lists: whether keys are lists.
    """
    after, seen = dict(held), Reads([])
    changed: dict[int, tuple[int, ...]] = {}
    for one in micros:
        if one.do is Do.READ:
            seen.seen.append(list(after[one.key]))
            continue
        after[one.key] = changed[one.key] = (*after[one.key], one.value) if lists else (one.value,)
        seen.seen.append(None)
    return seen, changed
