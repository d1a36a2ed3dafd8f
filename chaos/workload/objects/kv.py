"""The workload ``kv``: keys of several spaces are put, deleted, compared and read, one by one and together.

Each space has a group of keys that is in use, and is retired for a new one after some changes, so that an order of all
operations on it can be searched for where answers name no revisions. When that is depends on the clock alone: all
clients use the same keys. Most values are written once; some are written again, because a store may confuse them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation, Type
from chaos.models.coordination.kv import (
    ABSENT,
    ANY,
    CHANGES,
    DELETED,
    MODEL,
    NOT_TOLD,
    WIDTH,
    Answer,
    Change,
    Changes,
    F,
    Keys,
    keys_of_group,
)
from chaos.workload.base import Arrival, Generator, LoadSpec, OpenLoop
from chaos.workload.final import FinalPhase, FinalSpec, Limits, Part, Steps
from chaos.workload.objects.final_reads_of_objects import LastReads, asked_until_ok, given_up_at

CHANGES_OF_GROUP: Final = 20.0
"""About so many times a group is changed before it is retired."""
AGAIN: Final = 1 / 8
"""So many puts write a value that their client has written before."""


class KvLoad:
    """An open loop of all words that the system's clients know."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float]) -> None:
        self._spec = spec
        self._loop = OpenLoop(spec, mix, CHANGES)
        self._changes_of_rate = sum(share for f, share in mix.items() if f in CHANGES & spec.operations) / spec.keys
        self._changed_per_s = 1.0
        self._draws = [stream(spec.seed, "keys and values", client) for client in range(spec.clients)]
        self._written = [spec.earlier.numbers] * spec.clients
        self._met: dict[tuple[int, int], int] = {}
        self._highest: dict[int, int] = {}

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop."""
        if clients and rate > 0:
            self._changed_per_s = rate * self._spec.clients / len(clients) * self._changes_of_rate
        return self._loop.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation:
        """What to ask of the group that is in use."""
        group = arrival.turn(CHANGES_OF_GROUP, self._changed_per_s)
        self._highest[arrival.key] = max(group, self._highest.get(arrival.key, 0))
        return arrival.invocation(process, now_ns + self._spec.timeout_ns, self._argument(arrival, group))

    def _argument(self, arrival: Arrival, group: int) -> Changes | Keys:
        draw, f = self._draws[arrival.client], arrival.f
        if f is F.RANGE:
            return keys_of_group(group)
        entry = group * WIDTH + draw.randrange(WIDTH)
        if f is F.GET:
            return Keys(first=entry)
        if f is F.DELETE:
            return Changes(changes=(Change(entry, DELETED),))
        if f is F.PUT:
            return Changes(changes=(Change(entry, self._value(arrival.client)),))
        if f is F.COMPARE_PUT:
            expected = self._met.get((arrival.key, entry), ABSENT)
            return Changes(changes=(Change(entry, self._new(arrival.client), expected),))
        other = group * WIDTH + (entry - group * WIDTH + draw.randrange(1, WIDTH)) % WIDTH
        return Changes(changes=(Change(entry, self._new(arrival.client)), Change(other, DELETED)))

    def _value(self, client: int) -> int:
        """A number that nobody writes again, or one that this client wrote before."""
        count, draw = self._written[client], self._draws[client]
        if count and draw.random() < AGAIN:
            return draw.randrange(count) * self._spec.clients + client
        return self._new(client)

    def _new(self, client: int) -> int:
        self._written[client] += 1
        return (self._written[client] - 1) * self._spec.clients + client

    def learn(self, op: Invocation, done: Completion) -> None:
        """At which revision keys were written last, as this worker's clients were told."""
        answer = done.result
        if not isinstance(answer, Answer):
            return
        if isinstance(op.argument, Keys):
            if done.type is Type.OK:
                keys = range(op.argument.first, op.argument.first + op.argument.count)
                self._meet(op.key, {**dict.fromkeys(keys, ABSENT), **{one.entry: one.revision for one in answer.held}})
        elif done.type is Type.OK and answer.revision != NOT_TOLD:
            now = {one.entry: ABSENT if one.value == DELETED else answer.revision for one in op.argument.changes}
            self._meet(op.key, now)
        else:
            self._meet(op.key, {one.entry: one.revision for one in answer.held})

    def _meet(self, space: int, now: Mapping[int, int]) -> None:
        for entry, revision in now.items():
            if revision > ANY:
                self._met[space, entry] = revision

    def notes(self) -> Mapping[int, Any]:
        """By space the last group that was used."""
        return dict(self._highest)


class LastGroups(LastReads):
    """Every group of every space is read once more: as a whole, or key by key where no answer shows them together."""

    what = "groups of keys read once more"

    def __init__(self, spec: FinalSpec) -> None:
        super().__init__(spec, F.RANGE if F.RANGE in spec.operations else F.GET)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read one group after the other; ``notes`` say of each worker the last one that it used."""
        until_ns = given_up_at(limits, now_ns)
        for group in range(max(notes, default=-1) + 1):
            whole = keys_of_group(group)
            each = (Keys(first=entry) for entry in range(whole.first, whole.first + whole.count))
            for keys in (whole,) if self._read is F.RANGE else each:
                missing = yield from asked_until_ok(self._read, keys, self._spec.op_timeout_s, until_ns)
                if missing:
                    return missing
        return ""


class KvWorkload:
    """Spaces of keys that are changed and read; at the end every key is read once more."""

    name = "kv"
    help = "spaces of keys that are put, deleted, compared and read, by revision where there is one; then all are read"
    model = MODEL
    mix: Mapping[F, float] = {
        F.PUT: 0.3,
        F.DELETE: 0.1,
        F.COMPARE_PUT: 0.2,
        F.TXN: 0.1,
        F.GET: 0.3,
        F.RANGE: 0.3,
    }
    keys = 4
    needs = frozenset({F.PUT, F.DELETE, F.GET})
    checks = ("assumptions", "kv", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of changes and reads."""
        return KvLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every group of keys is read once more."""
        return (LastGroups(spec),)
