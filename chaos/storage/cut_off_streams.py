"""The stream of a worker that was killed, ended properly by somebody else: what is there is all that there was.

A worker stores an invocation before the call goes out, into a mapped file that outlives it. So a kill cuts off at most
the one record that was being stored. If that was an invocation, its call never left. If it was a completion, the
operation stays open: nobody knows its outcome. Without that record the history says just that.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.model import Model
from chaos.core.op import Type
from chaos.storage.recorder import FLAG_VALUES, FRAME, OP_SIZE, end_record
from chaos.storage.streams import Records, read_records


class Sealed(NamedTuple):
    """What a stream holds: how many operations, and how many of them have an unknown outcome or none."""

    operations: int
    unknown: int


def seal(history: Path, worker: int, model: Model) -> Sealed:
    """End the stream of a worker whose process is gone; fine if it is ended already.

    Args:
        history: the folder ``history``.
        worker: the number of its stream.
        model: whose operations it holds.

    Raises:
        HistoryError: it is not merely cut off at its end.
    """
    records = read_records(history, worker, model)
    if not records.ended:
        _cut(history, worker, model, records)
        again = read_records(history, worker, model)
        if not again.ended or _shape(again) != _shape(records):
            raise HistoryError(f"{history}/w{worker}.ops: the stream of a killed worker is not whole up to its end")
    known = int((records.completed["type"] != Type.INFO).sum())
    return Sealed(len(records.invoked), len(records.invoked) - known)


def _shape(records: Records) -> tuple[int, int, int]:
    return len(records.invoked), len(records.completed), 0 if records.rows is None else len(records.rows)


def _cut(history: Path, worker: int, model: Model, records: Records) -> None:
    """Cut every file behind what is proven; the records of operations last, and their end behind them."""
    completed, count = records.completed, len(records.invoked) + len(records.completed)
    used = int(completed["ref"].max()) if len(completed) else 0
    lines = "".join(f"{line}\n" for line in records.errors[1 : used + 1])
    _keep(history / f"w{worker}.errors", len(lines.encode()))
    if records.rows is not None:
        _keep(history / f"w{worker}.reads", len(records.rows) * records.rows.dtype.itemsize)
    if model.stores_values:
        named = sum(int(np.count_nonzero(one["flags"] & FLAG_VALUES)) for one in (records.invoked, completed))
        _keep(history / f"w{worker}.values", sum(FRAME.size + len(one) for one in records.values[1 : named + 1]))
    path = history / f"w{worker}.ops"
    _keep(path, count * OP_SIZE)
    with path.open("ab") as file:
        file.write(end_record(count + 1))


def _keep(path: Path, size: int) -> None:
    """Cut a file behind so many bytes."""
    with path.open("rb+") as file:
        file.truncate(size)
