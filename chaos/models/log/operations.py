"""Arguments and results of the operations on a log, and what is true of each word."""

from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.model import Function
from chaos.core.op import Completion, Invocation, Word
from chaos.models.log.transaction import COMMITTING, Decision
from chaos.models.log.words import F, Record, Value


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """A value to append. ``body_bytes``: how long the message is, at least.

    ``producer`` and ``producer_sequence``: the broker must take it at most once however often it is attempted; -1: an
    ordinary send.
    """

    value: Value
    body_bytes: int = 0
    producer: str = ""
    producer_sequence: int = -1


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A value to append that nobody may be given before ``not_before_ns``."""

    value: Value
    body_bytes: int = 0
    not_before_ns: int


class Transact(msgspec.Struct, frozen=True, kw_only=True):
    """A half message and what its producer decides of it."""

    value: Value
    body_bytes: int = 0
    decision: Decision


class ReadFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Where a read begins. ``wait_ms``: how long one that finds nothing may wait at the broker for a first record."""

    offset: int
    wait_ms: int = 0


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """The offset at which the group goes on."""

    offset: int


class ReadCopy(msgspec.Struct, frozen=True, kw_only=True):
    """Whose copy is read: a position in the run's nodes."""

    node: int


class Pop(msgspec.Struct, frozen=True, kw_only=True):
    """For how long nobody else may be given what is popped."""

    invisible_ns: int


class Ack(msgspec.Struct, frozen=True, kw_only=True):
    """The message that its holder is done with, and where it was popped from."""

    value: Value
    offset: int


class Extend(msgspec.Struct, frozen=True, kw_only=True):
    """The message that its holder keeps longer, where it was popped from, and for how long."""

    value: Value
    offset: int
    invisible_ns: int


class Placed(msgspec.Struct):
    """Where a message is: the offset of a send, a hint unless it is ok; for an ack or extend where it was popped."""

    offset: int | None = None


class Given(msgspec.Struct):
    """What a read or a pop was given so far, and the offsets as the broker said them; None where it did not."""

    records: list[Record] = []
    next_offset: int | None = None
    min_offset: int | None = None
    max_offset: int | None = None


class GoesOn(msgspec.Struct):
    """Where the group goes on; None if it never committed."""

    offset: int | None = None


FUNCTIONS: Final[Mapping[Word, Function]] = {
    F.SEND: Function(argument=Send, result=Placed, mutates=True, timed=True),
    F.POLL: Function(argument=ReadFrom, result=Given, timed=True, weak=True),
    F.READ: Function(argument=ReadFrom, result=Given, timed=True),
    F.SLAVE_READ: Function(argument=ReadFrom, result=Given, timed=True, budgeted=False, weak=True),
    F.DRAIN: Function(result=Given, final=True),
    F.COMMIT: Function(argument=Commit),
    F.COMMITTED_READ: Function(result=GoesOn),
    F.REPLICA: Function(argument=ReadCopy, result=Given, weak=True, final=True),
    F.SCHEDULE: Function(argument=Schedule, result=Placed, mutates=True, timed=True),
    F.TRANSACT: Function(argument=Transact, result=Placed, mutates=True, timed=True),
    F.POP: Function(argument=Pop, result=Given),
    F.ACK: Function(argument=Ack, result=Placed),
    F.EXTEND: Function(argument=Extend, result=Placed),
}


def value_of(op: Invocation) -> Value | None:
    """The value that an operation sends or is about; None if it names none."""
    value: Value | None = getattr(op.argument, "value", None)
    return value


def placed_at(done: Completion) -> int | None:
    """The offset in the answer to a send; None without one."""
    return done.result.offset if isinstance(done.result, Placed) else None


def records_given(done: Completion) -> Given:
    """What a read or a pop was given, nothing if it was not even asked."""
    return done.result if isinstance(done.result, Given) else Given()


def goes_on(done: Completion) -> int | None:
    """The answer to the question where the group goes on."""
    return done.result.offset if isinstance(done.result, GoesOn) else None


def creates(op: Invocation) -> bool:
    """Whether a send, once it is acknowledged, must be found in the log."""
    if isinstance(op.argument, Transact):
        return op.argument.decision in COMMITTING
    return isinstance(op.argument, Send | Schedule)
