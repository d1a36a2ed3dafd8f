"""Locks of Redis: a key with a time to live, and a counter whose next value is the fencing token. Pure.

Each operation is one script. With fencing the resource keeps the highest token that it has seen, and refuses a write
under a lower one; without it takes every write. A version is what a counter beside the resource says.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination import lock
from cluster.systems.redis.resp import Reply

Command = tuple[str | int, ...]

ACQUIRE: Final = (
    "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end local t = redis.call('INCR', KEYS[2])"
    " redis.call('SET', KEYS[1], t, 'PX', ARGV[1]) return t"
)
REMOVE: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
GUARDED: Final = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('INCR', KEYS[2])"
FENCED: Final = "if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[1]) then return 0 end " + GUARDED
REFUSED: Final = {
    lock.F.ACQUIRE: "somebody holds the lock",
    lock.F.GUARDED: "a later token was seen",
    lock.F.UNLOCK: "the lock is not held under this token",
}
"""What the answer 0 means."""


def command_of(op: Invocation, key: str, *, fencing: bool) -> Command:
    """The command of an operation. ``key``: the lock's; keys beside it are in the same slot."""
    if op.f is lock.F.ACQUIRE:
        return ("EVAL", ACQUIRE, 2, key, f"{key}/token", op.argument.lease_ms)
    if op.f is lock.F.UNLOCK:
        return ("EVAL", REMOVE, 1, key, op.argument.token)
    return ("EVAL", FENCED if fencing else GUARDED, 2, f"{key}/guarded", f"{key}/version", op.argument.token)


def answer_of(op: Invocation, reply: Reply) -> lock.Granted | lock.Written | None:
    """What an operation was given.

    Raises:
        Definite: nothing was done.
        ValueError: it is no answer.
    """
    number = int(str(reply))
    if number == 0:
        raise Definite(REFUSED[lock.F(op.f)])
    if op.f is lock.F.ACQUIRE:
        return lock.Granted(number)
    return lock.Written(number) if op.f is lock.F.GUARDED else None
