"""The model ``counter``: one sum per key, to be added to and read."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, Found, found_text, packed_found

MODEL: Final = "counter"
"""The model's name."""


class F(Word):
    """What an operation on a counter does. The numbers are part of the on-disk format."""

    READ = 1
    ADD = 2


class Add(msgspec.Struct, frozen=True, kw_only=True):
    """How much to add: a number of 63 bits, not negative."""

    amount: int


class CounterModel(Model):
    """Sums by key."""

    name = MODEL
    help = "counters to which amounts are added"
    key = "counter"
    change = "add"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.READ: Function(result=Found, timed=True),
        F.ADD: Function(argument=Add, mutates=True, timed=True),
    }

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.objects.tables``."""
        from chaos.models.objects.tables import CounterTables

        return CounterTables(read=F.READ, add=F.ADD)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """How much is added."""
        return PackedArgument(0, argument.amount, 0) if f is F.ADD else NO_ARGUMENT

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """What a read found."""
        return packed_found(result) if f is F.READ else NO_RESULT

    def line(self, row: Mapping[str, Any]) -> str:
        """``add k4 2``, ``read k4 -> 7``."""
        f = F(row["f"])
        return f"{f.word} k{row['key']}" + (f" {row['amount']}" if f is F.ADD else found_text(row))


COUNTER: Final = CounterModel()
