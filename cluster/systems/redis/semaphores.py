"""Semaphores of Redis: a sorted set of the permits that are held, each until when, and a counter for numbers. Pure.

Each operation is one script, so nobody comes between counting and taking. Whose time is over is removed by whoever asks
next; the time is that of the server's clock.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination.semaphore import F, Permit
from cluster.systems.redis.resp import Reply

Command = tuple[str | int, ...]

NOW: Final = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) "
"""The beginning of a script that knows the time in ms."""
ACQUIRE: Final = (
    NOW + "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)"
    " if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end"
    " local n = redis.call('INCR', KEYS[2]) redis.call('ZADD', KEYS[1], now + ARGV[1], n) return n"
)
REFUSED: Final = {F.ACQUIRE: "all permits are held", F.GIVE_BACK: "the permit is not held"}
"""What the answer 0 means."""


def command_of(op: Invocation, key: str) -> Command:
    """The command of an operation. ``key``: the semaphore's; the one beside it is in the same slot."""
    if op.f is F.GIVE_BACK:
        return ("ZREM", key, op.argument.permit)
    return ("EVAL", ACQUIRE, 2, key, f"{key}/permit", op.argument.lease_ms, op.argument.permits)


def answer_of(op: Invocation, reply: Reply) -> Permit | None:
    """What an operation was given.

    Raises:
        Definite: nothing was done.
        ValueError: it is no answer.
    """
    number = int(str(reply))
    if number == 0:
        raise Definite(REFUSED[F(op.f)])
    return Permit(number) if op.f is F.ACQUIRE else None
