"""Operations on a log and answers to them, in few words."""

import msgspec

from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import (
    Ack,
    Commit,
    Extend,
    Given,
    GoesOn,
    Placed,
    Pop,
    ReadCopy,
    ReadFrom,
    Schedule,
    Send,
    Transact,
)
from chaos.models.log.transaction import Decision
from chaos.models.log.words import F, Record, Value


def asking(f, argument=None, *, key=0, process=0, client=0, deadline_ns=0):
    """An operation with its struct."""
    return Invocation(process=process, client=client, f=f, key=key, deadline_ns=deadline_ns, argument=argument)


def sending(value, f=F.SEND, **where):
    """A plain send of (writer, sequence)."""
    return asking(f, Send(value=Value(*value)), **where)


def reading(f, offset=0, wait_ms=0, **where):
    """A poll, strong read or slave read from an offset."""
    return asking(f, ReadFrom(offset=offset, wait_ms=wait_ms), **where)


def placed(offset, kind=Type.OK, **more):
    """The answer to a send."""
    return Completion(type=kind, result=Placed(offset), **more)


def gave(*records, kind=Type.OK, node=None, error=None, **offsets):
    """The answer to a read or a pop: records as (offset, value or None, attempt)."""
    given = Given([Record(offset, value and Value(*value), *rest) for offset, value, *rest in records], **offsets)
    return Completion(type=kind, node=node, error=error, result=given)


def goes_on_at(offset, kind=Type.OK):
    """The answer to the question where the group goes on."""
    return Completion(type=kind, result=GoesOn(offset))


class Told(msgspec.Struct):
    """A completion with what was given beside it, flat, as assertions like it."""

    type: Type
    node: str | None = None
    offset: int | None = None
    next_offset: int | None = None
    min_offset: int | None = None
    max_offset: int | None = None
    records: tuple[Record, ...] = ()
    error: str | None = None


def told(done):
    """The completion of an operation on a log."""
    given = done.result
    facts = {}
    if isinstance(given, Placed):
        facts = {"offset": given.offset}
    elif isinstance(given, GoesOn):
        facts = {"next_offset": given.offset}
    elif isinstance(given, Given):
        facts = {name: getattr(given, name) for name in given.__struct_fields__} | {"records": tuple(given.records)}
    return Told(type=done.type, node=done.node, error=done.error, **facts)


def argument_of(f, *, value=None, offset=None, argument=0, **more):
    """The struct that a word takes, of loose facts; facts that it has no use for are left out."""
    value, offset = Value(*(value or (1, 2))), offset or 0
    structs = {
        F.SEND: lambda: Send(value=value, **more),
        F.SCHEDULE: lambda: Schedule(value=value, not_before_ns=argument, **more),
        F.TRANSACT: lambda: Transact(value=value, decision=Decision(argument), **more),
        F.COMMIT: lambda: Commit(offset=offset),
        F.REPLICA: lambda: ReadCopy(node=argument),
        F.POP: lambda: Pop(invisible_ns=argument),
        F.ACK: lambda: Ack(value=value, offset=offset),
        F.EXTEND: lambda: Extend(value=value, offset=offset, invisible_ns=argument),
        F.DRAIN: lambda: None,
        F.COMMITTED_READ: lambda: None,
    }
    return structs.get(f, lambda: ReadFrom(offset=offset, wait_ms=more.get("wait_ms", 0)))()
