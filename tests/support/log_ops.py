"""Operations on a log and answers to them, in few words."""

from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import Given, GoesOn, Placed, ReadFrom, Send
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
