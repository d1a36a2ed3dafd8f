"""The workload ``queue``: sends of unique values and three kinds of reads over several queues.

An open loop: operations become due by the clock, whatever became of the earlier ones. ``--rate`` is
the number of sends a second; weak polls, strong reads and slave reads come on top, each in proportion
to it. All decisions are drawn from named seeded streams, so the same seed asks the same questions.

The module is pure: it refuses to send, to wait and to look at a clock.
"""

import heapq
from collections.abc import Iterator, Mapping
from typing import Final

from chaos.core.clock import NS_PER_S
from chaos.core.op import SENDS, Completion, F, Invocation, Type, Value
from chaos.core.rand import stream
from chaos.workload.base import Arrival, LoadSpec, staggered

STRONG_READ_WINDOW: Final = 64
"""A strong read during the load begins this many offsets below the last end its client saw."""


QUIET_OF: Final = 10
"""In a quiet stretch one of so many sends is due; reads go on."""


class QueueWorkload:
    """Sends, weak polls, strong reads and slave reads on several queues, then a full drain."""

    name = "queue"
    mix: Mapping[F, float] = {F.SEND: 1.0, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    needs = frozenset({F.SEND, F.POLL, F.DRAIN})
    idempotent = False
    send_deadline_s = 0.0
    invisible_s = 0.0
    linger_s = 0.0

    def __init__(self, spec: LoadSpec) -> None:
        self._mix = self.mix_of(spec.operations)
        self._queues = spec.queues
        self._clients = spec.clients
        self._seed = spec.seed
        self._body_bytes = spec.body_bytes
        self._timeout_ns = int(spec.op_timeout_s * NS_PER_S)
        self._quiet = tuple((int(begin * NS_PER_S), int(end * NS_PER_S)) for begin, end in spec.quiet)
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
        yield from heapq.merge(*self._streams(clients, rate))

    def _streams(self, clients: list[int], rate: float) -> list[Iterator[Arrival]]:
        """The arrivals, each kind by itself."""
        return [self._of_kind(f, clients, rate * share) for f, share in self._mix.items()]

    def _of_kind(self, f: F, clients: list[int], per_s: float) -> Iterator[Arrival]:
        label = ",".join(map(str, clients))
        when = stream(self._seed, "when", f.word, label)
        who = stream(self._seed, "who", f.word, label)
        for number, at_ns in enumerate(staggered(when, per_s)):
            arrival = Arrival(at_ns, f, who.choice(clients), who.randrange(self._queues))
            if f not in SENDS or number % QUIET_OF == 0 or not self._is_quiet(at_ns):
                yield arrival

    def _is_quiet(self, at_ns: int) -> bool:
        return any(begin <= at_ns < end for begin, end in self._quiet)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival; counts the sequence number of a send."""
        client, key = arrival.client, arrival.key
        value = offset = None
        if arrival.f in SENDS:
            value = Value(client, self._sequence.get(client, 0))
            self._sequence[client] = value.sequence + 1
        elif arrival.f is F.READ:
            offset = max(0, self._end.get((client, key), 0) - STRONG_READ_WINDOW)
        elif arrival.f is F.SLAVE_READ:
            offset = max(0, self._end.get((client, key), 0) - STRONG_READ_WINDOW // 2)
        else:
            offset = self._cursor.get((client, key), 0)
        return Invocation(
            process=process,
            f=arrival.f,
            key=key,
            value=value,
            offset=offset,
            deadline_ns=now_ns + self._timeout_ns,
            body_bytes=self._body_bytes,
        )

    def stamped(self, client: int, op: Invocation) -> Invocation:  # noqa: ARG002 - ordinary sends carry no number
        """The send as it is."""
        return op

    def learn(self, client: int, op: Invocation, done: Completion) -> None:
        """Move the client's cursors by what it was told."""
        at = (client, op.key)
        if done.type is not Type.OK:
            return
        if op.f is F.POLL and done.next_offset is not None:
            self._cursor[at] = done.next_offset
        if op.f in SENDS and done.offset is not None:
            self._end[at] = max(self._end.get(at, 0), done.offset + 1)
        elif done.next_offset is not None and op.f is F.READ:
            self._end[at] = done.next_offset
