"""What each server itself holds of each bucket: its messages by ``DIRECT.GET`` on its own connection.

A server that keeps a stream answers such a request itself where it is asked, and ``/jsz`` says how many messages its
own copy has and up to which sequence. A copy counts if so many were given, and if the last sequence stayed the same.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.replica_data import ReplicaData
from chaos.core.runinfo import Subject
from chaos.core.time_limit import until
from cluster.system import ClusterView
from cluster.systems.nats import buckets, streams
from cluster.systems.nats.jetstream import JetStream, Stored
from cluster.systems.nats.servers import Copy, Servers

MOVED: Final = "it went on to store messages while it was read"
TOO_LONG: Final = "its messages were not all read in time"
DIGEST: Final = "digest of the sequences at which keys were written"

_ASK_S: Final = 5.0
_PAUSE_S: Final = 0.2
_AT_ONCE: Final = 64
_TWO: Final = 2


class NatsReplicas:
    """Implements ``cluster.system.ReplicaReader`` of buckets; logs are read as logs. Equally far: the last sequence."""

    def __init__(self, view: ClusterView) -> None:
        self._mark = view.mark
        self._servers = Servers(view)
        self._links = {node.name: JetStream(node.address) for node in view.nodes}
        kept = streams.subjects(view.settings, view.keys) if streams.are_buckets(view.settings) else ()
        self._shared = [(number, one) for number, one in enumerate(kept) if len(one.nodes) >= _TWO]

    async def read(self, timeout_s: float) -> tuple[ReplicaData, ...]:
        """See ``ReplicaReader.read``, bucket by bucket. Where copies differ they are read twice."""
        found = await asyncio.gather(*(self._of_bucket(number, one, timeout_s) for number, one in self._shared))
        return tuple(one for of_bucket in found for one in of_bucket)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._servers.close()
        for link in self._links.values():
            link.close()

    async def _of_bucket(self, number: int, subject: Subject, timeout_s: float) -> list[ReplicaData]:
        """What the servers that keep a bucket hold of it."""
        limit_ns = int(max(timeout_s, _ASK_S) * NS_PER_S)
        until_ns, seen = now_ns() + int(timeout_s * NS_PER_S), False
        while True:
            asked = (self._data(name, number, subject.name, now_ns() + limit_ns) for name in subject.nodes)
            found = await asyncio.gather(*asked)
            still = len({one.position for one in found}) == 1 and not any(one.error for one in found)
            if now_ns() >= until_ns or (still and (seen or _alike(found))):
                return found
            seen = still
            await asyncio.sleep(_PAUSE_S)

    async def _data(self, name: str, number: int, subject: str, deadline_ns: int) -> ReplicaData:
        """What a server holds of a bucket, and up to which sequence."""
        bucket = buckets.bucket(self._mark, number)
        try:
            with until(deadline_ns):
                before = await self._own(name, bucket)
                messages = await self._messages(name, bucket, before)
                after = await self._own(name, bucket)
        except TimeoutError:
            return ReplicaData(node=name, subject=subject, error=TOO_LONG)
        except (Definite, Indefinite) as error:
            return ReplicaData(node=name, subject=subject, error=str(error))
        if before != after:
            return ReplicaData(node=name, subject=subject, error=MOVED)
        if len(messages) != before.messages:
            error = f"{len(messages)} messages were given, and it says that it has {before.messages}"
            return ReplicaData(node=name, subject=subject, error=error)
        begin = buckets.key_in(bucket, "")
        written = "".join(f"{one.subject} {one.seq}\n" for one in sorted(messages, key=lambda one: one.seq))
        return ReplicaData(
            node=name,
            subject=subject,
            position=after.last_seq,
            entries={one.subject.removeprefix(begin): one.data.decode(errors="backslashreplace") for one in messages},
            digests={DIGEST: hashlib.sha256(written.encode()).hexdigest()[:16]},
        )

    async def _own(self, name: str, bucket: str) -> Copy:
        """What a server says of its own copy. Raises Definite or Indefinite."""
        shown = (await self._servers.monitors[name].jetstream(_soon())).streams().get(buckets.stream_of(bucket))
        if shown is None:
            raise Definite("it does not keep the bucket")
        return shown.state

    async def _messages(self, name: str, bucket: str, own: Copy) -> list[Stored]:
        """All messages of a copy. Raises Definite or Indefinite."""
        first, end = max(1, own.first_seq), own.last_seq + 1
        length = max(1, -(-(end - first) // _AT_ONCE))
        parts = [range(begin, min(begin + length, end)) for begin in range(first, end, length)]
        found = await asyncio.gather(*(self._part(name, bucket, part) for part in parts))
        return [one for part in found for one in part]

    async def _part(self, name: str, bucket: str, part: range) -> list[Stored]:
        """The messages with these sequences, one after the other: there are many without a message."""
        out: list[Stored] = []
        stream, all_keys, sequence = buckets.stream_of(bucket), buckets.key_in(bucket, ">"), part.start
        while sequence < part.stop:
            found = await self._links[name].following_of_any(stream, all_keys, sequence, _soon())
            if found is None or found.seq >= part.stop:
                break
            out.append(found)
            sequence = found.seq + 1
        return out


def _alike(found: Sequence[ReplicaData]) -> bool:
    return all((one.entries, one.digests) == (found[0].entries, found[0].digests) for one in found)


def _soon() -> int:
    return now_ns() + int(_ASK_S * NS_PER_S)
