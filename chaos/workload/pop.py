"""The workload ``pop``: clients take messages from one queue, hold each for a while, and acknowledge it.

Producers and strong reads are those of ``queue``. What a client pops nobody else may be given for a time; the
client acknowledges it within that time, keeps some longer first, and lets a few go on purpose, so that they must be
given again. It says nothing of a message whose time is nearly over: what comes late proves nothing. Whatever is not
acknowledged, on purpose or because nobody answered, comes again.

The module is pure: it refuses to send, to wait and to look at a clock.
"""

import heapq
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.op import HOLDS, Completion, F, Invocation, Record, Type, Value
from chaos.core.rand import stream
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.queue import QueueWorkload

INVISIBLE_S: Final = 8.0
"""Nobody else is given a popped message for so long, or a little more than twice the deadline of operations."""

HOLD_S: Final = 1.0
"""A message is held for up to so long before something is said of it."""

MARGIN_S: Final = 1.0
"""Nothing is said of a message if its time might be over so shortly after the answer."""

LET_GO: Final = 0.05
"""Of the messages that come for the first time, so many are let go."""

KEEP_LONGER: Final = 0.1


class Held(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A popped message, and what to say of it when: ordered by that time."""

    due_ns: int
    number: int
    key: int
    value: Value
    offset: int
    until_ns: int
    extend: bool


class PopWorkload(QueueWorkload):
    """Sends; pops whose messages are acknowledged, kept longer or let go; strong reads and slave reads beside."""

    name = "pop"
    mix: Mapping[F, float] = {
        F.SEND: 1.0,
        F.POP: 0.3,
        F.ACK: 1.2,
        F.EXTEND: 0.05,
        F.READ: 0.08,
        F.SLAVE_READ: 0.08,
    }
    """Acks and extends are the most that clients may say: how often they are given the chance."""
    needs = frozenset({F.SEND, F.DRAIN, F.POP, F.ACK, F.EXTEND})

    def __init__(self, spec: LoadSpec) -> None:
        super().__init__(spec)
        self.invisible_s = max(INVISIBLE_S, 2 * (spec.op_timeout_s + MARGIN_S))
        self._invisible_ns = int(self.invisible_s * NS_PER_S)
        self._held: dict[int, list[Held]] = {client: [] for client in range(spec.clients)}
        self._fate = {client: stream(spec.seed, "fate", client) for client in range(spec.clients)}
        self._number = 0

    def _streams(self, clients: list[int], rate: float) -> list[Iterator[Arrival]]:
        """A chance to say something of a held message is an ack's, whatever is said then."""
        return [self._of_kind(f, clients, rate * share) for f, share in self._mix.items() if f is not F.EXTEND]

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; nothing where the client has nothing to say of what it holds."""
        if arrival.f is F.ACK:
            return self._said(arrival.client, process, now_ns)
        if arrival.f is not F.POP:
            return super().invocation(arrival, process, now_ns)
        return Invocation(
            process=process,
            f=F.POP,
            key=arrival.key,
            argument=self._invisible_ns,
            deadline_ns=now_ns + self._timeout_ns,
        )

    def _said(self, client: int, process: int, now_ns: int) -> Invocation | None:
        """The ack or extend that is due first and certain to be in time."""
        held = self._held[client]
        while held and held[0].due_ns <= now_ns:
            one = heapq.heappop(held)
            if one.until_ns < now_ns + self._timeout_ns + int(MARGIN_S * NS_PER_S):
                continue
            return Invocation(
                process=process,
                f=F.EXTEND if one.extend else F.ACK,
                key=one.key,
                value=one.value,
                offset=one.offset,
                argument=self._invisible_ns if one.extend else 0,
                deadline_ns=now_ns + self._timeout_ns,
            )
        return None

    def learn(self, client: int, op: Invocation, done: Completion) -> None:
        """Hold what was popped, and what was kept longer again."""
        began_ns = op.deadline_ns - self._timeout_ns
        if op.f is F.POP:
            for record in done.records:
                self._take(client, op.key, record, began_ns)
        elif op.f is F.EXTEND and done.type is Type.OK and op.value is not None and op.offset is not None:
            self._hold(client, op.key, op.value, op.offset, began_ns, extend=False)
        elif op.f not in HOLDS:
            super().learn(client, op, done)

    def _take(self, client: int, key: int, record: Record, began_ns: int) -> None:
        """Decide what becomes of a popped message: at first a few are let go, later ones are not."""
        fate = self._fate[client].random()
        if record.value is None or (fate < LET_GO and record.attempt <= 1):
            return
        extend = LET_GO <= fate < LET_GO + KEEP_LONGER
        self._hold(client, key, record.value, record.offset, began_ns, extend=extend)

    def _hold(self, client: int, key: int, value: Value, offset: int, began_ns: int, *, extend: bool) -> None:
        self._number += 1
        due_ns = began_ns + int(self._fate[client].random() * HOLD_S * NS_PER_S)
        one = Held(
            due_ns=due_ns,
            number=self._number,
            key=key,
            value=value,
            offset=offset,
            until_ns=began_ns + self._invisible_ns,
            extend=extend,
        )
        # A message that comes again has another receipt: what is said with the old one says nothing of this one.
        held = [other for other in self._held[client] if (other.key, other.value) != (key, value)]
        heapq.heapify(held)
        heapq.heappush(held, one)
        self._held[client] = held
