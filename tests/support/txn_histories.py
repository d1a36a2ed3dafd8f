"""Histories of a correct transactional database, and mutations that make them wrong in one way each."""

import random
from collections.abc import Callable
from typing import Any

import msgspec

from chaos.core.op import Type
from checkers.txn.transactions import NEVER, Kind, Micro, Transaction


def correct(rng: random.Random, *, lists: bool, count: int = 40, keys: int = 4) -> list[Transaction]:
    """A strict-serializable history: each transaction takes effect at one moment between its ends."""
    moments = sorted(rng.sample(range(10, 100 * count), count))
    spans = [(moment - rng.randint(1, 90), moment + rng.randint(1, 90)) for moment in moments]
    free: dict[int, int] = {}
    store: dict[str, Any] = {}
    values = dict.fromkeys(range(keys), 0)
    processes = {}
    for number in sorted(range(count), key=lambda i: spans[i][0]):
        idle = [process for process, end in free.items() if end < spans[number][0]]
        processes[number] = rng.choice(idle) if idle else len(free)
        free[processes[number]] = spans[number][1]
    rows = []
    for number in range(count):
        kind = rng.choices([Type.OK, Type.INFO, Type.FAIL], [18, 1, 1])[0]
        happens = kind is Type.OK or (kind is Type.INFO and rng.random() < 0.5)
        own, micros = dict(store), []
        for _ in range(rng.randint(1, 4)):
            key = rng.randrange(keys)
            name = f"k{key}"
            if rng.random() < 0.5:
                values[key] += 1
                own[name] = (*own.get(name, ()), values[key]) if lists else values[key]
                micros.append(Micro(Kind.APPEND if lists else Kind.WRITE, name, values[key]))
            elif kind is Type.OK:
                micros.append(Micro(Kind.READ, name, own.get(name, () if lists else None)))
            else:
                micros.append(Micro(Kind.READ, name, known=False))
        store = own if happens else store
        invoke, complete = spans[number]
        rows.append(
            Transaction(
                process=processes[number],
                type=kind,
                invoke=invoke,
                complete=NEVER if kind is Type.INFO else complete,
                micros=tuple(micros),
                number=number,
            )
        )
    return rows


Rows = list[Transaction]


def added(rows: Rows, *texts: tuple[Micro, ...], kind: Type = Type.OK) -> Rows:
    """Transactions behind all others, at the same time."""
    last = max(one.complete for one in rows if one.complete != NEVER)
    new = [
        Transaction(
            process=1000 + i,
            type=kind,
            invoke=last + 1 + i,
            complete=last + 100,
            micros=micros,
            number=len(rows) + i,
        )
        for i, micros in enumerate(texts)
    ]
    return [*rows, *new]


def append(key: str, value: int) -> Micro:
    return Micro(Kind.APPEND, key, value)


def read(key: str, *value: int) -> Micro:
    return Micro(Kind.READ, key, value)


def write(key: str, value: int) -> Micro:
    return Micro(Kind.WRITE, key, value)


def got(key: str, value: int | None = None) -> Micro:
    return Micro(Kind.READ, key, value)


def failed(rows: Rows) -> Rows:
    """What an ok transaction appended, and somebody read, is of one that failed."""
    seen = {
        (micro.key, one)
        for row in rows
        if row.type is Type.OK
        for micro in row.micros
        if _is_read(micro)
        for one in micro.value
    }
    return [
        msgspec.structs.replace(row, type=Type.FAIL) if _first_seen(rows, seen) == row.number else row for row in rows
    ]


def _is_read(micro: Micro) -> bool:
    return micro.kind is Kind.READ and micro.known and micro.value is not None


def _first_seen(rows: Rows, seen: set[tuple[Any, Any]]) -> int:
    return next(
        row.number
        for row in rows
        if row.type is Type.OK
        and any(micro.kind is Kind.APPEND and (micro.key, micro.value) in seen for micro in row.micros)
    )


MUTATIONS: dict[str, Callable[[Rows], Rows]] = {
    "G0": lambda rows: added(
        added(rows, (append("a", 1), append("b", 1)), (append("a", 2), append("b", 2))),
        (read("a", 1, 2), read("b", 2, 1)),
    ),
    "G1a": failed,
    "G1b": lambda rows: added(rows, (append("a", 1), append("a", 2)), (read("a", 1),)),
    "G1c": lambda rows: added(rows, (append("a", 1), read("b", 1)), (append("b", 1), read("a", 1))),
    "G-single-item": lambda rows: added(rows, (append("a", 1), append("b", 1)), (read("a", 1), read("b"))),
    "G-nonadjacent-item": lambda rows: added(
        rows, (append("a", 1),), (append("b", 1),), (read("a", 1), read("b")), (read("b", 1), read("a"))
    ),
    "G2-item": lambda rows: added(rows, (read("a"), append("b", 1)), (read("b"), append("a", 1))),
    "G0-realtime": lambda rows: added(added(added(rows, (append("a", 1),)), (append("a", 2),)), (read("a", 2, 1),)),
    "G1c-realtime": lambda rows: added(added(rows, (read("a", 1),)), (append("a", 1),)),
    "G-single-item-realtime": lambda rows: added(added(rows, (append("a", 1),)), (read("a"),)),
    "duplicate-elements": lambda rows: added(rows, (append("a", 1),), (read("a", 1, 1),)),
    "incompatible-order": lambda rows: added(
        rows, (append("a", 1),), (append("a", 2),), (read("a", 1, 2),), (read("a", 2, 1),)
    ),
    "dirty-update": lambda rows: added(
        added(rows, (append("a", 1),), kind=Type.FAIL), (append("a", 2),), (read("a", 1, 2),)
    ),
    "internal": lambda rows: added(rows, (append("a", 1), read("a"))),
    "future-read": lambda rows: added(rows, (read("a", 1), append("a", 1))),
    "lost-update": lambda rows: added(rows, (read("a"), append("a", 1)), (read("a"), append("a", 2))),
    "phantom": lambda rows: added(rows, (append("a", 1),), (read("a", 1, 9),)),
}
"""Of lists: each makes a correct history wrong in one way, under the name it must be found under."""

REGISTER_MUTATIONS: dict[str, Callable[[Rows], Rows]] = {
    "G1a": lambda rows: added(added(rows, (write("a", 1),), kind=Type.FAIL), (got("a", 1),)),
    "G1b": lambda rows: added(rows, (write("a", 1), write("a", 2)), (got("a", 1),)),
    "G1c": lambda rows: added(rows, (write("a", 1), got("b", 1)), (write("b", 1), got("a", 1))),
    "G-single-item": lambda rows: added(rows, (write("a", 1), write("b", 1)), (got("a", 1), got("b"))),
    "G-nonadjacent-item": lambda rows: added(
        rows, (write("a", 1),), (write("b", 1),), (got("a", 1), got("b")), (got("b", 1), got("a"))
    ),
    "G2-item": lambda rows: added(rows, (got("a"), write("b", 1)), (got("b"), write("a", 1))),
    "G1c-realtime": lambda rows: added(added(rows, (got("a", 1),)), (write("a", 1),)),
    "G-single-item-realtime": lambda rows: added(added(rows, (write("a", 1),)), (got("a"),)),
    "internal": lambda rows: added(rows, (write("a", 1), got("a"))),
    "future-read": lambda rows: added(rows, (got("a", 1), write("a", 1))),
    "lost-update": lambda rows: added(rows, (got("a"), write("a", 1)), (got("a"), write("a", 2))),
    "phantom": lambda rows: added(rows, (got("a", 9),)),
}
"""Of registers."""
