"""Small histories of transactions, drawn at random, and the search for every serial order of one.

The search knows nothing of dependencies: it runs transactions one after the other on a store and looks whether each
reads what it says. An ok transaction must run, one that failed must not, one of which nobody knows may.
"""

import random
from collections.abc import Iterator
from typing import Any

from chaos.core.op import Type
from checkers.txn.transactions import NEVER, Kind, Micro, Transaction

Step = tuple[Kind, int, object]
"""What a transaction does to the place of a key: the kind, the place, what it says."""


def _steps(one: Transaction, places: dict[object, int], *, lists: bool) -> list[Step]:
    """What a transaction does, without reads of which nobody was told what they read."""
    return [
        (micro.kind, places[micro.key], tuple(micro.value or ()) if lists and micro.kind is Kind.READ else micro.value)
        for micro in one.micros
        if micro.known
    ]


def _replayed(store: tuple[Any, ...], steps: list[Step]) -> tuple[Any, ...] | None:
    """The store behind a transaction; None if it reads something else than it says."""
    after = list(store)
    for kind, place, said in steps:
        if kind is Kind.READ:
            if said != after[place]:
                return None
        elif kind is Kind.APPEND:
            after[place] = (*after[place], said)
        else:
            after[place] = said
    return tuple(after)


def _before(a: Transaction, b: Transaction, order: str) -> bool:
    """Whether an order of whole transactions puts one before the other."""
    if order == "realtime":
        return a.type is Type.OK and a.complete < b.invoke
    same = a.process == b.process and a.type is Type.OK and b.type is Type.OK
    return order == "process" and same and a.invoke < b.invoke


def has_serial_order(rows: list[Transaction], *, lists: bool, order: str = "") -> bool:
    """Whether some order of the transactions explains all of them.

    Args:
        rows: the history.
        lists: whether keys are lists.
        order: ``realtime`` or ``process`` if the order must agree with it.
    """
    may = [one for one in rows if one.type is not Type.FAIL]
    places = {key: place for place, key in enumerate(dict.fromkeys(micro.key for one in may for micro in one.micros))}
    steps = [_steps(one, places, lists=lists) for one in may]
    # Sets of transactions are numbers: bit i is transaction i.
    before = [
        sum(1 << j for j, other in enumerate(may) if j != i and _before(other, one, order)) for i, one in enumerate(may)
    ]
    must = sum(1 << i for i, one in enumerate(may) if one.type is not Type.INFO)
    tried: set[tuple[int, tuple[Any, ...]]] = set()

    def on(left: int, store: tuple[Any, ...]) -> bool:
        if not left & must:
            return True
        if (left, store) in tried:
            return False
        tried.add((left, store))
        for i, held_up_by in enumerate(before):
            if left >> i & 1 and not left & held_up_by:
                after = _replayed(store, steps[i])
                if after is not None and on(left & ~(1 << i), after):
                    return True
        return False

    # One of which nobody knows may be left out, so it holds nobody up: it is no ok transaction, and those alone do.
    return on((1 << len(may)) - 1, ((),) * len(places) if lists else (None,) * len(places))


def drawn(rng: random.Random, *, lists: bool, most: int = 6) -> list[Transaction]:
    """A history of a database that is right, wrong, or something in between."""
    keys, count = ["x", "y", "z"][: rng.randint(1, 3)], rng.randint(2, most)
    times = sorted(rng.sample(range(100), 2 * count))
    spans = _spans(rng, times, count)
    next_value = dict.fromkeys(keys, 0)
    rows: list[Transaction] = []
    histories: dict[object, list[object]] = {key: [() if lists else None] for key in keys}
    for (invoke, complete), process in zip(spans, _processes(rng, spans), strict=True):
        kind = rng.choices([Type.OK, Type.INFO, Type.FAIL], [8, 1, 1])[0]
        micros = tuple(_micros(rng, keys, next_value, histories, kind, lists=lists))
        rows.append(
            Transaction(
                process=process,
                type=kind,
                invoke=invoke,
                complete=NEVER if kind is Type.INFO else complete,
                micros=micros,
                number=len(rows),
            )
        )
    return rows


def _spans(rng: random.Random, times: list[int], count: int) -> list[tuple[int, int]]:
    """When transactions begin and end."""
    if rng.random() < 0.3:
        return [(times[2 * i], times[2 * i + 1]) for i in range(count)]
    rng.shuffle(times)
    pairs = [sorted(times[2 * i : 2 * i + 2]) for i in range(count)]
    return sorted((a, b) for a, b in pairs)


def _processes(rng: random.Random, spans: list[tuple[int, int]]) -> Iterator[int]:
    """Processes that run one transaction at a time."""
    free: dict[int, int] = {}
    for invoke, complete in spans:
        idle = [process for process, end in free.items() if end < invoke]
        process = rng.choice(idle) if idle and rng.random() < 0.7 else len(free)
        free[process] = complete
        yield process


def _micros(
    rng: random.Random,
    keys: list[str],
    next_value: dict[str, int],
    histories: dict[object, list[object]],
    kind: Type,
    *,
    lists: bool,
) -> Iterator[Micro]:
    """What a transaction does: it mostly reads the newest state, sometimes an older one, or a broken one."""
    for _ in range(rng.randint(1, 3)):
        key = rng.choice(keys)
        states = histories[key]
        if rng.random() < 0.5:
            next_value[key] += 1
            value = next_value[key]
            held = states[-1]
            if kind is not Type.FAIL or rng.random() < 0.1:
                states.append((*held, value) if lists else value)
            yield Micro(Kind.APPEND if lists else Kind.WRITE, key, value)
        elif kind is not Type.OK:
            yield Micro(Kind.READ, key, known=False)
        else:
            back = rng.choice([1, 1, 1, 1, 2, 3])
            yield Micro(Kind.READ, key, states[-min(back, len(states))])
