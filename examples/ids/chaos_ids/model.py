"""The model ``ids``: by key a source of numbers that gives each number once, in growing order."""

from collections.abc import Mapping
from typing import Any

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word

NOTHING = -1


class F(Word):
    """What an operation does. The numbers are part of what is stored: never change them."""

    NEXT = 1


class Id(msgspec.Struct):
    """What a client was given."""

    number: int


class IdsModel(Model):
    """Sources of ids by key."""

    name = "ids"
    help = "sources that hand out numbers, each once"
    key = "source"
    change = "draw"
    words = F
    functions: Mapping[Word, Function] = {F.NEXT: Function(result=Id, mutates=True, timed=True)}

    @property
    def tables(self) -> ModelTables:
        """The columns; imported when they are asked for, so that load starts fast."""
        from chaos_ids.tables import IdsTables

        return IdsTables()

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """NEXT takes no argument."""
        return PackedArgument(0, 0, 0)

    def pack_result(self, f: Word, result: Id | None) -> PackedResult:
        """The number is the first of the three that a completion has room for."""
        return PackedResult(NOTHING if result is None else result.number, NOTHING, NOTHING)

    def line(self, row: Mapping[str, Any]) -> str:
        """``next k4 -> 17`` in ``chaos show``."""
        return f"{F.NEXT.word} k{row['key']}" + ("" if row["number"] == NOTHING else f" -> {row['number']}")


IDS = IdsModel()
