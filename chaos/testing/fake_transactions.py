"""Transactions on a fake system: a space is a map of keys to what they hold, and bugs that break isolation.

The bugs of ``fake_bugs`` work on transactions too. Those here need to know what a transaction does.
"""

import itertools
from collections.abc import Mapping
from typing import Any, TypeAlias

from chaos.core.op import Invocation
from chaos.models.transactions import bank
from chaos.models.transactions.words import CHANGES, OF_LISTS, Do, Reads, Transaction
from chaos.testing.fake_bugs import FakeBug
from chaos.testing.fake_objects import Step

Space: TypeAlias = Mapping[int, tuple[int, ...]]
"""By key: the elements of a list; of a register its value alone."""


def transaction_step(held: Space | None, op: Invocation) -> tuple[Space, Reads]:
    """All micro-operations in their order, at once."""
    return apply(held or {}, held or {}, op)


def apply(held: Space, seen: Space, op: Invocation) -> tuple[Space, Reads]:
    """What a transaction makes of a space, and what it reads, if it sees another space and its own writes."""
    after, own, reads = dict(held), dict(seen), Reads([])
    for one in op.argument.micros:
        if one.do is Do.READ:
            reads.seen.append(list(own.get(one.key, ())))
            continue
        for space in (after, own):
            before = space.get(one.key, ()) if op.f in OF_LISTS else ()
            space[one.key] = (*before, one.value)
        reads.seen.append(None)
    return after, reads


def read_old_snapshots(every: int = 3, behind: int = 5) -> FakeBug:
    """Let each ``every``-th transaction read a space as it was so many transactions ago, and write today's."""
    turns, past = itertools.count(1), dict[int, list[Space]]()

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:  # noqa: ARG001 - what it reads is the bug
        older = past.setdefault(op.key, [])
        older.append(held or {})
        del older[:-behind]
        return apply(held or {}, older[0] if next(turns) % every == 0 else held or {}, op)

    return bug


def tear_transactions(every: int = 5) -> FakeBug:
    """Acknowledge each ``every``-th transaction that changes something, and do only the first half of it."""
    turns = itertools.count(1)

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        if op.f not in CHANGES or next(turns) % every:
            return after, answer
        micros = op.argument.micros
        half = Invocation(
            process=op.process,
            client=op.client,
            f=op.f,
            key=op.key,
            deadline_ns=op.deadline_ns,
            argument=Transaction(micros[: len(micros) // 2]),
        )
        return step(held, half)[0], answer

    return bug


def show_other_halves(every: int = 3) -> FakeBug:
    """Let reads miss some keys: one of ``every`` those with even numbers, the next one those with odd numbers."""
    turns = itertools.count()

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        missing = next(turns) % every
        if op.f not in CHANGES and missing < len(("even", "odd")):
            pairs = zip(op.argument.micros, answer.seen, strict=True)
            answer = Reads([[] if one.key % 2 == missing else seen for one, seen in pairs])
        return after, answer

    return bug


def make_money(every: int = 5) -> FakeBug:
    """Let each ``every``-th transfer of a bank put twice the amount into the account that it goes to."""
    turns = itertools.count(1)

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        if op.f is bank.F.TRANSFER and next(turns) % every == 0:
            after = {**after, op.argument.target: after[op.argument.target] + op.argument.amount}
        return after, answer

    return bug
