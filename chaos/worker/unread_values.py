"""Messages that were acknowledged without an offset and that nobody has read yet, as one worker knows them.

A delayed or transactional message enters its queue after its acknowledgement, so no offset says whether
the final reads are long enough; only the values do. The module refuses to call anything lost: the checks do.
"""

from collections.abc import Iterable
from typing import Final

from chaos.core.op import READS, Completion, Invocation, Record, Type, Value
from chaos.core.transaction import creates

MOST: Final = 20_000
"""So many values are named at most; the final reads are waited for as long as one of them is missing."""

Named = dict[int, tuple[tuple[int, int], ...]]
"""Queue → values as (writer, sequence)."""


class Owed:
    """What one worker's clients were promised and have not been given."""

    def __init__(self) -> None:
        self._values: dict[int, set[Value]] = {}

    def learn(self, op: Invocation, done: Completion) -> None:
        """Note what an ok send without an offset promises, and take off what a read returned."""
        if op.f in READS:
            if waiting := self._values.get(op.key):
                waiting.difference_update(record.value for record in done.records if record.value is not None)
        elif op.value is not None and done.type is Type.OK and done.offset is None and creates(op.f, op.argument):
            self._values.setdefault(op.key, set()).add(op.value)

    def named(self) -> Named:
        """The values that are still missing, oldest first, at most ``MOST`` of them."""
        left, out = MOST, {}
        for key, values in sorted(self._values.items()):
            out[key] = tuple((value.writer, value.sequence) for value in sorted(values, key=_age)[:left])
            left -= len(out[key])
        return {key: values for key, values in out.items() if values}


def _age(value: Value) -> tuple[int, int]:
    return value.sequence, value.writer


def together(parts: Iterable[Named]) -> Named:
    """What several workers are owed."""
    out: Named = {}
    for part in parts:
        for key, values in part.items():
            out[key] = (*out.get(key, ()), *values)
    return out


def missing(owed: Iterable[tuple[int, int]], records: Iterable[Record]) -> int:
    """How many of the owed values a read did not return."""
    read = {record.value for record in records}
    return sum(Value(*value) not in read for value in owed)
