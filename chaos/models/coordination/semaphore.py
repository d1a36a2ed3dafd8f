"""The model ``semaphore``: by key a semaphore, some permits each of which a client may hold for a while.

Whoever acquires one of its permits is given the permit's number, by which it is given back.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, TOLD

MODEL: Final = "semaphore"
"""The model's name."""


class F(Word):
    """What an operation on a semaphore does. The numbers are part of the on-disk format."""

    ACQUIRE = 1  # take a permit if one is free; a definite failure says that none was
    GIVE_BACK = 2  # give a permit back if it is still held; a definite failure also where it is not


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How long the permit is to be held at most, counted by the service; and how many the semaphore has, from 1 on."""

    lease_ms: int
    permits: int


class Permit(msgspec.Struct):
    """The number of a permit: no other grant of the semaphore has it."""

    permit: int


class SemaphoreModel(Model):
    """Semaphores by key."""

    name = MODEL
    help = "semaphores with a fixed number of permits"
    key = "semaphore"
    change = "change"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        # not timed: that no permit is free, or that it is not held any more, is an answer too
        F.ACQUIRE: Function(argument=Wanted, result=Permit, mutates=True),
        F.GIVE_BACK: Function(argument=Permit, mutates=True),
    }

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.coordination.tables``."""
        from chaos.models.coordination.tables import SemaphoreTables

        return SemaphoreTables(acquire=F.ACQUIRE)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """The length of the lease and the number of permits, or the permit."""
        if argument is None:
            return NO_ARGUMENT
        if f is F.ACQUIRE:
            return PackedArgument(0, argument.lease_ms, argument.permits)
        return PackedArgument(0, argument.permit, 0)

    def pack_result(self, f: Word, result: Any) -> PackedResult:  # noqa: ARG002 - only one word has a result
        """The permit, and whether there is one."""
        return NO_RESULT if result is None else PackedResult(result.permit, TOLD, 0)

    def line(self, row: Mapping[str, Any]) -> str:
        """``acquire k4 1 of 3 for 4000 ms -> permit 17``, ``give-back k4 permit 17``."""
        f = F(row["f"])
        if f is F.GIVE_BACK:
            return f"{f.word} k{row['key']} permit {row['permit']}"
        given = f" -> permit {row['permit']}" if row["answer"] == TOLD else ""
        return f"{f.word} k{row['key']} 1 of {row['permits']} for {row['lease_ms']} ms{given}"


SEMAPHORE: Final = SemaphoreModel()
