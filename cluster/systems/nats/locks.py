"""Locks of NATS: a key of an expiring bucket, made if it is not there. Its revision is the fencing token.

The resource is a key of a bucket without an age. With fencing it keeps the highest token that it has seen: who writes
it looks at that one first, and names the revision that was looked at. Without fencing a write names nothing. A version
is the revision of the resource. Who gives a lock back removes all messages up to the token, and so no other holder's.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination import lock
from cluster.systems.nats import buckets
from cluster.systems.nats.expiring import Expiring
from cluster.systems.nats.jetstream import JetStream
from cluster.systems.nats.reads import looking_first

HELD: Final = "somebody holds the lock"
LATER: Final = "a later token was seen"
NOT_HELD: Final = "the lock is not held under this token"


class Locks:
    """What a client does with locks. ``guarded``: the bucket of the resources. ``fencing``: writes show their token."""

    def __init__(self, keys: Expiring, guarded: str, *, fencing: bool) -> None:
        self._keys = keys
        self._guarded = guarded
        self._fencing = fencing

    async def perform(self, server: JetStream, op: Invocation, deadline_ns: int) -> lock.Granted | lock.Written | None:
        """Do one operation. Raises Definite or Indefinite."""
        name = f"locks.{op.key}"
        if op.f is lock.F.ACQUIRE:
            self._keys.check_lasts(op.argument.lease_ms)
            if await self._keys.last(server, op.key, name, deadline_ns) is not None:
                raise Definite(HELD)
            return lock.Granted(await self._keys.put(server, op.key, name, b"held", 0, deadline_ns))
        token = op.argument.token
        if op.f is lock.F.GUARDED:
            return lock.Written(await self._write(server, f"resources.{op.key}", token, deadline_ns))
        held = await self._keys.last(server, op.key, name, deadline_ns)
        if held is None or held.seq != token:
            raise Definite(NOT_HELD)
        await self._keys.remove(server, op.key, name, deadline_ns, below=token + 1)
        return None

    async def _write(self, server: JetStream, name: str, token: int, deadline_ns: int) -> int:
        """Write the resource; its version. Raises Definite or Indefinite."""
        subject, body = buckets.key_in(self._guarded, name), b"%d" % token
        if not self._fencing:
            return await server.publish(subject, body, deadline_ns)
        with looking_first():
            seen = await server.last(buckets.stream_of(self._guarded), subject, deadline_ns)
        if seen is not None and not seen.data.isdigit():
            raise Definite(f"malformed value: {seen.data[:20]!r}")
        if seen is not None and int(seen.data) > token:
            raise Definite(LATER)
        return await server.publish(subject, body, deadline_ns, expected=0 if seen is None else seen.seq)
