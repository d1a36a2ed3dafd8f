"""The log with offsets, from paired operations: ``append`` of a value, ``read`` from an offset.

The operations become the columns of a queue's shard, and the kernels that judge our own runs judge them. The module
refuses what a run has beside: there is no drain, so what nobody looked at is not unseen.
"""

from typing import Any, Final

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.formats import registry as formats
from chaos.core.formats.operations import Operation
from chaos.core.history import NEVER_NS
from chaos.core.op import F, Type
from chaos.core.place import Place
from chaos.core.runinfo import Promises, RunInfo
from chaos.core.verdict import Anomaly, Results
from checkers.duplicates import DuplicatesKernel
from checkers.failed_read import FailedReadKernel
from checkers.findings import Findings, anomaly, merged, validity
from checkers.imported.question import Question
from checkers.imported.telling import results
from checkers.kernel import Context, QueueShard
from checkers.linearizable import LinearizableKernel
from checkers.models.calls import frozen
from checkers.offsets import OffsetsKernel
from checkers.order import OrderKernel
from checkers.phantom import PhantomKernel
from checkers.timeline import timeline_of

KERNELS: Final = (
    LinearizableKernel(), DuplicatesKernel(), FailedReadKernel(), OffsetsKernel(), OrderKernel(), PhantomKernel(),
)  # fmt: skip
"""What decides whether a log is linearizable: no more, no less (compared with a state-machine search)."""


def _run(keys: int) -> RunInfo:
    """What kernels may ask of the run: nothing is promised, and there is one nameless node."""
    return RunInfo(
        id="imported", status="ran", argv=(), chaos_version="", schema_version=0, boot_id="", origin_ns=0,
        origin_utc="", system="", system_version="", backend="", workload="", nemesis="noop", seed=0, settings={},
        nodes=(), roles={},
        queues=keys, rate=0.0, clients=0, workers=0, op_timeout_s=0.0, time_limit_s=0.0, fault_interval_s=0.0,
        fault_duration_s=0.0, route_poll_interval_s=None, rto_budget_s=None, promises=Promises(), planned_faults=0,
        mix={}, body_bytes=0,
    )  # fmt: skip


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


def shard_of(operations: list[Operation], key: int = 0) -> QueueShard:
    """The columns of one log.

    Args:
        operations: ``append`` with a value and an ``offset`` (ok, or a hint), ``read`` with ``from``, ``to_end``
            (whether it read to the end) and ``records`` ([offset, value], …), ascending by invocation.
        key: the number of the log.

    Raises:
        ValueError: an operation that a log does not have.
    """
    for operation in operations:
        if operation.f not in ("append", "read"):
            raise ValueError(f"a log has append and read, not {operation.f}")
    numbers: dict[Any, int] = {}
    appends = [operation.f == "append" for operation in operations]
    values = [
        numbers.setdefault(frozen(one.argument), len(numbers)) if own else -1
        for one, own in zip(operations, appends, strict=True)
    ]
    records = [[] if own else _records(one) for one, own in zip(operations, appends, strict=True)]
    size = len(operations)

    def column(rows: list[Any], dtype: type[np.generic] = np.int64) -> np.ndarray[Any, Any]:
        return np.array(rows, dtype=dtype)

    nowhere = np.full(size, -1, dtype=np.int64)
    columns: dict[str, np.ndarray[Any, Any]] = {
        "worker": np.zeros(size, dtype=np.int16), "op": np.arange(1, size + 1, dtype=np.int64),
        "process": _processes(operations), "client": np.zeros(size, dtype=np.int16),
        "pinned": np.zeros(size, dtype=np.bool_),
        "f": column(
            [F.SEND if own else F.READ if one.extra.get("to_end") else F.POLL
             for one, own in zip(operations, appends, strict=True)], np.int8),
        "key": np.full(size, key, dtype=np.int32),
        "writer": column([0 if own else -1 for own in appends], np.int32), "sequence": column(values),
        "offset": column([
            _offset(one, "offset" if own else "from") for one, own in zip(operations, appends, strict=True)
        ]),
        "next_offset": nowhere, "min_offset": nowhere, "max_offset": nowhere,
        "count": column([len(own) for own in records], np.int32),
        "type": column([one.type for one in operations], np.int8),
        "scheduled_ns": column([one.invoke for one in operations]),
        "invoke_ns": column([one.invoke for one in operations]),
        "complete_ns": column([NEVER_NS if one.type is Type.INFO else one.complete for one in operations]),
        "deadline_ns": column([one.invoke for one in operations]), "node": np.full(size, -1, dtype=np.int16),
        "argument": np.zeros(size, dtype=np.int64), "error": np.array([None] * size, dtype=object),
    }  # fmt: skip
    rows = [
        (i + 1, position, offset, numbers.setdefault(frozen(value), len(numbers)))
        for i, own in enumerate(records)
        for position, (offset, value) in enumerate(own)
    ]
    number, position, offset, sequence = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    of = number - 1
    reads: dict[str, np.ndarray[Any, Any]] = {
        "worker": np.zeros(len(rows), dtype=np.int16), "op": number, "process": columns["process"][of],
        "f": columns["f"][of], "key": columns["key"][of], "position": position.astype(np.int32), "offset": offset,
        "writer": np.zeros(len(rows), dtype=np.int32), "sequence": sequence,
        "attempt": np.zeros(len(rows), dtype=np.int16), "invoke_ns": columns["invoke_ns"][of],
        "complete_ns": columns["complete_ns"][of], "node": columns["node"][of],
    }  # fmt: skip
    return QueueShard(key, columns, reads)


def _processes(operations: list[Operation]) -> np.ndarray[Any, Any]:
    """Numbers for processes; an operation whose line names none has one of its own."""
    numbers: dict[Any, int] = {}
    own = [
        len(operations) + i if one.process is None else numbers.setdefault(frozen(one.process), len(numbers))
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
    logs: dict[Any, list[Operation]] = {}
    for operation in operations.items:
        logs.setdefault(frozen(operation.key), []).append(operation)
    run = _run(len(logs))
    context = Context(run=run, streams=(), timeline=timeline_of([], run))
    whole: Findings | None = None
    try:
        for number, own in enumerate(logs.values()):
            found = found_in(shard_of(own, number), context)
            whole = found if whole is None else merged(whole, found)
    except ValueError as error:
        raise HistoryError(f"{path}: {error}") from error
    anomalies: dict[str, Anomaly] = {
        name: anomaly(name, finding, context) for name, finding in (whole.found if whole is not None else {}).items()
    }
    return results(
        model=question.model, engine=engine, valid=validity(anomalies), anomalies=anomalies, reason="",
        cut_off=operations.cut_off, examined=f"{len(operations.items)} operations of {len(logs)} logs",
    )  # fmt: skip
