"""Spaces of ZooKeeper: a node for each entry, and follows, which are persistent recursive watches.

A watch is told of a change by its kind, the node and the transaction (3.9 and later), not of the value. It begins when
it is set and ends with its connection. So a follow is one session at one server, which is never gone on with. The
answer to the request for the watch names the last transaction that the server had applied: the follow begins behind it.
Behind each event the session reads the node, and at the end every entry. All that comes is noted in the order in which
it comes. A follow changes nothing, so whatever ends it sooner is a failure, with all that came until then.

A node is written, or made if there is none. A deletion is a multi that writes another node too, because the answer to a
deletion alone does not say by which transaction it was done.
"""

from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination.watch import (
    DELETED,
    NOT_TOLD,
    UNNAMED,
    UNREAD,
    Change,
    Event,
    F,
    Followed,
    Written,
    session_read,
)
from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import NO_NODE, outcome
from cluster.systems.zookeeper.reads import BARRIER
from cluster.systems.zookeeper.servers import Server
from cluster.systems.zookeeper.session_stream import SessionStream, session_stream
from cluster.systems.zookeeper.transactions import all_or_nothing

SPACES: Final = "spaces"
"""Below which the nodes of entries are."""
NO_TRANSACTION: Final = "the server does not say by which transaction a node was changed; 3.9 and later do"
NOT_SET: Final = "no watch was set in time"
NOT_READ: Final = "the entries were not all read in time at the end"
_SESSION_MS: Final = 10_000
_NS_PER_MS: Final = 1_000_000
_SPARE_NS: Final = NS_PER_S // 2
"""A follow stops listening so long before the deadline of its operation at the latest."""


class Watches:
    """What a client does with spaces. ``root``: below which everything is."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def perform(self, server: Server, op: Invocation, deadline_ns: int, received: Received) -> None:
        """Do one operation. Raises Definite or Indefinite."""
        space = f"{self._root}/{SPACES}/{op.key}"
        if op.f is F.PUT:
            (change,) = op.argument.changes
            received.result = await self._put(server, f"{space}/{change.entry}", change, deadline_ns)
            return
        told = received.result = Followed([])
        until_ns = min(now_ns() + op.argument.listen_ms * _NS_PER_MS, deadline_ns - _SPARE_NS)
        async with session_stream(server, _SESSION_MS, until_ns) as stream:
            follow = _Follow(stream, space, told)
            await follow.listen(until_ns)
            await follow.read_all(deadline_ns)

    async def _put(self, server: Server, path: str, change: Change, deadline_ns: int) -> Written:
        """Write, make or delete the node of an entry. Raises Definite or Indefinite."""
        try:
            if change.value == DELETED:
                both = [jute.delete(path), jute.set_data(f"{self._root}/{BARRIER}", b"")]
                body = await all_or_nothing(server, both, deadline_ns)
                return Written(revision=jute.transaction_of_multi(body), effects=1)
            data = b"%d" % change.value
            answer = await server.ask(jute.set_data(path, data), deadline_ns)
            if answer.error == NO_NODE:
                made = await server.call(jute.create_and_tell(path, data=data), deadline_ns, write=True)
                return Written(revision=jute.made_of(made.body).transaction, effects=1)
            if answer.error:
                raise outcome(answer.error, write=True)
            return Written(revision=jute.transaction_of(answer.body), effects=1)
        except Malformed as error:
            raise Indefinite(f"malformed answer: {error}") from None


class _Follow:
    """One follow: what came, which reads of which entries are still to be answered, and which events have no value yet.

    The last are places among what came, by revision and entry.
    """

    def __init__(self, stream: SessionStream, space: str, told: Followed) -> None:
        self._stream, self._space, self._told = stream, space, told
        self._reads: dict[int, int] = {}
        self._unread: dict[tuple[int, int], list[int]] = {}
        self._watch = stream.ask(jute.add_watch(space))

    async def listen(self, until_ns: int) -> None:
        """Note what comes until an instant. Raises Definite: the follow ended sooner, or it did not begin."""
        while (heard := await self._stream.next(until_ns)) is not None:
            self._note(*heard)
        if not self._told.since:
            raise Definite(NOT_SET)

    async def read_all(self, deadline_ns: int) -> None:
        """Read every entry, then end the session. Raises Definite: not all of them were read."""
        names = self._stream.ask(jute.get_children(self._space))
        while names or self._reads:
            heard = await self._stream.next(deadline_ns)
            if heard is None:
                raise Definite(NOT_READ)
            number, answer = heard
            if number == names:
                names = 0
                self._read_each(answer)
            else:
                self._note(number, answer)
        await self._end(deadline_ns)

    async def _end(self, deadline_ns: int) -> None:
        """End the session, so that nobody need wait for its end; everything was read, so it may break as well."""
        ended = self._stream.ask(jute.end_session())
        while True:
            try:
                heard = await self._stream.next(deadline_ns)
            except Definite:
                return
            if heard is None or heard[0] == ended:
                return
            self._note(*heard)

    def _read_each(self, answer: jute.Answer) -> None:
        """Read the entries that are there, and those that the follow was told of. Raises Definite."""
        if answer.error:
            raise outcome(answer.error, write=False)
        try:
            there = {_entry(name) for name in jute.names_of(answer.body)}
        except Malformed as error:
            raise Definite(f"malformed answer: {error}") from None
        for entry in sorted((there | {event.entry for event in self._told.events}) - {UNNAMED}):
            self._read(entry)

    def _read(self, entry: int) -> None:
        self._reads[self._stream.ask(jute.get_data(f"{self._space}/{entry}"))] = entry

    def _note(self, number: int, answer: jute.Answer) -> None:
        """Note an answer or an event. Raises Definite: it is none."""
        try:
            if number == jute.EVENT_NUMBER:
                self._note_event(answer)
            elif number == self._watch and answer.error:
                raise outcome(answer.error, write=False)
            elif number == self._watch:
                self._told.since = answer.transaction + 1
            elif (entry := self._reads.pop(number, None)) is not None:
                self._note_read(entry, answer)
        except Malformed as error:
            raise Definite(f"malformed answer: {error}") from None

    def _note_event(self, answer: jute.Answer) -> None:
        if answer.transaction <= 0:
            raise Definite(NO_TRANSACTION)
        kind, path = jute.event_of(answer.body)
        below = path.removeprefix(f"{self._space}/")
        entry = _entry(below) if len(below) < len(path) else UNNAMED
        event = Event(
            batch=self._told.batches,
            revision=answer.transaction,
            entry=entry,
            value=DELETED if kind == jute.DELETED else UNREAD,
            previous_revision=0 if kind == jute.CREATED else NOT_TOLD,
        )
        if event.value == UNREAD:
            self._unread.setdefault((event.revision, entry), []).append(len(self._told.events))
        self._told.events.append(event)
        self._told.batches += 1
        if kind != jute.DELETED and entry != UNNAMED:
            self._read(entry)

    def _note_read(self, entry: int, answer: jute.Answer) -> None:
        """Note a read; what it shows is the value of the event that told of the transaction by which it was written."""
        if answer.error not in (0, NO_NODE):
            raise outcome(answer.error, write=False)
        revision, value = 0, DELETED
        if not answer.error:
            node = jute.known_of(answer.body)
            if not node.data.isdigit():
                raise Malformed("a value that nobody writes")
            revision, value = node.written, int(node.data)
        events = self._told.events
        for place in self._unread.pop((revision, entry), ()):
            events[place] = msgspec.structs.replace(events[place], value=value)
        events.append(session_read(entry=entry, revision=revision, value=value, applied=answer.transaction))


def _entry(name: str) -> int:
    return int(name) if name.isdigit() else UNNAMED
