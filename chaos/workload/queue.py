"""The workload ``queue``: sends of unique values and three kinds of reads over several queues.

An open loop: operations become due by the clock, whatever became of the earlier ones. ``--rate`` is
the number of sends a second; weak polls, strong reads and slave reads come on top, each in proportion
to it. All decisions are drawn from named seeded streams, so the same seed asks the same questions.

The module is pure: it refuses to send, to wait and to look at a clock.
"""

import heapq
import random
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, F, Invocation, Type, Value
from chaos.core.rand import stream

STRONG_READ_WINDOW: Final = 64
"""A strong read during the load begins this many offsets below the last end its client saw."""


class Arrival(NamedTuple):
    """An operation that is due. ``at_ns`` counts from the beginning of the load."""

    at_ns: int
    f: F
    client: int
    key: int


def _stagger(rng: random.Random, per_s: float) -> Iterator[int]:
    """Instants in ns: one in each interval of 1/per_s, at a random place in it."""
    step = NS_PER_S / per_s
    i = 0
    while True:
        yield int((i + rng.random()) * step)
        i += 1


class QueueWorkload:
    """Sends, weak polls, strong reads and slave reads on several queues, then a full drain."""

    name: Final = "queue"
    mix: Final[Mapping[F, float]] = {F.SEND: 1.0, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    """Operations of each kind per send, as far as the system's clients make them."""

    def __init__(
        self, *, queues: int, seed: int, body_bytes: int, op_timeout_s: float, operations: frozenset[F]
    ) -> None:
        self._mix = self.mix_of(operations)
        self._queues = queues
        self._seed = seed
        self._body_bytes = body_bytes
        self._timeout_ns = int(op_timeout_s * NS_PER_S)
        self._sequence: dict[int, int] = {}
        self._cursor: dict[tuple[int, int], int] = {}
        self._end: dict[tuple[int, int], int] = {}

    @classmethod
    def mix_of(cls, operations: frozenset[F]) -> dict[F, float]:
        """The mix for a system whose clients make these kinds of operation."""
        return {f: share for f, share in cls.mix.items() if f in operations}

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """The operations of these clients in order of time, without end; none at a rate of 0.

        Args:
            clients: the client numbers to spread them over.
            rate: sends a second of all these clients together.
        """
        if rate <= 0 or not clients:
            return
        label = ",".join(map(str, clients))

        def kind(f: F) -> Iterator[Arrival]:
            when = stream(self._seed, "when", f.word, label)
            who = stream(self._seed, "who", f.word, label)
            for at_ns in _stagger(when, rate * self._mix[f]):
                yield Arrival(at_ns, f, who.choice(clients), who.randrange(self._queues))

        yield from heapq.merge(*(kind(f) for f in self._mix))

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation:
        """What to ask for this arrival; counts the sequence number of a send."""
        client, key = arrival.client, arrival.key
        value = offset = None
        if arrival.f is F.SEND:
            value = Value(client, self._sequence.get(client, 0))
            self._sequence[client] = value.sequence + 1
        elif arrival.f is F.READ:
            offset = max(0, self._end.get((client, key), 0) - STRONG_READ_WINDOW)
        elif arrival.f is F.SLAVE_READ:
            offset = max(0, self._end.get((client, key), 0) - STRONG_READ_WINDOW // 2)
        else:
            offset = self._cursor.get((client, key), 0)
        return Invocation(
            process=process, f=arrival.f, key=key, value=value, offset=offset,
            deadline_ns=now_ns + self._timeout_ns, body_bytes=self._body_bytes,
        )  # fmt: skip

    def learn(self, arrival: Arrival, done: Completion) -> None:
        """Move the client's cursors by what it was told."""
        at = (arrival.client, arrival.key)
        if done.type is not Type.OK:
            return
        if arrival.f is F.POLL and done.next_offset is not None:
            self._cursor[at] = done.next_offset
        if arrival.f is F.SEND and done.offset is not None:
            self._end[at] = max(self._end.get(at, 0), done.offset + 1)
        elif done.next_offset is not None and arrival.f is F.READ:
            self._end[at] = done.next_offset
