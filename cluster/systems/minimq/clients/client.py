"""One logical client: one attempt and one deadline per operation, ok / fail / info and nothing swallowed.

A client follows the route or is pinned to one broker. Whatever needs the master goes to the master of its route or
to the pinned broker, whatever that one is now, and so do polls. Slave reads go to a replica that the route does not
call master. A strong read may take several requests; all of them must have been answered in one epoch. What the
broker gave is noted page by page, before it is judged.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Final

from chaos.core.client import Definite, Received
from chaos.core.op import Invocation, Word
from chaos.models.log import payload
from chaos.models.log.operations import Commit as CommitAt
from chaos.models.log.operations import Given, GoesOn, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.minimq import config
from cluster.systems.minimq.clients.outcomes import expect
from cluster.systems.minimq.clients.route import Controllers
from cluster.systems.minimq.clients.rpc import Asked, Link
from cluster.systems.minimq.protocol import groups
from cluster.systems.minimq.protocol.broker_messages import (
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
from cluster.systems.minimq.storage.commit_log import LEAST_OFFSET

POLL_RECORDS: Final = 32
READ_RECORDS: Final = 1024

_decoded: Final = lru_cache(maxsize=8192)(payload.decode)
"""Most reads begin before the end of the one before: the clients of a process see each body again and again."""
_REMEMBERED_BYTES: Final = 1024
"""Longer bodies are not kept."""

Perform = Callable[[Invocation, str, int, Received], Awaitable[None]]

NO_FURTHER: Final = "the broker gave only records below the offset asked for"


class MiniMQClient(RoutedClient[Asked]):
    """One logical client of minimq."""

    def __init__(
        self, view: ClusterView, number: int, clients: int, seed: int, link: Callable[[str], Asked] = Link
    ) -> None:
        """``link``: makes the way to a node from its address."""
        links = {node.name: link(node.address) for node in view.of_role("broker")}
        own = groups.members([*links], config.group_count(view.settings))
        controllers = Controllers({node.name: link(node.address) for node in view.of_role("controller")}, [*own])
        super().__init__(view, number, clients, seed, links, controllers, "the controllers", [*own.values()])
        self._topic = self._group = view.mark  # all clients are members of one consumer group
        self._by_word: Mapping[Word, Perform] = {
            F.SEND: self._send,
            F.POLL: self._weak_read,
            F.READ: self._strong_read,
            F.SLAVE_READ: self._weak_read,
            F.DRAIN: self._strong_read,
            F.COMMIT: self._commit,
            F.COMMITTED_READ: self._committed,
            F.REPLICA: self._copy,
        }

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        await self._by_word[op.f](op, node, deadline_ns, received)

    async def _send(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        send: Send = op.argument
        body = payload.encode(send.value, op.key, self._run, send.body_bytes)
        request = Produce(
            topic=self._topic, queue=op.key, body=body, producer=send.producer, sequence=send.producer_sequence
        )
        received.result = Placed(expect(await self._links[node].ask(request, deadline_ns), Produced).offset)

    async def _commit(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:  # noqa: ARG002
        commit: CommitAt = op.argument
        request = Commit(group=self._group, topic=self._topic, queue=op.key, offset=commit.offset)
        expect(await self._links[node].ask(request, deadline_ns), CommitDone)

    async def _committed(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        request = FetchCommitted(group=self._group, topic=self._topic, queue=op.key)
        received.result = GoesOn(expect(await self._links[node].ask(request, deadline_ns), Committed).offset)

    async def _weak_read(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        read: ReadFrom = op.argument
        given = received.result = Given()
        at = read.offset
        request = Poll(topic=self._topic, queue=op.key, offset=at, records_max=POLL_RECORDS, wait_ms=read.wait_ms)
        polled = expect(await self._links[node].ask(request, deadline_ns), Polled)
        given.max_offset = polled.end
        self._take(polled, at, op.key, given)

    async def _strong_read(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """From an offset (a drain: the least) to the end as first told.

        An answer without records that still tells that end says that nothing is between.
        """
        link = self._links[node]
        epochs: set[int] = set()
        given = received.result = Given()
        read: ReadFrom | None = op.argument
        at = None if read is None else read.offset
        if at is None:
            offsets = expect(await link.ask(GetOffsets(topic=self._topic, queue=op.key), deadline_ns), Offsets)
            epochs.add(offsets.epoch)
            at = given.min_offset = given.next_offset = offsets.least
            given.max_offset = offsets.end
        while given.max_offset is None or at < given.max_offset:
            count = READ_RECORDS if given.max_offset is None else min(READ_RECORDS, given.max_offset - at)
            page = Read(topic=self._topic, queue=op.key, offset=at, records_max=count)
            polled = expect(await link.ask(page, deadline_ns), Polled)
            epochs.add(polled.epoch)
            end = given.max_offset = polled.end if given.max_offset is None else given.max_offset
            behind = self._take(polled, at, op.key, given)
            if len(epochs) > 1 or polled.end < end:
                raise Definite("not master of the same epoch any more")
            if polled.records and behind == at:
                raise Definite(NO_FURTHER)
            at = given.next_offset = behind if polled.records else max(at, end)

    async def _copy(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """All that this broker shows readers, in whatever role: its own copy as far as it knows it to be confirmed.

        It ends where the broker gives nothing that lies further on, whatever end it had named.
        """
        given = received.result = Given()
        behind, at = LEAST_OFFSET, -1
        while at < behind and (given.max_offset is None or behind < given.max_offset):
            at = behind
            page = Poll(topic=self._topic, queue=op.key, offset=at, records_max=READ_RECORDS)
            polled = expect(await self._links[node].ask(page, deadline_ns), Polled)
            given.min_offset, given.max_offset = LEAST_OFFSET, polled.end
            behind = self._take(polled, at, op.key, given)

    def _take(self, polled: Polled, at: int, key: int, given: Given) -> int:
        """Note what was given for a question from ``at`` on; returns where a reader goes on, at ``at`` or behind."""
        if polled.records:
            decode = _decoded if len(polled.records[0].body) <= _REMEMBERED_BYTES else payload.decode
            run = self._run
            given.records += [Record(one.offset, decode(one.body, key, run)) for one in polled.records]
            at = max(at, max([record.offset for record in polled.records]) + 1)
        given.next_offset = at
        return given.next_offset
