"""What a fake system keeps: each object is a value, and a pure function says what an operation makes of it.

A function is called with what the object holds (None at first) and an operation; it returns what the object holds then
and the answer, a struct of the model. It raises ``Definite`` for an operation that is refused. An answer that is an
exception is raised to the client after the object was changed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from chaos.core.client import Definite
from chaos.core.op import Invocation, Word
from chaos.models.log import words as log
from chaos.models.log.operations import Given, GoesOn, Placed
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from chaos.models.transactions import bank

Step: TypeAlias = Callable[[Any, Invocation], tuple[Any, Any]]
"""(what the object holds, operation) → (what it holds then, answer)."""


def register_step(held: int | None, op: Invocation) -> tuple[int | None, Found | None]:
    """A register; None: nothing was ever written."""
    if op.f is register.F.READ:
        return held, Found(held)
    if op.f is register.F.CAS and held != op.argument.expected:
        raise Definite("another value is there")
    return op.argument.value, None


def set_step(held: tuple[int, ...] | None, op: Invocation) -> tuple[tuple[int, ...], sets.Elements | None]:
    """A set, as the elements in the order in which they were added."""
    elements = held or ()
    if op.f is sets.F.READ:
        return elements, sets.Elements(list(elements))
    return (*elements, op.argument.element), None


def counter_step(held: int | None, op: Invocation) -> tuple[int | None, Found | None]:
    """A sum; None: nothing was ever added."""
    if op.f is counter.F.READ:
        return held, Found(held)
    return (held or 0) + op.argument.amount, None


def bank_step(held: Mapping[int, int] | None, op: Invocation) -> tuple[Mapping[int, int], bank.Balances | None]:
    """A bank, as the balances of accounts between which money was moved."""
    balances = dict(held or {})
    if op.f is bank.F.READ:
        return balances, bank.Balances([balances.get(account, bank.OPENING) for account in range(bank.ACCOUNTS)])
    moved = op.argument
    source, target = (balances.get(account, bank.OPENING) for account in (moved.source, moved.target))
    if source < moved.amount:
        raise Definite("the account holds too little")
    return {**balances, moved.source: source - moved.amount, moved.target: target + moved.amount}, None


class Log(msgspec.Struct, frozen=True):
    """A queue: its messages by offset, and the offset at which the consumer group goes on."""

    values: tuple[log.Value, ...] = ()
    committed: int | None = None


def log_step(held: Log | None, op: Invocation) -> tuple[Log, Any]:
    """A queue; reads go from their offset to its end."""
    queue = held or Log()
    end = len(queue.values)
    if op.f is log.F.SEND:
        return Log((*queue.values, op.argument.value), queue.committed), Placed(end)
    if op.f is log.F.COMMIT:
        return Log(queue.values, op.argument.offset), None
    if op.f is log.F.COMMITTED_READ:
        return queue, GoesOn(queue.committed)
    begin = 0 if op.argument is None else min(op.argument.offset, end)
    records = [log.Record(offset, queue.values[offset]) for offset in range(begin, end)]
    return queue, Given(records=records, next_offset=end, min_offset=0, max_offset=end)


STEPS: Final[Mapping[str, Step]] = {
    log.MODEL: log_step,
    register.MODEL: register_step,
    sets.MODEL: set_step,
    counter.MODEL: counter_step,
    bank.MODEL: bank_step,
}
"""By model."""

LOG_WORDS: Final[frozenset[Word]] = frozenset(
    {log.F.SEND, log.F.POLL, log.F.READ, log.F.DRAIN, log.F.COMMIT, log.F.COMMITTED_READ}
)
"""The words of a log that ``log_step`` knows; of every other model all are known."""
