"""Leases of Redis: a key for each, named by the lease, with a time to live. Pure but for how long each was asked for.

A lease is taken by one SET with NX and PX. Whoever renews it or ends it shows its number, and a script compares. A look
is KEYS in a transaction that only a master answers: it names no key whose time is over.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from cluster.systems.redis.locks import REMOVE
from cluster.systems.redis.resp import Reply

Command = tuple[str | int, ...]

RENEW: Final = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
)
TAKEN: Final = "the lease is there already"
GONE: Final = "there is no such lease"
NOT_OURS: Final = "this client was not granted the lease"


class Leases:
    """What a client knows of its leases: how long each is to live."""

    def __init__(self) -> None:
        self._ttl_ms: dict[int, int] = {}

    def command_of(self, op: Invocation, place: str) -> Command:
        """The command of an operation. ``place``: the key below which the leases are.

        Raises:
            Definite: the client does not have the lease.
        """
        if op.f is lease.F.READ:
            return ("KEYS", f"{place}/*")
        number = op.argument.lease
        key = f"{place}/{number}"
        if op.f is lease.F.GRANT:
            return ("SET", key, number, "NX", "PX", op.argument.ttl_ms)
        if number not in self._ttl_ms:
            raise Definite(NOT_OURS)
        if op.f is lease.F.REVOKE:
            return ("EVAL", REMOVE, 1, key, number)
        return ("EVAL", RENEW, 1, key, number, self._ttl_ms[number])

    def answer_of(self, op: Invocation, reply: Reply) -> lease.Alive | lease.Living | None:
        """What an operation was given.

        Raises:
            Definite: nothing was done.
            ValueError: it is no answer.
        """
        if op.f is lease.F.READ:
            return _living(reply)
        number = op.argument.lease
        if op.f is lease.F.GRANT:
            if reply is None:
                raise Definite(TAKEN)
            if reply != "OK":
                raise ValueError(f"{str(reply)[:40]} is no answer to SET")
            self._ttl_ms[number] = op.argument.ttl_ms
            return lease.Alive(op.argument.ttl_ms)
        if int(str(reply)) == 0:
            raise Definite(GONE)
        return lease.Alive(self._ttl_ms[number]) if op.f is lease.F.RENEW else None


def looked_at(place: str) -> str:
    """The key beside those of a place that a look touches, so that only a master answers it."""
    return f"{place}-looks"


def _living(reply: Reply) -> lease.Living:
    """The numbers at the ends of keys. Raises ValueError if these are none."""
    if not isinstance(reply, list):
        raise ValueError(f"{str(reply)[:40]} is no list")  # noqa: TRY004 - what a server says
    return lease.Living([int(str(key).rpartition("/")[2]) for key in reply])
