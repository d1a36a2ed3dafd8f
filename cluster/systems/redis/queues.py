"""Queues of Redis by either of its recipes: a list, or a stream with a consumer group. Pure.

To take a message is one script, to acknowledge it a second command. A message that was taken and not acknowledged is
given again after a while, by whoever takes next.

``list``: messages are pushed at one end and popped at the other. Those that were popped and not acknowledged are in a
sorted set beside the list, each with the instant at which it is given again.
``stream``: messages are entries of a stream that one group of consumers reads; the group knows what was read and not
acknowledged, and since when. The group is made by whoever takes first.
"""

from typing import Final, NamedTuple

from chaos.core.op import Invocation
from chaos.models.queues.total_queue import Taken
from cluster.systems._shared.message_values import value_in
from cluster.systems.redis.resp import Reply
from cluster.systems.redis.semaphores import NOW

Command = tuple[str | int, ...]

LIST: Final = "list"
STREAM: Final = "stream"
KINDS: Final = (LIST, STREAM)
AGAIN_MS: Final = 5000
"""So long after it was taken a message that was not acknowledged is given again: more than an operation takes."""
NOT_OUT: Final = "the message was acknowledged by another client, or given to one"
_GROUP: Final = "all"
_FIELD: Final = "value"

TAKE_OF_LIST: Final = (
    NOW + "local one, again = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1)[1], 1"
    " if not one then one, again = redis.call('LPOP', KEYS[1]), 0 end"
    " if not one then redis.call('INCR', KEYS[3]) return {} end"
    " redis.call('ZADD', KEYS[2], now + ARGV[1], one) return {one, one, again}"
)
"""What there is nothing of is counted: replicas then have something to confirm."""
TAKE_OF_STREAM: Final = (
    "redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[2], '0', 'MKSTREAM')"
    " local late = redis.call('XPENDING', KEYS[1], ARGV[2], 'IDLE', ARGV[1], '-', '+', 1)[1] local got, again"
    " if late then got = redis.call('XCLAIM', KEYS[1], ARGV[2], ARGV[3], ARGV[1], late[1])[1] again = 1 end"
    " if not got then again = 0"
    " local new = redis.call('XREADGROUP', 'GROUP', ARGV[2], ARGV[3], 'COUNT', 1, 'STREAMS', KEYS[1], '>')"
    " got = new and new[1] and new[1][2][1] end"
    " if not got then redis.call('INCR', KEYS[2]) return {} end return {got[1], got[2][2], again}"
)


class Given(NamedTuple):
    """A message that was taken: by what it is acknowledged, its value, and whether it was given before."""

    name: str
    taken: Taken


def enqueue(op: Invocation, key: str, kind: str) -> Command:
    """The command that adds a message."""
    if kind == LIST:
        return ("RPUSH", key, op.argument.value)
    return ("XADD", key, "*", _FIELD, op.argument.value)


def take(op: Invocation, key: str, kind: str) -> Command:
    """The command that takes one. ``key``: the queue's; keys beside it are in the same slot."""
    if kind == LIST:
        return ("EVAL", TAKE_OF_LIST, 3, key, f"{key}/taken", f"{key}/empty", AGAIN_MS)
    return ("EVAL", TAKE_OF_STREAM, 2, key, f"{key}/empty", AGAIN_MS, _GROUP, f"c{op.process}")


def acknowledge(given: Given, key: str, kind: str) -> Command:
    """The command that acknowledges it; its answer is 0 if it is not there to be acknowledged any more."""
    return ("ZREM", f"{key}/taken", given.name) if kind == LIST else ("XACK", key, _GROUP, given.name)


def given_of(reply: Reply) -> Given | None:
    """What a take returned; None if the queue was empty. Raises ValueError: it is no answer."""
    if reply == []:
        return None
    if not isinstance(reply, list) or len(reply) != 3:  # noqa: PLR2004 - name, value, whether again
        raise ValueError(f"{reply!r:.80} is no message")
    name, body, again = reply
    return Given(str(name), Taken(value=value_in(str(body).encode()), again=again == 1))
