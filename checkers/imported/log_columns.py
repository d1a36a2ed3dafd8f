"""A log of another tool's history as the columns that the kernels of our own runs read. Pure.

A column that such a history does not have holds what a run's column holds where nothing is known.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.formats.operations import Operation
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS
from checkers.history.check_input import QueueShard
from checkers.history.columns import Column
from checkers.objects.calls import freeze


class _LogCall(NamedTuple):
    """An operation on a log. ``value``: the number of what it appends, or -1; ``records``: what it read, as numbers."""

    operation: Operation
    f: F
    value: int
    offset: int
    records: list[tuple[int, int]]


def shard_of(operations: list[Operation], key: int = 0, numbers: dict[Any, int] | None = None) -> QueueShard:
    """The columns of one log.

    Args:
        operations: ``append`` with a value and an ``offset`` (ok, or a hint), ``read`` with ``from``, ``to_end``
            (whether it read to the end) and ``records`` ([offset, value], …), ascending by invocation.
        key: the number of the log.
        numbers: of values that were met before; new ones are added.

    Raises:
        ValueError: an operation that a log does not have.
    """
    calls = _calls_of(operations, {} if numbers is None else numbers)
    columns = _operation_columns(calls, key)
    return QueueShard(key, columns, _record_columns(calls, columns))


def values_of(operation: Operation) -> list[Any]:
    """The values that an operation names."""
    return [operation.argument] if _is_append(operation) else [value for _, value in _records_of(operation)]


def _calls_of(operations: Sequence[Operation], numbers: dict[Any, int]) -> list[_LogCall]:
    """The operations with numbers for values: those that were appended come first, then those that were only read."""
    for operation in operations:
        if operation.f not in ("append", "read"):
            raise ValueError(f"a log has append and read, not {operation.f}")
    values = [_number_of(one.argument, numbers) if _is_append(one) else -1 for one in operations]
    records = [[] if _is_append(one) else _records_of(one) for one in operations]
    offsets = [_offset(one, "offset" if _is_append(one) else "from") for one in operations]
    return [
        _LogCall(one, _word_of(one), value, offset, [(at, _number_of(read, numbers)) for at, read in own])
        for one, value, offset, own in zip(operations, values, offsets, records, strict=True)
    ]


def _is_append(operation: Operation) -> bool:
    return operation.f == "append"


def _word_of(operation: Operation) -> F:
    """What a run of ours calls it: a read that goes to the end says more than a poll."""
    if _is_append(operation):
        return F.SEND
    return F.READ if operation.extra.get("to_end") else F.POLL


def _number_of(value: Any, numbers: dict[Any, int]) -> int:
    return numbers.setdefault(freeze(value), len(numbers))


def _records_of(operation: Operation) -> list[tuple[int, Any]]:
    """Offsets and values that a read returned.

    Raises:
        ValueError: they are not pairs with whole numbers.
    """
    said = operation.extra.get("records") or ()
    for record in said:
        if not (isinstance(record, tuple) and len(record) == 2 and type(record[0]) is int):  # noqa: PLR2004 - a pair
            raise ValueError(f"a record is [offset, value], not {str(record)[:40]}")
    return list(said)


def _offset(operation: Operation, name: str) -> int:
    """An offset that the operation says, -1 where it says none.

    Raises:
        ValueError: it is no whole number from 0 on.
    """
    number = operation.extra.get(name)
    if number is None:
        return -1
    if type(number) is not int or number < 0:
        raise ValueError(f'"{name}" is a whole number from 0 on, not {number!r}')
    return number


def _operation_columns(calls: Sequence[_LogCall], key: int) -> dict[str, Column]:
    """One row for each operation, as ``chaos.storage.history.operation_schema`` has it."""
    size = len(calls)
    operations = [call.operation for call in calls]
    begun = _column(one.invoke for one in operations)
    unknown = np.full(size, -1, dtype=np.int64)
    return {
        "worker": np.zeros(size, dtype=np.int16),
        "op": np.arange(1, size + 1, dtype=np.int64),
        "process": _processes(operations),
        "client": np.zeros(size, dtype=np.int16),
        "pinned": np.zeros(size, dtype=np.bool_),
        "f": _column((call.f for call in calls), np.int8),
        "key": np.full(size, key, dtype=np.int32),
        "writer": _column((0 if call.f == F.SEND else -1 for call in calls), np.int32),
        "sequence": _column(call.value for call in calls),
        "offset": _column(call.offset for call in calls),
        "next_offset": unknown,
        "min_offset": unknown,
        "max_offset": unknown,
        "count": _column((len(call.records) for call in calls), np.int32),
        "type": _column((one.type for one in operations), np.int8),
        "scheduled_ns": begun,
        "invoke_ns": begun,
        "complete_ns": _column(NEVER_NS if one.type is Type.INFO else one.complete for one in operations),
        "deadline_ns": begun,
        "node": np.full(size, -1, dtype=np.int16),
        "argument": np.zeros(size, dtype=np.int64),
        "error": np.array([None] * size, dtype=object),
    }


def _record_columns(calls: Sequence[_LogCall], operations: dict[str, Column]) -> dict[str, Column]:
    """One row for each record that was read. ``operations``: the columns of the reads, which these rows repeat."""
    rows = [
        (at, position, offset, value)
        for at, call in enumerate(calls)
        for position, (offset, value) in enumerate(call.records)
    ]
    read, position, offset, sequence = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    repeated = ("op", "process", "f", "key", "invoke_ns", "complete_ns", "node")
    return {
        "worker": np.zeros(len(rows), dtype=np.int16),
        **{name: operations[name][read] for name in repeated},
        "position": position.astype(np.int32),
        "offset": offset,
        "writer": np.zeros(len(rows), dtype=np.int32),
        "sequence": sequence,
        "attempt": np.zeros(len(rows), dtype=np.int16),
    }


def _column(numbers: Iterable[int], dtype: type[np.generic] = np.int64) -> Column:
    return np.array(list(numbers), dtype=dtype)


def _processes(operations: list[Operation]) -> np.ndarray[Any, Any]:
    """Numbers for processes; an operation whose line names none has one of its own."""
    numbers: dict[Any, int] = {}
    own = [
        len(operations) + i if one.process is None else numbers.setdefault(freeze(one.process), len(numbers))
        for i, one in enumerate(operations)
    ]
    return np.array(own, dtype=np.int32)
