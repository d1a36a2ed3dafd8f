"""One logical client: queues share the one log, an offset is an entry's index, a send is an append.

A leader answers a get from its own log and asks nobody: it shows entries that it has not replicated, also when it was
replaced and does not know it. So a client appends an entry of its own before it reads, a mark, and reads the same node
up to it: where the mark is acknowledged, all before it is committed. Marks, and entries of other queues, are passed
over. A follower refuses a get; what it holds is asked of the observer inside it.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from chaos.core.client import Definite, Received
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.dledger import settings as settings_of
from cluster.systems.dledger.ledger import NOOP, Entry, Ledger, appended_at
from cluster.systems.dledger.observers import Observers
from cluster.systems.dledger.settings import READS

POLLED: Final = 64
"""A poll passes over so many entries at most, those of all queues counted."""
MARK: Final = b"chaos: a read follows"
_AT_ONCE: Final = 128
_PAGE: Final = 1024


class DLedgerClient(RoutedClient[Ledger]):
    """One logical client of DLedger."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        self._observers = Observers(view)
        links = {node.name: Ledger(node.name, node.address) for node in view.nodes}
        super().__init__(view, number, clients, seed, links, self._observers, "the nodes")
        self._keys = view.keys
        self._reads = view.settings[READS]

    async def _node(self, op: Invocation, deadline_ns: int) -> str:
        """Where the operation goes. Raises as ``RoutedClient._node``."""
        at_follower = op.f is F.READ and self._reads == settings_of.FOLLOWER
        return await super()._node(msgspec.structs.replace(op, f=F.SLAVE_READ) if at_follower else op, deadline_ns)

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        if op.f is F.SEND:
            await self._send(op, node, deadline_ns, received)
            return
        given = received.result = Given(next_offset=op.argument.offset if isinstance(op.argument, ReadFrom) else 0)
        if op.f is F.REPLICA:
            await self._of_node(node, op, "end", None, deadline_ns, given)
        elif op.f is F.SLAVE_READ:
            await self._of_node(node, op, "committed", POLLED, deadline_ns, given)
        elif op.f is F.READ and self._reads == settings_of.FOLLOWER:
            await self._of_node(node, op, "committed", None, deadline_ns, given)
        elif op.f is not F.DRAIN and self._reads == settings_of.LEADER:
            await self._to_the_end(node, op, deadline_ns, given)
        else:
            await self._to_a_mark(node, op, deadline_ns, given)

    async def _send(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        send: Send = op.argument
        body = payload.encode(send.value, op.key, self._run, send.body_bytes)
        said = await self._links[node].append(body, deadline_ns)
        received.result = Placed(said.index if said.index >= 0 else None)
        appended_at(said)

    async def _to_a_mark(self, node: str, op: Invocation, deadline_ns: int, given: Given) -> None:
        """Read up to a mark that is appended first; a poll some entries of that. Raises Definite or Indefinite."""
        end = appended_at(await self._links[node].append(MARK, deadline_ns))
        given.min_offset, given.max_offset = 0, end + 1
        begin = given.next_offset or 0
        until = max(begin, end + 1)
        if op.f is F.POLL:
            until = min(until, begin + POLLED)
        for at in range(begin, until, _AT_ONCE):
            wanted = range(at, min(at + _AT_ONCE, until))
            came = await self._entries(node, wanted, op.key, deadline_ns, given)
            if came < len(wanted):
                raise Definite(f"entry {at + came} is not there, and {end} was acknowledged")

    async def _to_the_end(self, node: str, op: Invocation, deadline_ns: int, given: Given) -> None:
        """Read what the node has, to its end; a poll some entries of that. Raises Definite or Indefinite."""
        at = given.next_offset or 0
        while True:
            count = POLLED if op.f is F.POLL else _AT_ONCE
            came = await self._entries(node, range(at, at + count), op.key, deadline_ns, given)
            at += came
            if came < count or op.f is F.POLL:
                break
        if op.f is not F.POLL:
            given.min_offset, given.max_offset = 0, at

    async def _entries(self, node: str, wanted: Sequence[int], key: int, deadline_ns: int, given: Given) -> int:
        """Get entries at once and note those that came, up to the first that is not there; how many these are.

        Raises:
            Definite, Indefinite: one of them was not answered; those that came are noted.
        """
        ledger = self._links[node]
        answers = await asyncio.gather(*(ledger.get(index, deadline_ns) for index in wanted), return_exceptions=True)
        self._note([one for one in answers if isinstance(one, Entry)], key, given)
        for came, answer in enumerate(answers):
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                given.next_offset = wanted[came]
                return came
        given.next_offset = wanted[-1] + 1
        return len(wanted)

    async def _of_node(
        self,
        node: str,
        op: Invocation,
        to: Literal["committed", "end"],
        most: int | None,
        deadline_ns: int,
        given: Given,
    ) -> None:
        """What a node holds itself, ``most`` entries of it or all, as far as it goes when it is first asked.

        Raises:
            Definite, Indefinite: it does not say.
        """
        observer, at = self._observers.by_name[node], given.next_offset or 0
        last: int | None = None
        while True:
            page = await observer.page(at, most or _PAGE, to, deadline_ns)
            self._note(page.entries, op.key, given)
            if last is None:
                last = page.last
                given.min_offset, given.max_offset = page.begin, max(page.begin, last + 1)
            at = given.next_offset = at + len(page.entries)
            if most is not None or at > last:
                return
            if not page.entries:
                raise Definite(f"entry {at} of {last} is not there")

    def _note(self, entries: Iterable[Entry], key: int, given: Given) -> None:
        """Add the entries of a queue to what a read was given."""
        for entry in entries:
            found = record_of(entry, key, self._keys, self._run)
            if found is not None:
                given.records.append(found)


def record_of(entry: Entry, key: int, keys: int, run: int) -> Record | None:
    """What an entry is to a queue; None if it is none of its: a mark, a leader's own, or of another queue. Pure.

    A body that is nobody's counts as damaged, in every queue.
    """
    body = entry.content
    if body == MARK or (entry.magic == NOOP and not body):
        return None
    value = payload.decode(body, key, run)
    if value is None and any(payload.decode(body, other, run) is not None for other in range(keys)):
        return None
    return Record(entry.index, value)
