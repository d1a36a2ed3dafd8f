"""Transactions are in their tables as they were, whatever was told of them."""

from chaos.core.op import Completion, Invocation, Type
from chaos.models.transactions.model import TRANSACTION
from chaos.models.transactions.words import Do, F, Micro, Reads, Transaction
from chaos.storage.history import read_stream
from chaos.storage.recorder import Recorder

LARGEST = 2**63 - 1
MIXED = Transaction((Micro(Do.APPEND, 3, 7), Micro(Do.READ, 4), Micro(Do.READ, 5)))


def told(folder, *ops):
    """The columns and the lines of operations: (f, argument, type or None without an end, result)."""
    recorder = Recorder(folder, 0, ("m1",), TRANSACTION)
    for f, argument, kind, result in ops:
        op = Invocation(process=1, client=0, f=f, key=0, deadline_ns=0, argument=argument)
        number, _ = recorder.invoke(op, 0, pinned=False)
        if kind is not None:
            recorder.complete(number, op, Completion(type=kind, result=result))
    recorder.close()
    rows = read_stream(folder, 0, TRANSACTION).operations.to_pylist()
    names = TRANSACTION.tables.columns.names
    return [tuple(row[name] for name in names) for row in rows], [TRANSACTION.line(row) for row in rows]


def test_each_answer_is_kept_as_it_came(tmp_path):
    columns, lines = told(
        tmp_path,
        (F.LIST_TXN, MIXED, Type.OK, Reads([None, [1, LARGEST], []])),
        (F.LIST_TXN, MIXED, Type.INFO, Reads([None, [-1], None])),
        (F.LIST_TXN, MIXED, Type.FAIL, None),
        (F.LIST_TXN, MIXED, None, None),
        (F.LIST_READ, Transaction(()), Type.OK, Reads([])),
        (F.REGISTER_TXN, Transaction((Micro(Do.WRITE, 1, 2), Micro(Do.READ, 1))), Type.OK, Reads([None, [2]])),
        (F.REGISTER_READ, Transaction((Micro(Do.READ, 1), Micro(Do.READ, 2))), Type.OK, Reads([[], None])),
        (F.LIST_READ, Transaction((Micro(Do.READ, 1),)), Type.OK, Reads([list(range(40))])),
    )
    does, key, value = [1, 0, 0], [3, 4, 5], [7, 0, 0]
    assert columns[:5] == [
        (does, key, value, [-1, 2, 0], [1, LARGEST]),
        (does, key, value, [-1, 1, -1], [-1]),
        (does, key, value, [-1, -1, -1], []),
        (does, key, value, [-1, -1, -1], []),
        ([], [], [], [], []),
    ]
    assert columns[5:7] == [([2, 0], [1, 1], [2, 0], [-1, 1], [2]), ([0, 0], [1, 2], [0, 0], [0, -1], [])]
    assert lines == [
        f"list-txn append 3 7, r 4 [1 {LARGEST}], r 5 []",
        "list-txn append 3 7, r 4 [-1], r 5 ?",
        "list-txn append 3 7, r 4 ?, r 5 ?",
        "list-txn append 3 7, r 4 ?, r 5 ?",
        "list-read ",
        "register-txn w 1 2, r 1 2",
        "register-read r 1 nil, r 2 ?",
        "list-read r 1 [0 1 2 3 4 5 … 28 more … 34 35 36 37 38 39]",
    ]
