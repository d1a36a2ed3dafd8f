"""Spaces of keys of Redis: a hash for each group, so that one command reads all of it. Pure.

Redis has no revisions, so nothing is compared, and answers name none. A transaction is one MULTI … EXEC.
"""

from typing import Final

from chaos.core.op import Invocation
from chaos.models.coordination.kv import CHANGES, DELETED, Answer, Change, F, Held, Keys, group_of
from cluster.systems.redis.resp import Reply
from cluster.systems.redis.transactions import Command

WORDS: Final = tuple(word for word in F if word is not F.COMPARE_PUT)
"""What clients know."""


def hash_of(op: Invocation, space: str) -> str:
    """The hash of the keys that an operation is about."""
    first = op.argument.first if isinstance(op.argument, Keys) else op.argument.changes[0].entry
    return f"{space}/{group_of(first)}"


def commands_of(op: Invocation, key: str) -> list[Command]:
    """The commands of an operation on a hash."""
    if op.f is F.GET:
        return [("HGET", key, op.argument.first)]
    if op.f is F.RANGE:
        return [("HGETALL", key)]
    changes = [_command_of(one, key) for one in op.argument.changes]
    return [("MULTI",), *changes, ("EXEC",)] if op.f is F.TXN else changes


def _command_of(one: Change, key: str) -> Command:
    return ("HDEL", key, one.entry) if one.value == DELETED else ("HSET", key, one.entry, one.value)


def answer_of(op: Invocation, reply: Reply) -> Answer:
    """What a client was told. Raises ValueError if it is no answer.

    Args:
        op: what was asked.
        reply: to the one command, or of a transaction those to all of them.
    """
    if op.f is F.GET:
        return Answer(held=[] if reply is None else [Held(op.argument.first, int(str(reply)))])
    if op.f is F.RANGE:
        if not isinstance(reply, list) or len(reply) % 2:
            raise ValueError(f"{reply!r:.80} is no hash")
        pairs = zip(reply[::2], reply[1::2], strict=True)
        return Answer(held=[Held(int(str(entry)), int(str(value))) for entry, value in pairs])
    replies = reply if op.f is F.TXN else [reply]
    if op.f not in CHANGES or not isinstance(replies, list) or len(replies) != len(op.argument.changes):
        raise ValueError(f"{reply!r:.80} is no answer to {len(op.argument.changes)} changes")
    did = (one.value != DELETED or int(str(own)) > 0 for one, own in zip(op.argument.changes, replies, strict=True))
    return Answer(effects=sum(done << place for place, done in enumerate(did)))
