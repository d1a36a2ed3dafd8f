"""The model ``register``: one number per key, to be read, written, and compared and set."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, Found, found_text, packed_found

MODEL: Final = "register"
"""The model's name."""


class F(Word):
    """What an operation on a register does. The numbers are part of the on-disk format."""

    READ = 1
    WRITE = 2
    CAS = 3  # write if the register holds what is expected; a definite failure says that it did not


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """The number to write, of 64 bits."""

    value: int


class Cas(msgspec.Struct, frozen=True, kw_only=True):
    """The number to write where ``expected`` is."""

    expected: int
    value: int


class RegisterModel(Model):
    """Numbers by key."""

    name = MODEL
    help = "registers that hold one value: read, write, compare-and-set"
    key = "register"
    change = "write"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.READ: Function(result=Found, timed=True),
        F.WRITE: Function(argument=Write, mutates=True, timed=True),
        F.CAS: Function(argument=Cas, mutates=True),  # not timed: that nothing was expected here is an answer too
    }

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.objects.tables``."""
        from chaos.models.objects.tables import RegisterTables

        return RegisterTables(read=F.READ, cas=F.CAS)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """The number to write, and the one that is expected."""
        if f is F.WRITE:
            return PackedArgument(0, argument.value, 0)
        return PackedArgument(0, argument.value, argument.expected) if f is F.CAS else NO_ARGUMENT

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """What a read found."""
        return packed_found(result) if f is F.READ else NO_RESULT

    def line(self, row: Mapping[str, Any]) -> str:
        """``read k4 -> 7``, ``write k4 7``, ``cas k4 2->7``."""
        f = F(row["f"])
        what = {F.READ: found_text(row), F.WRITE: f" {row['value']}", F.CAS: f" {row['expected']}->{row['value']}"}[f]
        return f"{f.word} k{row['key']}{what}"


REGISTER: Final = RegisterModel()
