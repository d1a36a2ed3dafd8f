"""The model ``total-queue``: by key a queue of messages without offsets, each to be taken by one client.

A dequeue takes one message and acknowledges it. A client notes the message before it acknowledges it, so no
client has acknowledged a message that no dequeue returned.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import ABSENT, NO_ARGUMENT, NO_RESULT, TOLD

MODEL: Final = "total-queue"
"""The model's name."""

STRANGE: Final = -1
"""The value of a message that is none of ours: its body is no number that a client may have sent."""


class F(Word):
    """What an operation on a queue does. The numbers are part of the on-disk format."""

    ENQUEUE = 1
    DEQUEUE = 2  # take a message and acknowledge it; ok: the acknowledgement was accepted, or nothing was there


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The value to enqueue: a number of 64 bits from 0 on, unique in the run."""

    value: int


class Taken(msgspec.Struct):
    """What a dequeue was given. ``value``: None if the queue was empty. ``again``: the system calls it a redelivery."""

    value: int | None = None
    again: bool = False


class TotalQueueModel(Model):
    """Queues of messages without offsets by key."""

    name = MODEL
    help = "queues without offsets: each message is given to one consumer"
    key = "queue"
    change = "message"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.ENQUEUE: Function(argument=Message, mutates=True, timed=True),
        F.DEQUEUE: Function(result=Taken, timed=True),
    }

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.queues.tables``."""
        from chaos.models.queues.tables import TotalQueueTables

        return TotalQueueTables(enqueue=F.ENQUEUE)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """The value."""
        return PackedArgument(0, argument.value, 0) if f is F.ENQUEUE else NO_ARGUMENT

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """The value, whether there is one, and whether it is a redelivery."""
        if f is not F.DEQUEUE or result is None:
            return NO_RESULT
        if result.value is None:
            return PackedResult(0, ABSENT, 0)
        return PackedResult(result.value, TOLD, int(result.again))

    def line(self, row: Mapping[str, Any]) -> str:
        """``enqueue k4 17``, ``dequeue k4 -> 17``, ``dequeue k4 -> 17 again``, ``dequeue k4 -> empty``."""
        f = F(row["f"])
        if f is F.ENQUEUE:
            return f"{f.word} k{row['key']} {row['value']}"
        again = " again" if row["again"] else ""
        given = {TOLD: f" -> {row['value']}{again}", ABSENT: " -> empty"}.get(int(row["answer"]), "")
        return f"{f.word} k{row['key']}{given}"


TOTAL_QUEUE: Final = TotalQueueModel()
