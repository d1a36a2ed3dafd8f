"""Banks of Redis: a key for each account, all in one slot. A transfer is one script, a read one MGET. Pure."""

from typing import Final

from chaos.core.op import Invocation
from chaos.models.transactions.bank import ACCOUNTS, OPENING, Balances, F
from cluster.systems.redis.resp import Reply
from cluster.systems.redis.transactions import Command

TRANSFER: Final = (
    f"local s = tonumber(redis.call('GET', KEYS[1]) or {OPENING}) if s < tonumber(ARGV[1]) then return 0 end"
    f" local t = tonumber(redis.call('GET', KEYS[2]) or {OPENING})"
    " redis.call('MSET', KEYS[1], s - ARGV[1], KEYS[2], t + ARGV[1]) return 1"
)
"""Move money from the first account to the second; the answer is 0 if the first holds too little."""


def command_of(op: Invocation, key: str) -> Command:
    """The command of an operation. ``key``: what the names of the keys of its bank begin with."""
    if op.f is F.READ:
        return ("MGET", *(f"{key}/{account}" for account in range(ACCOUNTS)))
    moved = op.argument
    return ("EVAL", TRANSFER, 2, f"{key}/{moved.source}", f"{key}/{moved.target}", moved.amount)


def balances_of(reply: Reply) -> Balances:
    """What a read found. Raises ValueError if it is no answer."""
    if not isinstance(reply, list) or len(reply) != ACCOUNTS:
        raise ValueError(f"{reply!r:.80} is no answer to {ACCOUNTS} keys")
    return Balances([OPENING if one is None else int(str(one)) for one in reply])
