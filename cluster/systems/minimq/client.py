"""One logical client: one attempt and one deadline per operation, ok / fail / info and nothing swallowed.

A client follows the route or is pinned to one broker. Whatever needs the master goes to the master of its route or
to the pinned broker, whatever that one is now, and so do polls. Slave reads go to a replica that the route does not
call master. A strong read may take several requests; all of them must have been answered in one epoch.
"""

from collections.abc import Sequence
from typing import Final

from chaos.core import payload
from chaos.core.client import Definite
from chaos.core.op import Completion, F, Invocation, Record, Type
from cluster.system import ClusterView
from cluster.systems.client import RoutedClient
from cluster.systems.minimq.broker_messages import (
    Commit,
    CommitDone,
    Committed,
    FetchCommitted,
    GetOffsets,
    Offsets,
    Poll,
    Polled,
    Produce,
    Produced,
    Read,
)
from cluster.systems.minimq.broker_messages import Record as Stored
from cluster.systems.minimq.config import TOPIC
from cluster.systems.minimq.log import LEAST_OFFSET
from cluster.systems.minimq.outcomes import expected
from cluster.systems.minimq.route import Controllers
from cluster.systems.minimq.rpc import Link

GROUP: Final = "chaos"
"""The consumer group that all clients are members of."""

POLL_RECORDS: Final = 32
READ_RECORDS: Final = 1024


class MiniMQClient(RoutedClient[Link]):
    """One logical client of minimq."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        links = {node.name: Link(node.address) for node in view.of_role("broker")}
        controllers = Controllers({node.name: Link(node.address) for node in view.of_role("controller")})
        super().__init__(view, number, clients, seed, links, controllers, "the controllers")
        self._by_kind = {
            F.SEND: self._send, F.POLL: self._weak_read, F.READ: self._strong_read, F.SLAVE_READ: self._weak_read,
            F.DRAIN: self._strong_read, F.COMMIT: self._commit, F.COMMITTED_READ: self._committed,
            F.REPLICA: self._copy,
        }  # fmt: skip

    async def _perform(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        return await self._by_kind[op.f](op, node, deadline_ns)

    async def _send(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        assert op.value is not None
        body = payload.encode(op.value, op.key, self._run, op.body_bytes)
        request = Produce(
            topic=TOPIC, queue=op.key, body=body, producer=op.producer, sequence=op.producer_sequence
        )  # fmt: skip
        produced = expected(await self._links[node].ask(request, deadline_ns), Produced)
        return Completion(type=Type.OK, node=node, offset=produced.offset)

    async def _commit(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        assert op.offset is not None
        request = Commit(group=GROUP, topic=TOPIC, queue=op.key, offset=op.offset)
        expected(await self._links[node].ask(request, deadline_ns), CommitDone)
        return Completion(type=Type.OK, node=node)

    async def _committed(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        request = FetchCommitted(group=GROUP, topic=TOPIC, queue=op.key)
        committed = expected(await self._links[node].ask(request, deadline_ns), Committed)
        return Completion(type=Type.OK, node=node, next_offset=committed.offset)

    async def _weak_read(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        at = op.offset or 0
        request = Poll(topic=TOPIC, queue=op.key, offset=at, records_max=POLL_RECORDS, wait_ms=op.wait_ms)
        polled = expected(await self._links[node].ask(request, deadline_ns), Polled)
        return Completion(
            type=Type.OK, node=node, records=self._records(polled.records, op.key),
            next_offset=_next_offset(polled.records, at), max_offset=polled.end,
        )  # fmt: skip

    async def _strong_read(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        """From an offset (a drain: the least) to the end as first told.

        An answer without records that still tells that end says that nothing is between.
        """
        link = self._links[node]
        epochs: set[int] = set()
        least: int | None = None
        end: int | None = None
        if op.offset is None:
            offsets = expected(await link.ask(GetOffsets(topic=TOPIC, queue=op.key), deadline_ns), Offsets)
            epochs.add(offsets.epoch)
            least, end = offsets.least, offsets.end
        at = op.offset if least is None else least
        assert at is not None
        records: list[Stored] = []
        while end is None or at < end:
            count = READ_RECORDS if end is None else min(READ_RECORDS, end - at)
            page = Read(topic=TOPIC, queue=op.key, offset=at, records_max=count)
            polled = expected(await link.ask(page, deadline_ns), Polled)
            epochs.add(polled.epoch)
            end = polled.end if end is None else end
            if len(epochs) > 1 or polled.end < end:
                raise Definite("not master of the same epoch any more")
            records += polled.records
            at = _next_offset(polled.records, at) if polled.records else max(at, end)
        return Completion(
            type=Type.OK, node=node, records=self._records(records, op.key),
            next_offset=at, min_offset=least, max_offset=end,
        )  # fmt: skip

    async def _copy(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        """All that this broker shows readers, in whatever role: its own copy as far as it knows it to be confirmed."""
        at, end = LEAST_OFFSET, LEAST_OFFSET + 1
        records: list[Stored] = []
        while at < end:
            page = Poll(topic=TOPIC, queue=op.key, offset=at, records_max=READ_RECORDS)
            polled = expected(await self._links[node].ask(page, deadline_ns), Polled)
            end = polled.end
            if not polled.records:
                break  # it ends here, whatever it had named before
            records += polled.records
            at = _next_offset(polled.records, at)
        return Completion(
            type=Type.OK, node=node, records=self._records(records, op.key),
            next_offset=at, min_offset=LEAST_OFFSET, max_offset=end,
        )  # fmt: skip

    def _records(self, stored: Sequence[Stored], key: int) -> tuple[Record, ...]:
        return tuple(Record(each.offset, payload.decode(each.body, key, self._run)) for each in stored)


def _next_offset(records: Sequence[Stored], at: int) -> int:
    """Where a reader goes on after these records, which it asked for from ``at`` on.

    Raises:
        Definite: they do not take it further.
    """
    highest = max((record.offset for record in records), default=at - 1)
    if records and highest < at:
        raise Definite("the broker gave only records below the offset asked for")
    return highest + 1
