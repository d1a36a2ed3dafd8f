"""The log with offsets, from paired operations: ``append`` of a value, ``read`` from an offset.

The operations become the columns of a queue's shard, and the kernels that judge our own runs judge them. There is no
drain as in a run, so what was not looked at is not unseen.
"""

from typing import Any, Final

import msgspec
import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.history import NEVER_NS
from chaos.core.op import Type
from chaos.core.storage_path import Place
from chaos.core.verdict import Anomaly, Results
from chaos.formats import registry as formats
from chaos.formats.missing import UNDONE, Missing, Stands, retractable
from chaos.formats.operations import Operation
from chaos.models.log.words import F
from checkers.anomalies.findings import Findings, anomaly, count_of, merge_findings, validity
from checkers.history.check_input import Context, QueueShard
from checkers.history.timeline import timeline_of
from checkers.imported.empty_run import empty_run_info
from checkers.imported.figures import figures
from checkers.imported.load import of_operations
from checkers.imported.log_report import Found, Log, examples_of
from checkers.imported.options import Question
from checkers.imported.results import results
from checkers.log.duplicates import DuplicatesKernel
from checkers.log.failed_read import FailedReadKernel
from checkers.log.linearizable import LinearizableKernel
from checkers.log.offsets import OffsetsKernel
from checkers.log.order import OrderKernel
from checkers.log.phantom import PhantomKernel
from checkers.objects.calls import freeze
from checkers.objects.finding import show

KERNELS: Final = (
    LinearizableKernel(),
    DuplicatesKernel(),
    FailedReadKernel(),
    OffsetsKernel(),
    OrderKernel(),
    PhantomKernel(),
)
"""What decides whether a log is linearizable: no more, no less (compared with a state-machine search)."""

STANDS: Final[Stands] = {
    "duplicate": Missing.ANY,
    "inconsistent-offsets": Missing.ANY,
    "phantom": UNDONE,  # its append may be in a line that is missing
    "G1a": Missing.ANY,
    "nonlinearizable-offset": Missing.ANY,
    "stale-tail": Missing.ANY,
    "nonmonotonic-send": Missing.ANY,
    "int-nonmonotonic-poll": Missing.ANY,
    "nonmonotonic-poll": Missing.ANY,
    "int-poll-skip": Missing.ANY,
    "poll-skip": Missing.ANY,
    "corrupt": Missing.ANY,
}
"""What may be missing of a log for an anomaly to stand: offsets that were shown stay what they are."""


def _records(operation: Operation) -> list[tuple[int, Any]]:
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
    for operation in operations:
        if operation.f not in ("append", "read"):
            raise ValueError(f"a log has append and read, not {operation.f}")
    numbers = {} if numbers is None else numbers
    appends = [operation.f == "append" for operation in operations]
    values = [
        numbers.setdefault(freeze(one.argument), len(numbers)) if own else -1
        for one, own in zip(operations, appends, strict=True)
    ]
    records = [[] if own else _records(one) for one, own in zip(operations, appends, strict=True)]
    size = len(operations)

    def column(rows: list[Any], dtype: type[np.generic] = np.int64) -> np.ndarray[Any, Any]:
        return np.array(rows, dtype=dtype)

    nowhere = np.full(size, -1, dtype=np.int64)
    columns: dict[str, np.ndarray[Any, Any]] = {
        "worker": np.zeros(size, dtype=np.int16),
        "op": np.arange(1, size + 1, dtype=np.int64),
        "process": _processes(operations),
        "client": np.zeros(size, dtype=np.int16),
        "pinned": np.zeros(size, dtype=np.bool_),
        "f": column(
            [
                F.SEND if own else F.READ if one.extra.get("to_end") else F.POLL
                for one, own in zip(operations, appends, strict=True)
            ],
            np.int8,
        ),
        "key": np.full(size, key, dtype=np.int32),
        "writer": column([0 if own else -1 for own in appends], np.int32),
        "sequence": column(values),
        "offset": column(
            [_offset(one, "offset" if own else "from") for one, own in zip(operations, appends, strict=True)]
        ),
        "next_offset": nowhere,
        "min_offset": nowhere,
        "max_offset": nowhere,
        "count": column([len(own) for own in records], np.int32),
        "type": column([one.type for one in operations], np.int8),
        "scheduled_ns": column([one.invoke for one in operations]),
        "invoke_ns": column([one.invoke for one in operations]),
        "complete_ns": column([NEVER_NS if one.type is Type.INFO else one.complete for one in operations]),
        "deadline_ns": column([one.invoke for one in operations]),
        "node": np.full(size, -1, dtype=np.int16),
        "argument": np.zeros(size, dtype=np.int64),
        "error": np.array([None] * size, dtype=object),
    }
    rows = [
        (i + 1, position, offset, numbers.setdefault(freeze(value), len(numbers)))
        for i, own in enumerate(records)
        for position, (offset, value) in enumerate(own)
    ]
    number, position, offset, sequence = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    of = number - 1
    reads: dict[str, np.ndarray[Any, Any]] = {
        "worker": np.zeros(len(rows), dtype=np.int16),
        "op": number,
        "process": columns["process"][of],
        "f": columns["f"][of],
        "key": columns["key"][of],
        "position": position.astype(np.int32),
        "offset": offset,
        "writer": np.zeros(len(rows), dtype=np.int32),
        "sequence": sequence,
        "attempt": np.zeros(len(rows), dtype=np.int16),
        "invoke_ns": columns["invoke_ns"][of],
        "complete_ns": columns["complete_ns"][of],
        "node": columns["node"][of],
    }
    return QueueShard(key, columns, reads)


def _processes(operations: list[Operation]) -> np.ndarray[Any, Any]:
    """Numbers for processes; an operation whose line names none has one of its own."""
    numbers: dict[Any, int] = {}
    own = [
        len(operations) + i if one.process is None else numbers.setdefault(freeze(one.process), len(numbers))
        for i, one in enumerate(operations)
    ]
    return np.array(own, dtype=np.int32)


def found_in(shard: QueueShard, context: Context) -> Findings:
    """What the kernels find in one log."""
    parts = [kernel.examine(shard, context) for kernel in KERNELS]
    merged = Findings(examined=len(shard.operations["op"]), found={})
    for part in parts:
        merged.found.update(part.found)
    return merged


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a history of logs, one per key.

    Raises:
        HistoryError: naming file and fault.
    """
    operations = formats.read(path, question.format)
    by_key: dict[Any, tuple[Any, list[Operation]]] = {}
    for operation in operations.items:
        by_key.setdefault(freeze(operation.key), (operation.key, []))[1].append(operation)
    run = empty_run_info(len(by_key))
    context = Context(run=run, streams=(), timeline=timeline_of([], run))
    logs: list[Log] = []
    whole: Findings | None = None
    try:
        for number, (key, own) in enumerate(by_key.values()):
            numbers: dict[Any, int] = {}
            found = found_in(shard_of(own, number, numbers), context)
            whole = found if whole is None else merge_findings(whole, found)
            logs.append(_log(own, number, "" if len(by_key) == 1 and key is None else show(key), numbers, context))
    except ValueError as error:
        raise HistoryError(f"{path}: {error}") from error
    found_at_all = whole.found if whole is not None else {}
    anomalies: dict[str, Anomaly] = {
        name: msgspec.structs.replace(anomaly(name, finding, context), examples=examples_of(name, finding, logs))
        for name, finding in found_at_all.items()
    }
    return results(
        model=question.model,
        engine=engine,
        valid=validity(anomalies),
        anomalies=anomalies,
        reason="",
        cut_off=operations.cut_off,
        undone=retractable(anomalies, STANDS, operations.missing),
        examined=f"{len(operations.items)} operations of {count_of(len(logs), 'log')}",
        figures=figures(of_operations(operations.items, question.model), operations.others, None),
    )


def _log(own: list[Operation], key: int, name: str, numbers: dict[Any, int], context: Context) -> Log:
    """A log as it is told. ``numbers``: of its values, as the kernels were given them."""
    shown = {freeze(value): value for one in own for value in _values(one)}

    def judged(some: list[Operation]) -> Found:
        return found_in(shard_of(some, key, numbers), context).found

    return Log(own, name, judged, {f"0:{number}": shown[value] for value, number in numbers.items()})


def _values(operation: Operation) -> list[Any]:
    """The values that an operation names."""
    return [operation.argument] if operation.f == "append" else [value for _, value in _records(operation)]
