"""The workload ``watch``: clients change entries, others follow the changes from where they last got to.

A client watches a space for a moment, and goes on behind the last event that it was told, in a new connection; where
that is compacted, at the oldest revision that is not. A few watches ask for a revision that is not there yet. Where a
system knows no watch from a revision on, a client follows a space from now on, time and again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation, Type
from chaos.models.coordination.watch import (
    DELETED,
    MODEL,
    WATCHES,
    WRITES,
    Change,
    Changes,
    Events,
    F,
    From,
    FromNow,
    Written,
)
from chaos.workload.base import Arrival, Generator, LoadSpec, OpenLoop
from chaos.workload.final import Ask, Asks, FinalPhase, FinalSpec, Limits, Part, Steps, Wait
from chaos.workload.objects.final_reads_of_objects import PAUSE_S, LastReads, given_up_at

ENTRIES: Final = 8
"""Entries of a space."""
LISTEN_MS: Final = 1000
"""How long a watch lasts."""
AHEAD_EVERY: Final = 8
"""One of so many watches of a client at a space asks for a revision of the future."""
AHEAD: Final = 20
"""So many revisions from the highest that the client knows."""
MOST_CHANGES: Final = 3
_DELETES: Final = 0.25


class WatchLoad:
    """An open loop of writes and watches; a client watches a space once at a time."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float]) -> None:
        self._spec = spec
        self._loop = OpenLoop(spec, mix, WRITES)
        self._draws = [stream(spec.seed, "changes", client) for client in range(spec.clients)]
        self._written = [spec.earlier.numbers] * spec.clients
        self._watches: dict[tuple[int, int], int] = {}
        self._reached: dict[tuple[int, int], int] = {}
        self._watching: set[tuple[int, int]] = set()
        self._highest: dict[int, int] = {}

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop."""
        return self._loop.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """A write, or a watch; None while the client watches this space."""
        argument: Changes | From | FromNow
        if arrival.f in WRITES:
            argument = self._changes(arrival.client, 1 if arrival.f is F.PUT else MOST_CHANGES)
        else:
            place = arrival.client, arrival.key
            if place in self._watching:
                return None
            self._watching.add(place)
            if arrival.f is F.FOLLOW:
                argument = FromNow(listen_ms=LISTEN_MS)
            else:
                argument = From(revision=self._from(place), listen_ms=LISTEN_MS)
        return arrival.invocation(process, now_ns + self._spec.timeout_ns, argument)

    def _changes(self, client: int, most: int) -> Changes:
        """A change of one or more entries, each value of which nobody else writes."""
        draw = self._draws[client]
        changes = []
        for entry in draw.sample(range(ENTRIES), draw.randint(1, most)):
            value = DELETED
            if draw.random() >= _DELETES:
                value = self._written[client] * self._spec.clients + client
                self._written[client] += 1
            changes.append(Change(entry, value))
        return Changes(changes=tuple(changes))

    def _from(self, place: tuple[int, int]) -> int:
        number = self._watches[place] = self._watches.get(place, 0) + 1
        reached = self._reached.get(place, 0)
        if number % AHEAD_EVERY == 0:
            return max(reached, self._highest.get(place[1], 0)) + AHEAD
        return reached + 1

    def learn(self, op: Invocation, done: Completion) -> None:
        """How far a watch got, however it ended, and which revisions there are."""
        if isinstance(done.result, Written) and done.type is Type.OK and done.result.effects:
            self._highest[op.key] = max(done.result.revision, self._highest.get(op.key, 0))
        if op.f not in WATCHES:
            return
        place = op.client, op.key
        self._watching.discard(place)
        if op.f is F.FOLLOW:
            return
        reached = self._reached.get(place, 0)
        if isinstance(done.result, Events) and op.argument.revision == reached + 1:
            self._reached[place] = done.result.reached(reached)

    def notes(self) -> Mapping[int, Any]:
        """By space the highest revision at which a write is known to have changed something."""
        return self._highest


class LastWatches(LastReads):
    """A watch of every space from the oldest revision that there is, until it was told all that was acknowledged."""

    what = "spaces watched from the oldest revision"

    def __init__(self, spec: FinalSpec) -> None:
        super().__init__(spec, F.SUBSCRIBE)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Watch, each time through a client that knows nothing yet and from where the last watch got to."""
        until_ns, reached, highest = given_up_at(limits, now_ns), 0, max(notes, default=0)
        while True:
            asked = From(revision=reached + 1, listen_ms=LISTEN_MS)
            heard = yield Asks((Ask(F.SUBSCRIBE, asked, self._spec.op_timeout_s),), fresh=True)
            (done,) = heard.answers
            if isinstance(done.result, Events):
                reached = done.result.reached(reached)
            if reached >= highest and done.type is Type.OK:
                return ""
            if heard.now_ns >= until_ns:
                return done.error or f"told revisions up to {reached}, {highest} was acknowledged"
            yield Wait(PAUSE_S)


class WatchWorkload:
    """Spaces whose entries are changed and followed; at the end each is followed from its oldest revision.

    Not where a system can watch from now on alone: what was not followed cannot be asked for any more.
    """

    name = "watch"
    help = "spaces whose entries are changed and followed; at the end each is followed from its oldest revision"
    model = MODEL
    mix: Mapping[F, float] = {F.WRITE: 0.3, F.PUT: 0.3, F.SUBSCRIBE: 0.1, F.FOLLOW: 0.1}  # one of each two is known
    keys = 4
    needs: frozenset[F] = frozenset()
    needs_one_of = WATCHES
    checks = ("assumptions", "watch", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of writes and watches."""
        return WatchLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every space is watched from its oldest revision, where that can be."""
        return (LastWatches(spec),) if F.SUBSCRIBE in spec.operations else ()
