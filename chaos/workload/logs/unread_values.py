"""What one worker knows of the queues when the load ends: how far they must reach, and what nobody has read yet.

A delayed or transactional message enters its queue after its acknowledgement, so no offset says whether
the final reads are long enough; only the values do. Whether any is lost the checks decide.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import creates, placed_at, records_given, value_of
from chaos.models.log.words import READS, SENDS, Record, Value

MOST: Final = 20_000
"""So many values are named at most; the final reads are waited for as long as one of them is missing."""


class LogNote(msgspec.Struct, frozen=True):
    """Of one queue: the highest offset acknowledged, -1 for none, and values acknowledged without one and not read."""

    highest: int = -1
    owed: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_all(cls, notes: Sequence[Any]) -> "LogNote":
        """What all workers noted of a queue."""
        parts = [msgspec.convert(note, cls) for note in notes]
        highest = max((part.highest for part in parts), default=-1)
        return cls(highest, tuple(value for part in parts for value in part.owed))


class Unread:
    """What one worker's clients were promised, and have not been given."""

    def __init__(self) -> None:
        self._highest: dict[int, int] = {}
        self._values: dict[int, set[Value]] = {}

    def learn(self, op: Invocation, done: Completion) -> None:
        """Note what an ok send promises, and take off what a read returned."""
        if op.f in READS:
            if waiting := self._values.get(op.key):
                waiting.difference_update(one.value for one in records_given(done).records if one.value is not None)
        elif op.f in SENDS and done.type is Type.OK:
            offset, value = placed_at(done), value_of(op)
            if offset is not None:
                self._highest[op.key] = max(self._highest.get(op.key, -1), offset)
            elif value is not None and creates(op):
                self._values.setdefault(op.key, set()).add(value)

    def notes(self) -> dict[int, LogNote]:
        """By queue; of the values that are still missing the oldest, at most ``MOST`` of all queues."""
        left, out = MOST, {}
        for key in sorted(self._highest.keys() | self._values.keys()):
            values = sorted(self._values.get(key, ()), key=_age)[:left]
            left -= len(values)
            out[key] = LogNote(self._highest.get(key, -1), tuple((value.writer, value.sequence) for value in values))
        return out


def _age(value: Value) -> tuple[int, int]:
    return value.sequence, value.writer


def count_missing(owed: Sequence[tuple[int, int]], records: Iterable[Record]) -> int:
    """How many of the owed values a read did not return."""
    if not owed:
        return 0
    read = {record.value for record in records}
    return sum(Value(*value) not in read for value in owed)
