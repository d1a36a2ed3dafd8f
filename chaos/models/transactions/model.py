"""How transactions are stored and shown.

An argument is three numbers a micro-operation. A result is a number a micro-operation, how many elements it read or
``UNTOLD``, and behind these all elements. Both are numbers of 64 bits, little-endian, in the worker's file of values.
"""

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.transactions.words import MODEL, OF_LISTS, UNTOLD, Do, F, Reads, Transaction

SHOWN: Final = 12
"""Of a longer list a line of text names its first and last elements."""


class TransactionModel(Model):
    """Transactions by space."""

    name = MODEL
    help = "transactions that read and write or append to several keys"
    key = "key space"
    change = "transaction"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        # not timed: where a system compares before it appends, that somebody else came first is an answer too
        F.LIST_TXN: Function(argument=Transaction, result=Reads, mutates=True),
        F.LIST_READ: Function(argument=Transaction, result=Reads, timed=True),
        F.REGISTER_TXN: Function(argument=Transaction, result=Reads, mutates=True, timed=True),
        F.REGISTER_READ: Function(argument=Transaction, result=Reads, timed=True),
    }
    stores_values = True

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.transactions.tables``."""
        from chaos.models.transactions.tables import TransactionTables

        return TransactionTables()

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:  # noqa: ARG002 - alike for all words
        """The micro-operations."""
        numbers = chain.from_iterable((one.do, one.key, one.value) for one in argument.micros)
        return PackedArgument(0, 0, 0, values=array("q", numbers).tobytes())

    def pack_result(self, f: Word, result: Any) -> PackedResult:  # noqa: ARG002 - alike for all words
        """What was read."""
        if result is None:
            return PackedResult(UNTOLD, UNTOLD, UNTOLD)
        lengths = array("q", (UNTOLD if one is None else len(one) for one in result.seen))
        elements = array("q", chain.from_iterable(one or () for one in result.seen))
        return PackedResult(0, 0, 0, values=(lengths + elements).tobytes())

    def line(self, row: Mapping[str, Any]) -> str:
        """``list-txn append 3 7, r 4 [1 2]``; ``?`` is what nobody was told."""
        f, at, micros = F(row["f"]), 0, []
        columns = (row[name] for name in ("does", "micro_key", "micro_value", "length"))
        for does, key, value, length in zip(*columns, strict=True):
            told = row["elements"][at : at + max(length, 0)]
            at += max(length, 0)
            shown = str(value) if does != Do.READ else _shown(told, f) if length != UNTOLD else "?"
            micros.append(f"{Do(does).word} {key} {shown}")
        return f"{f.word} {', '.join(micros)}"


def _shown(told: Sequence[int], f: F) -> str:
    if f not in OF_LISTS:
        return " ".join(map(str, told)) or "nil"
    some = [*told[: SHOWN // 2], f"… {len(told) - SHOWN} more …", *told[-SHOWN // 2 :]] if len(told) > SHOWN else told
    return f"[{' '.join(map(str, some))}]"


TRANSACTION: Final = TransactionModel()
