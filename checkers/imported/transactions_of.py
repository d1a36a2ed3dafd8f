"""Transactions from what a reader gives: from columns of records, or from operations that a file has paired.

The value of an ok completion is what happened. One of a failed or indeterminate completion may lack what was read, or
all; the invocation's stands for it then. A read of nil is an observation only where the transaction was ok.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from chaos.basics.variable_lengths import offsets
from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE, partners
from chaos.formats.operations import Operation, Operations
from chaos.formats.records import Event
from chaos.formats.txn import TxnHistory
from chaos.formats.txn_columns import NO_LIST, SAID, MicroKind, TxnColumns, reorder
from chaos.formats.txn_rows import Rows
from checkers.history.columns import Ints, Mask
from checkers.imported.load import Load, of_operations, of_transactions
from checkers.txn.transactions import NEVER, NIL, Transactions

_IDS: Final = 1 << 31
"""Ids of values are below this."""


class Imported(NamedTuple):
    """A history of transactions.

    ``words``: of each transaction what the file calls it. ``answered``: whether there is a completion of it.
    """

    transactions: Transactions
    words: Sequence[str]
    answered: Mask
    load: Load
    others: Sequence[Event]
    cut_off: str | None


def of_history(history: TxnHistory) -> Imported:
    """Records, each transaction two of them.

    Raises:
        HistoryError: a completion without its invocation, or of another kind than it.
    """
    columns = history.columns
    ops = columns.ops
    partner = partners(ops)
    _paired(columns, partner)
    begun = np.flatnonzero((ops.type == Type.INVOKE) & (ops.process >= 0))
    ended = partner[begun]
    answered = ended >= 0
    type_ = np.where(answered, ops.type[ended], np.int8(Type.INFO))
    record = np.where(answered & ((ops.flags[ended] & SAID) != 0), ended, begun)
    transactions = _transactions(
        columns,
        record,
        process=ops.process[begun],
        type=type_,
        invoke=begun,
        complete=np.where(type_ == Type.INFO, NEVER, ended),
        number=ops.index[begun],
        completion=np.where(answered, ops.index[ended], -1),
    )
    ended_ns = np.where(answered, ops.time_ns[ended], NONE)
    load = of_transactions(columns.words, ops.f[begun], type_, ops.time_ns[begun], ended_ns)
    words = [columns.words[f] for f in ops.f[begun].tolist()]
    return Imported(transactions, words, answered, load, history.others, history.cut_off)


def _paired(columns: TxnColumns, partner: Ints) -> None:
    """Look whether completions fit their invocations.

    Raises:
        HistoryError: one does not.
    """
    ops = columns.ops
    done = (ops.process >= 0) & ((ops.type == Type.OK) | (ops.type == Type.FAIL))
    alone = np.flatnonzero(done & (partner < 0))
    other = np.flatnonzero((ops.type != Type.INVOKE) & (partner >= 0) & (ops.f != ops.f[partner]))
    if len(alone):
        row = int(alone[0])
        raise HistoryError(f"{_record(columns, row)} completes a {columns.words[ops.f[row]]} it never invoked")
    if len(other):
        row = int(other[0])
        began = columns.words[ops.f[partner[row]]]
        raise HistoryError(f"{_record(columns, row)} completes a {columns.words[ops.f[row]]}, but began a {began}")


def _record(columns: TxnColumns, row: int) -> str:
    return f"record {columns.ops.index[row]}: process {columns.ops.process[row]}"


def of_paired(operations: Operations, *, lists: bool) -> Imported:
    """Operations that the file has paired.

    Args:
        operations: ascending by invocation.
        lists: whether keys are lists; else they are registers.

    Raises:
        HistoryError: an operation that is no transaction of such keys, or of no process.
    """
    items, rows = operations.items, Rows(lists=lists)
    for one in items:
        if type(one.process) is not int or one.process < 0:
            raise HistoryError(f'operation {one.number}: a transaction has a "process", an integer from 0')
        try:
            rows.add(Event(one.number, None, one.type, one.process, one.f, _said(one), {}, one.number))
        except ValueError as error:
            raise HistoryError(f"operation {one.number}: {error}") from error
    columns = rows.columns()
    transactions = _transactions(
        columns,
        np.arange(len(items)),
        process=columns.ops.process,
        type=columns.ops.type,
        invoke=np.array([one.invoke for one in items], dtype=np.int64),
        complete=np.array([one.complete for one in items], dtype=np.int64),
        number=columns.ops.index,
        completion=np.array([one.completion for one in items], dtype=np.int64),
    )
    answered = np.array([one.answered for one in items], dtype=np.bool_)
    words = [one.f for one in items]
    load = of_operations(items, "")
    return Imported(transactions, words, answered, load, operations.others, operations.cut_off)


def _said(operation: Operation) -> Any:
    """The micro-operations of an operation, as far as anybody knows them."""
    told = operation.output
    whole = isinstance(told, tuple) and all(isinstance(one, tuple) for one in told)
    return told if whole or (told is not None and operation.type is Type.OK) else operation.argument


def _transactions(columns: TxnColumns, record: Ints, **orders: Any) -> Transactions:
    """Transactions, each with the micro-operations of one record; ``orders``: their other columns."""
    chosen = reorder(columns, record)
    own = chosen.micros
    asked = (own.kind == MicroKind.READ) & (own.value == NONE) & (own.length == NO_LIST)
    value, elements, values = _numbered(columns, own.value, chosen.elements)
    return Transactions(
        first=offsets(np.bincount(own.op, minlength=len(record))),
        kind=own.kind,
        key=own.key.astype(np.int64),
        value=value,
        known=~asked | (orders["type"][own.op] == Type.OK),
        read_first=offsets(np.maximum(own.length, 0)),
        elements=elements,
        keys=columns.keys,
        values=values,
        **orders,
    )


def _numbered(columns: TxnColumns, value: Ints, elements: Ints) -> tuple[Ints, Ints, list[Any] | None]:
    """Values and elements as ids, and what these stand for; None where they are small integers already."""
    said = value[value != NIL]
    both = (said, elements)
    if all(not len(one) or (int(one.min()) >= 0 and int(one.max()) < _IDS) for one in both):
        return value, elements, None
    codes, ids = np.unique(np.concatenate(both), return_inverse=True)
    found = value.copy()
    found[value != NIL] = ids[: len(said)]
    return found, ids[len(said) :], [columns.value_of(code) for code in codes.tolist()]
