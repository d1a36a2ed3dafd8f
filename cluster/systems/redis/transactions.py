"""Transactions over keys: each is one MULTI … EXEC, with a command for every micro-operation. Pure.

Lists are Redis' own (``RPUSH``, ``LRANGE``), registers are ``SET`` and ``GET``. All keys of a space are in one slot.
"""

from collections.abc import Sequence

from chaos.core.op import Invocation
from chaos.models.transactions.words import OF_LISTS, Do, Micro, Reads, Seen
from cluster.systems.redis.resp import Reply

Command = tuple[str | int, ...]


def command_of(one: Micro, key: str, *, lists: bool) -> Command:
    """The command of a micro-operation."""
    if one.do is Do.READ:
        return ("LRANGE", key, 0, -1) if lists else ("GET", key)
    return ("RPUSH" if lists else "SET", key, one.value)


def commands_of(op: Invocation, prefix: str, beside: Sequence[Command] = ()) -> list[Command]:
    """All commands of a transaction.

    Args:
        op: what is asked.
        prefix: what the names of the keys of its space begin with.
        beside: commands on another key of the slot, done in the same transaction.
    """
    lists = op.f in OF_LISTS
    own = [command_of(one, f"{prefix}/{one.key}", lists=lists) for one in op.argument.micros]
    return [("MULTI",), *own, *beside, ("EXEC",)]


def reads_of(op: Invocation, answered: Reply) -> Reads:
    """What a transaction read.

    Args:
        op: what was asked.
        answered: the reply to EXEC.

    Raises:
        ValueError: it is no answer to these commands.
    """
    if not isinstance(answered, list) or len(answered) < len(op.argument.micros):
        raise ValueError(f"{answered!r:.80} is no answer to {len(op.argument.micros)} commands")
    pairs = zip(op.argument.micros, answered, strict=False)  # behind them are the answers to what was done beside
    return Reads([_told(one, told, lists=op.f in OF_LISTS) for one, told in pairs])


def _told(one: Micro, told: Reply, *, lists: bool) -> Seen:
    """What a read found: the elements of a list, or the one value of a register. A write is seen to be done."""
    if one.do is not Do.READ:
        if told != "OK" and not isinstance(told, int):
            raise ValueError(f"{told!r:.80} for a write")
        return None
    if lists:
        if not isinstance(told, list):
            raise ValueError(f"{told!r:.80} is no list")
        return [int(str(one)) for one in told]
    return [] if told is None else [int(str(told))]
