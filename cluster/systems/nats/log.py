"""One logical client of logs: a queue is a stream, and an offset is a message's sequence there, from 1 on.

The API gives one message per request, so a read has many requests under way at once. A strong read asks the leader
first how far its stream goes and which sequences have no message; it fails if a message is then missing anywhere else,
since another server must have answered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from chaos.core.client import Definite, Received
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import STRONG_READS, F, Record
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.nats import streams
from cluster.systems.nats.jetstream import JetStream, Stored
from cluster.systems.nats.servers import Servers

POLLED: Final = 16
"""A weak read is given so many messages at most."""
_AT_ONCE: Final = 256

Get = Callable[[int], Awaitable[Stored | None]]
"""Asks for the message of a sequence."""


class LogClient(RoutedClient[JetStream]):
    """One logical client of NATS."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        self._servers = Servers(view)
        links = {node.name: JetStream(node.address) for node in view.nodes}
        groups = [one.nodes for one in streams.subjects(view.settings, view.keys)]
        super().__init__(view, number, clients, seed, links, self._servers, "the servers", groups)
        self._mark = view.mark

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        server, stream = self._links[node], streams.stream_name(self._mark, op.key)
        if op.f is F.SEND:
            send: Send = op.argument
            body = payload.encode(send.value, op.key, self._run, send.body_bytes)
            once = f"{send.producer}-{send.producer_sequence}" if send.producer else ""
            received.result = Placed(await server.publish(stream, body, deadline_ns, message_id=once))
        elif op.f in STRONG_READS:
            await self._strong_read(server, stream, op, deadline_ns, received)
        else:
            await self._weak_read(server, stream, op, deadline_ns, received)

    async def _strong_read(
        self, server: JetStream, stream: str, op: Invocation, deadline_ns: int, received: Received
    ) -> None:
        """From an offset (a drain: the first) to the last message that the leader has. The read is that leader's."""
        given = received.result = Given()
        info = await server.extent(stream, deadline_ns)
        received.node = info.cluster.leader or received.node
        state = info.state
        asked = op.argument.offset if isinstance(op.argument, ReadFrom) else 0
        first = max(1, state.first_seq)
        given.next_offset = begin = max(asked, first)
        given.min_offset, given.max_offset = first, max(first, state.last_seq + 1)
        none = set(state.deleted or ())
        wanted = [sequence for sequence in range(begin, state.last_seq + 1) if sequence not in none]

        async def get(sequence: int) -> Stored | None:
            return await server.message(stream, sequence, deadline_ns)

        found = await self._all(get, wanted, op.key, given)
        if found != len(wanted):
            raise Definite(f"{found} messages were given, and the leader had named {len(wanted)}")
        given.next_offset = max(begin, given.max_offset)

    async def _weak_read(
        self, server: JetStream, stream: str, op: Invocation, deadline_ns: int, received: Received
    ) -> None:
        """Some messages from an offset on: of the leader, or of any server that has them, and nobody knows which."""
        read: ReadFrom = op.argument
        if op.f is F.SLAVE_READ:
            received.node = None
        given = received.result = Given(next_offset=read.offset)
        begin, left = max(1, read.offset), POLLED

        async def get(sequence: int) -> Stored | None:
            ask = server.message_of_any if op.f is F.SLAVE_READ else server.message
            return await ask(stream, sequence, deadline_ns)

        if op.f is F.POLL:  # there may be sequences without a message
            following = await server.following(stream, stream, begin, deadline_ns)
            if following is None:
                return
            self._note([following], op.key, given)
            begin, left = following.seq + 1, POLLED - 1
            given.next_offset = begin
        found = await self._messages(get, range(begin, begin + left), op.key, given)
        given.next_offset = begin + found

    async def _all(self, get: Get, sequences: Sequence[int], key: int, given: Given) -> int:
        """Ask for all messages, some at a time, and note what comes; how many came. Raises as ``_messages``."""
        some = (sequences[at : at + _AT_ONCE] for at in range(0, len(sequences), _AT_ONCE))
        return sum([await self._messages(get, these, key, given, holes=True) for these in some])

    async def _messages(
        self, get: Get, sequences: Iterable[int], key: int, given: Given, *, holes: bool = False
    ) -> int:
        """Ask for messages at once and note those that came, up to the first that is not there; how many these are.

        ``holes``: go on behind one that is not there.

        Raises:
            Definite, Indefinite: one of them was not answered; those that came are noted.
        """
        answers = await asyncio.gather(*(get(sequence) for sequence in sequences), return_exceptions=True)
        came: list[Stored] = []
        wrong: BaseException | None = None
        for answer in answers:
            if isinstance(answer, BaseException):
                wrong = wrong or answer
            elif answer is not None:
                came.append(answer)
            elif not holes and wrong is None:
                break
        self._note(came, key, given)
        if wrong is not None:
            raise wrong
        return len(came)

    def _note(self, messages: Sequence[Stored], key: int, given: Given) -> None:
        """Add messages to what a read was given."""
        given.records += [Record(one.seq, payload.decode(one.data, key, self._run)) for one in messages]
