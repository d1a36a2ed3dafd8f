"""The model ``bank``: accounts per key between which money is moved, and reads of all of them at one moment.

Every account holds ``OPENING`` at first. Nobody writes that before the load: a client that finds no account goes by
this balance.
"""

from array import array
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, TOLD, UNTOLD

MODEL: Final = "bank"
"""The model's name."""
ACCOUNTS: Final = 8
"""A bank has accounts 0 to 7."""
OPENING: Final = 20
"""What every account holds at first."""
TOTAL: Final = ACCOUNTS * OPENING
"""What all accounts of a bank hold together at any moment."""


class F(Word):
    """What an operation on a bank does. The numbers are part of the on-disk format."""

    READ = 1  # all accounts at one moment
    TRANSFER = 2


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """Move ``amount``, above 0, from one account to another; it certainly fails where ``source`` holds less."""

    source: int
    target: int
    amount: int


class Balances(msgspec.Struct):
    """What a read found: the balance of each account, in order."""

    balances: list[int]


class BankModel(Model):
    """Banks by key."""

    name = MODEL
    help = "accounts with balances, between which money is transferred"
    key = "bank"
    change = "transfer"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.READ: Function(result=Balances, timed=True),
        # not timed: that an account holds too little, or that somebody else came first, is an answer too
        F.TRANSFER: Function(argument=Transfer, mutates=True),
    }
    stores_values = True

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.transactions.bank_tables``."""
        from chaos.models.transactions.bank_tables import BankTables

        return BankTables(transfer=F.TRANSFER)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """Both accounts and the amount."""
        return PackedArgument(argument.amount, argument.source, argument.target) if f is F.TRANSFER else NO_ARGUMENT

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """The balances as numbers of 64 bits, little-endian, one behind the other."""
        if f is not F.READ or result is None:
            return NO_RESULT
        return PackedResult(0, TOLD, 0, values=array("q", result.balances).tobytes())

    def line(self, row: Mapping[str, Any]) -> str:
        """``transfer k0 3 -> 5: 2``, ``read k0 -> [20 18 …]``."""
        f = F(row["f"])
        if f is F.TRANSFER:
            return f"{f.word} k{row['key']} {row['source']} -> {row['target']}: {row['amount']}"
        if row["answer"] == UNTOLD:
            return f"{f.word} k{row['key']}"
        return f"{f.word} k{row['key']} -> [{' '.join(map(str, row['balances']))}]"


BANK: Final = BankModel()
