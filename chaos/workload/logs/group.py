"""The workload ``group``: the clients are one consumer group, whose members change hands under load.

Producers are those of ``queue``. Every queue belongs to one member at a time; who that is changes every few seconds, at
irregular moments, by a schedule that is a pure function of seed and time. A member that takes a queue over asks where
the group goes on, polls from there with long polls, and commits behind what it was given. It asks one thing at a time
of a queue: a moment at which its previous answer is still out is not an operation.
"""

import heapq
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from chaos.basics.rand import stream
from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.checks import CHECKS
from chaos.models.log.operations import Commit, ReadFrom, goes_on, records_given
from chaos.models.log.words import F
from chaos.workload.base import Arrival, Generator, LoadSpec, staggered_times
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies
from chaos.workload.logs.unread_values import LogNote

REBALANCE_S: Final = 4
"""Once in so long a queue changes hands, at a moment that is drawn: a regular one keeps step with regular faults."""

_REBALANCE_NS: Final = REBALANCE_S * NS_PER_S

POLLS_PER_COMMIT: Final = 2
"""Polls that returned something before their member commits."""

WAIT_MS: Final = 500
"""A long poll waits so long for a first record, if the deadline of operations allows it."""

STEPS_OF_REST: Final = 10
"""So many steps a member lets pass after it was not told where the group goes on: a slave refuses at once."""

MEMBERS_DO: Final = (F.POLL, F.COMMIT, F.COMMITTED_READ)
STEPS: Final = (F.POLL, F.COMMIT)
"""What members do mostly; they ask where the group goes on when they take a queue over."""


class _Membership(msgspec.Struct):
    """A member's hold on a queue. ``cursor`` None: it does not know yet where the group goes on."""

    slot: int
    cursor: int | None = None
    uncommitted_polls: int = 0
    rest: int = 0
    asking: int | None = None
    """The process whose answer is out."""


MIX: Final[Mapping[F, float]] = {
    F.SEND: 1.0,
    F.POLL: 0.5,
    F.COMMIT: 0.2,
    F.COMMITTED_READ: 0.15,
    F.READ: 0.08,
    F.SLAVE_READ: 0.08,
}
"""Polls and commits are the most that members do: how often they are given the chance, all together. Where the
group goes on every client asks as often as this says, beside members that take a queue over: one that is pinned
asks a deposed leader too."""


class GroupLoad:
    """Sends, and a consumer group that polls, commits and rebalances; strong reads and slave reads beside it."""

    def __init__(self, spec: LoadSpec) -> None:
        self._spec = spec
        self._log = LogLoad(spec, {f: share for f, share in MIX.items() if f not in STEPS})
        self._steps_per_send = sum(MIX[f] for f in STEPS if f in spec.operations)
        self._wait_ms = min(WAIT_MS, int(spec.op_timeout_s * 500))
        self._members: dict[tuple[int, int], _Membership] = {}
        self._changes: dict[int, tuple[int, int]] = {}
        """Per queue a stretch of time and when within it the queue changes hands."""

    def owner(self, key: int, slot: int) -> int:
        """The client that holds a queue after it has changed hands ``slot`` times."""
        return stream(self._spec.seed, "owner", key, slot).randrange(self._spec.clients)

    def slot(self, key: int, at_ns: int) -> int:
        """How often a queue has changed hands until then."""
        stretch, rest_ns = divmod(at_ns, _REBALANCE_NS)
        known, change_ns = self._changes.get(key, (-1, 0))
        if known != stretch:
            change_ns = stream(self._spec.seed, "change", key, stretch).randrange(_REBALANCE_NS)
            self._changes[key] = stretch, change_ns
        return stretch + (rest_ns >= change_ns)

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """The open loop of everybody, and for each queue the moments at which its member may take a step."""
        if rate <= 0 or not clients:
            return
        queues, share = self._spec.keys, self._spec.clients / len(clients)
        steps = self._steps_per_send * rate * share / queues
        own = frozenset(clients)
        yield from heapq.merge(
            self._log.arrivals(clients, rate), *(self._steps(key, own, steps) for key in range(queues))
        )

    def _steps(self, key: int, clients: frozenset[int], per_s: float) -> Iterator[Arrival]:
        """The steps of these clients on one queue; what they do in a step their answers decide."""
        slot, owner = -1, -1
        for at_ns in staggered_times(stream(self._spec.seed, "step", key), per_s):
            if (now := self.slot(key, at_ns)) != slot:
                slot, owner = now, self.owner(key, now)
            if owner in clients:
                yield Arrival(at_ns, F.POLL, owner, key)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival; a member's step is a committed-read, a poll or a commit."""
        if arrival.f is F.COMMITTED_READ:
            return self._log.op(arrival, process, now_ns, None)
        if arrival.f is not F.POLL:
            return self._log.invocation(arrival, process, now_ns)
        held = self._membership(arrival)
        if held.asking is not None or held.rest > 0:
            held.rest = max(0, held.rest - 1)
            return None
        held.asking = process
        f, argument = self._step(held)
        return self._log.op(arrival._replace(f=f), process, now_ns, argument)

    def _step(self, held: _Membership) -> tuple[F, Any]:
        if held.cursor is None:
            return F.COMMITTED_READ, None
        if held.uncommitted_polls >= POLLS_PER_COMMIT:
            return F.COMMIT, Commit(offset=held.cursor)
        return F.POLL, ReadFrom(offset=held.cursor, wait_ms=self._wait_ms)

    def _membership(self, arrival: Arrival) -> _Membership:
        """The member's hold on the queue: a new one unless it held it without a break."""
        at, slot = (arrival.client, arrival.key), self.slot(arrival.key, arrival.at_ns)
        held = self._members.get(at)
        if held is not None and any(self.owner(arrival.key, one) != arrival.client for one in range(held.slot, slot)):
            held = None
        if held is None:
            held = self._members[at] = _Membership(slot)
        held.slot = slot
        return held

    def learn(self, op: Invocation, done: Completion) -> None:
        """Move the member's cursor by what it was told; answers to an earlier hold change nothing."""
        if op.f not in (F.COMMIT, F.COMMITTED_READ):
            self._log.learn(op, done)
        if op.f not in MEMBERS_DO:
            return
        held = self._members.get((op.client, op.key))
        if held is None or held.asking != op.process:
            return
        held.asking = None
        following = records_given(done).next_offset
        if op.f is F.COMMIT:
            held.uncommitted_polls = 0
        elif op.f is F.COMMITTED_READ:
            held.cursor = (goes_on(done) or 0) if done.type is Type.OK else None
            held.rest = 0 if done.type is Type.OK else STEPS_OF_REST
        elif done.type is Type.OK and following is not None:
            held.uncommitted_polls += following > (held.cursor or 0)
            held.cursor = following

    def notes(self) -> Mapping[int, LogNote]:
        """What the final reads must know of each queue."""
        return self._log.notes()


class GroupWorkload:
    """Sends, and a consumer group that polls, commits and rebalances; strong reads and slave reads beside it."""

    name = "group"
    help = "sends, and a consumer group that polls, commits and rebalances; strong reads and slave reads beside it"
    model = "log"
    mix = MIX
    keys = 4
    needs = frozenset({F.SEND, F.DRAIN, *MEMBERS_DO})
    checks = CHECKS

    def generator(self, spec: LoadSpec) -> Generator:
        """Producers and a group of consumers."""
        return GroupLoad(spec)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every queue is read whole and the group asked where it goes on, then every replica's copy is read."""
        return read_whole(spec, self.mix), ReplicaCopies(spec)
