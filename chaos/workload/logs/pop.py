"""The workload ``pop``: clients take messages from one queue, hold each for a while, and acknowledge it.

Producers and strong reads are those of ``queue``. What a client pops nobody else may be given for a time; the
client acknowledges it within that time, keeps some longer first, and lets a few go on purpose, so that they must be
given again. It says nothing of a message whose time is nearly over: what comes late proves nothing. Whatever is not
acknowledged, on purpose or because nobody answered, comes again.
"""

import heapq
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from chaos.basics.rand import stream
from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.checks import CHECKS
from chaos.models.log.operations import Ack, Extend, Pop, records_given
from chaos.models.log.words import HOLDS, F, Record, Value
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_pops import FinalPops
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies
from chaos.workload.logs.unread_values import LogNote

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


MIX: Final[Mapping[F, float]] = {
    F.SEND: 1.0,
    F.POP: 0.3,
    F.ACK: 1.2,
    F.EXTEND: 0.05,
    F.READ: 0.08,
    F.SLAVE_READ: 0.08,
}
"""Acks and extends are the most that clients may say: how often they are given the chance."""


def invisible_s(op_timeout_s: float) -> float:
    """For how long nobody else is given what a client popped."""
    return max(INVISIBLE_S, 2 * (op_timeout_s + MARGIN_S))


class PopLoad:
    """Sends; pops whose messages are acknowledged, kept longer or let go; strong reads and slave reads beside."""

    def __init__(self, spec: LoadSpec) -> None:
        # A chance to say something of a held message is an ack's, whatever is said then.
        self._log = LogLoad(spec, {f: share for f, share in MIX.items() if f is not F.EXTEND})
        self._timeout_ns = spec.timeout_ns
        self._invisible_ns = int(invisible_s(spec.op_timeout_s) * NS_PER_S)
        self._held: dict[int, list[Held]] = {client: [] for client in range(spec.clients)}
        self._fate = {client: stream(spec.seed, "fate", client) for client in range(spec.clients)}
        self._number = 0

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop; what an arrival of an ack says depends on what its client holds."""
        return self._log.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; nothing where the client has nothing to say of what it holds."""
        if arrival.f is F.ACK:
            return self._said(arrival, process, now_ns)
        if arrival.f is F.POP:
            return self._log.op(arrival, process, now_ns, Pop(invisible_ns=self._invisible_ns))
        return self._log.invocation(arrival, process, now_ns)

    def _said(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """The ack or extend that is due first and certain to be in time."""
        held = self._held[arrival.client]
        while held and held[0].due_ns <= now_ns:
            one = heapq.heappop(held)
            if one.until_ns < now_ns + self._timeout_ns + int(MARGIN_S * NS_PER_S):
                continue
            if one.extend:
                about = arrival._replace(f=F.EXTEND, key=one.key)
                extend = Extend(value=one.value, offset=one.offset, invisible_ns=self._invisible_ns)
                return self._log.op(about, process, now_ns, extend)
            ack = Ack(value=one.value, offset=one.offset)
            return self._log.op(arrival._replace(key=one.key), process, now_ns, ack)
        return None

    def learn(self, op: Invocation, done: Completion) -> None:
        """Hold what was popped, and what was kept longer again."""
        began_ns = op.deadline_ns - self._timeout_ns
        if op.f is F.POP:
            for record in records_given(done).records:
                self._take(op.client, op.key, record, began_ns)
        elif isinstance(op.argument, Extend) and done.type is Type.OK:
            self._hold(op.client, op.key, op.argument.value, op.argument.offset, began_ns, extend=False)
        elif op.f not in HOLDS:
            self._log.learn(op, done)

    def notes(self) -> Mapping[int, LogNote]:
        """What the final reads must know of each queue."""
        return self._log.notes()

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


class PopWorkload:
    """Sends; pops whose messages are acknowledged, kept longer or let go; strong reads and slave reads beside."""

    name = "pop"
    help = "sends; pops whose messages are acknowledged, kept longer or let go; strong reads and slave reads beside"
    model = "log"
    mix = MIX
    keys = 4
    needs = frozenset({F.SEND, F.DRAIN, F.POP, F.ACK, F.EXTEND})
    checks = CHECKS
    judged_by_clocks: Literal[True] = True

    def generator(self, spec: LoadSpec) -> Generator:
        """Sends, pops and what clients say of what they hold."""
        return PopLoad(spec)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every queue is popped to its end and then read whole, then every replica's copy is."""
        return FinalPops(spec, invisible_s(spec.op_timeout_s)), read_whole(spec, self.mix), ReplicaCopies(spec)
