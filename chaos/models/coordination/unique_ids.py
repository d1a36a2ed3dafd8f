"""The model ``unique-ids``: by key a source of ids, each of which it hands out once."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, TOLD

MODEL: Final = "unique-ids"
"""The model's name."""


class F(Word):
    """What an operation on a source does. The numbers are part of the on-disk format."""

    GENERATE = 1


class Id(msgspec.Struct):
    """The id that a client was given, a number of 64 bits."""

    number: int


class UniqueIdsModel(Model):
    """Sources of ids by key."""

    name = MODEL
    help = "sources that hand out ids, each once"
    key = "source"
    change = "id"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {F.GENERATE: Function(result=Id, mutates=True, timed=True)}

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.coordination.tables``."""
        from chaos.models.coordination.tables import UniqueIdsTables

        return UniqueIdsTables()

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:  # noqa: ARG002 - there is none
        """Nothing: a client asks for any id."""
        return NO_ARGUMENT

    def pack_result(self, f: Word, result: Any) -> PackedResult:  # noqa: ARG002 - there is one word
        """The id, and whether there is one."""
        return NO_RESULT if result is None else PackedResult(result.number, TOLD, 0)

    def line(self, row: Mapping[str, Any]) -> str:
        """``generate k4 -> 17``."""
        given = f" -> {row['number']}" if row["answer"] == TOLD else ""
        return f"{F.GENERATE.word} k{row['key']}{given}"


UNIQUE_IDS: Final = UniqueIdsModel()
