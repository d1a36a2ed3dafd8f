"""Transactions of one message: begun, sent, and ended as the workload decided before.

Kafka never asks a producer. So ``commit-when-asked`` is a commit that comes a little later, and ``rollback-when-asked``
a producer that was taken for dead: another one takes its name over, which aborts what is open, and then the first tries
to commit, which it must not be allowed to. What ``never`` leaves open the coordinator aborts by itself.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns
from chaos.models.log.transaction import Decision
from cluster.system import ClusterView
from cluster.systems._shared.link import Malformed
from cluster.systems.kafka import outcomes, requests
from cluster.systems.kafka.records import Producer
from cluster.systems.kafka.servers import Brokers, Way
from cluster.systems.kafka.wire import Reader, Request

ABORTED_AFTER_MS: Final = 5000
"""So long a transaction may be open before its coordinator aborts it."""
LATER_S: Final = 0.2
"""How long ``commit-when-asked`` waits before it commits."""
_ABORTS_S: Final = 0.05
_ABORTING: Final = "CONCURRENT_TRANSACTIONS"
_TRANSACTION: Final = 1

AnswerT = TypeVar("AnswerT")


class Name(msgspec.Struct):
    """A transactional name: who coordinates it, the producer under it, and the next number of its message by key."""

    text: str
    coordinator: str
    producer: Producer
    sequences: dict[int, int] = {}

    def next_of(self, key: int) -> Producer:
        """The producer with the number of its next message to a partition."""
        return self.producer._replace(sequence=self.sequences.get(key, 0), transactional=True)


SendIn = Callable[[str, Producer], Awaitable[None]]
"""Sends the message as a part of the transaction of a name; raises Definite or Indefinite."""


class Transactions:
    """One client's transactional names; each has one transaction at a time, and is given up once anything went wrong.

    Args:
        view: the cluster.
        source: the ways to its brokers.
        number: the client's.
    """

    def __init__(self, view: ClusterView, source: Brokers, number: int) -> None:
        self._source = source
        self._topic = view.mark
        self._number = number
        self._made = 0
        self._free: deque[Name] = deque()

    async def perform(self, key: int, decision: Decision, send: SendIn, deadline_ns: int) -> None:
        """Send a message in a transaction, and end that as was decided.

        Raises:
            Definite: the message was certainly not sent.
            Indefinite: nobody knows whether it was, or whether the transaction ended so.
        """
        name = await self._begun(key, deadline_ns)
        try:
            await send(name.text, name.next_of(key))
        except Definite:
            with suppress(Definite, Indefinite):
                await self._end(name, deadline_ns, commit=False)
                self._free.append(name)
            raise
        name.sequences[key] = name.sequences.get(key, 0) + 1
        if decision is Decision.NEVER:
            return
        try:
            if decision is Decision.ROLLBACK_WHEN_ASKED:
                await self._taken_over(name, deadline_ns)
                return
            if decision is Decision.COMMIT_WHEN_ASKED:
                await asyncio.sleep(LATER_S)
            await self._end(name, deadline_ns, commit=decision is not Decision.ROLLBACK)
        except (Definite, Indefinite) as problem:
            raise Indefinite(f"sent, and then: {problem}") from None
        self._free.append(name)

    async def _begun(self, key: int, deadline_ns: int) -> Name:
        """A name whose transaction has begun. Raises Definite."""
        try:
            name = self._free.popleft() if self._free else await self._new(deadline_ns)
            request = requests.add_partition(name.text, name.producer, self._topic, key)
            await _ask(self._way(name), request, requests.read_added, deadline_ns)
        except (Definite, Indefinite) as problem:
            raise Definite(f"no transaction: {problem}") from None
        return name

    async def _new(self, deadline_ns: int) -> Name:
        self._made += 1
        text = f"{self._topic}-{self._number}-{self._made}"
        names = [*self._source.brokers]
        way = self._source.brokers[names[(self._number + self._made) % len(names)]].way("route")
        request = requests.find_coordinator(text, _TRANSACTION)
        number = await _ask(way, request, requests.coordinator_of, deadline_ns)
        if number not in self._source.names:
            raise Definite("no coordinator")
        name = Name(text, self._source.names[number], Producer())
        name.producer = await self._init(name, deadline_ns)
        return name

    def _way(self, name: Name) -> Way:
        return self._source.brokers[name.coordinator].way("transaction")

    async def _init(self, name: Name, deadline_ns: int) -> Producer:
        request = requests.init_producer(name.text, ABORTED_AFTER_MS)
        return await _ask(self._way(name), request, requests.producer_of, deadline_ns)

    async def _end(self, name: Name, deadline_ns: int, *, commit: bool) -> None:
        request = requests.end_transaction(name.text, name.producer, commit=commit)
        await _ask(self._way(name), request, requests.read_ended, deadline_ns)

    async def _taken_over(self, name: Name, deadline_ns: int) -> None:
        """Let another producer take the name over, and the first try to commit.

        Raises Indefinite if it may have: that is for a reader to find out.
        """
        await self._take_over(name, deadline_ns)
        try:
            await self._end(name, deadline_ns, commit=True)
        except Definite as problem:
            if str(problem) in outcomes.FENCED:
                return
            raise
        raise Indefinite("a producer whose name was taken over has committed")

    async def _take_over(self, name: Name, deadline_ns: int) -> None:
        """Let another producer have the name; its coordinator first aborts what is open. Raises as ``_init``."""
        while True:
            try:
                await self._init(name, deadline_ns)
            except Definite as problem:
                if str(problem) != _ABORTING or now_ns() >= deadline_ns:
                    raise
            else:
                return
            await asyncio.sleep(_ABORTS_S)


async def _ask(way: Way, request: Request, read: Callable[[Reader], tuple[int, AnswerT]], deadline_ns: int) -> AnswerT:
    """One request, and what its answer holds beside the error.

    Raises:
        Definite: the answer is an error. Indefinite: there is none that parses.
    """
    try:
        error, answer = read(await way.ask(request, deadline_ns))
    except Malformed as problem:
        raise Indefinite(f"malformed answer: {problem}") from None
    if error:
        raise Definite(outcomes.name_of(error))
    return answer
