"""The model ``set``: elements per key, to be added to and read as a whole.

What a read returned has any length, so it goes to the worker's file of values.
"""

from array import array
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, TOLD, UNTOLD

MODEL: Final = "set"
"""The model's name."""

SHOWN: Final = 8
"""So many elements a line of text names."""


class F(Word):
    """What an operation on a set does. The numbers are part of the on-disk format."""

    READ = 1
    ADD = 2


class Add(msgspec.Struct, frozen=True, kw_only=True):
    """The element to add, a number of 64 bits."""

    element: int


class Elements(msgspec.Struct):
    """What a read returned, in the order in which it came."""

    elements: list[int] = []


class SetModel(Model):
    """Sets by key."""

    name = MODEL
    help = "sets to which elements are added"
    key = "set"
    change = "add"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.READ: Function(result=Elements, timed=True),
        F.ADD: Function(argument=Add, mutates=True, timed=True),
    }
    stores_values = True

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.objects.tables``."""
        from chaos.models.objects.tables import SetTables

        return SetTables(add=F.ADD)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """The element."""
        return PackedArgument(0, argument.element, 0) if f is F.ADD else NO_ARGUMENT

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """The elements as numbers of 64 bits, little-endian, one behind the other."""
        if f is not F.READ or result is None:
            return NO_RESULT
        return PackedResult(0, TOLD, 0, values=array("q", result.elements).tobytes())

    def line(self, row: Mapping[str, Any]) -> str:
        """``add k4 2``, ``read k4 -> [1 2]``."""
        f = F(row["f"])
        if f is F.ADD:
            return f"{f.word} k{row['key']} {row['element']}"
        if row["answer"] == UNTOLD:
            return f"{f.word} k{row['key']}"
        shown = " ".join(map(str, row["elements"][:SHOWN]))
        more = f" … {len(row['elements'])} in all" if len(row["elements"]) > SHOWN else ""
        return f"{f.word} k{row['key']} -> [{shown}{more}]"


SET: Final = SetModel()
