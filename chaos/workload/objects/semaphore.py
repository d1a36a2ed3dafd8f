"""The workload ``semaphore``: clients take permits, hold them for a while and give them back.

A client has one permit of a semaphore at a time. Most are held briefly, some until about the end of their lease. Now
and then a client gives a permit back that it has given back before.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation, Type, Word
from chaos.models.coordination.semaphore import MODEL, F, Permit, Wanted
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import Ask, Asks, FinalPhase, FinalSpec, Limits, Part, Steps, Wait
from chaos.workload.objects.final_reads_of_objects import LastReads, given_up_at
from chaos.workload.objects.stepwise_load import StepLoad

PERMITS: Final = 3
"""Permits of a semaphore: fewer than there are clients."""
LEASE_MS: Final = 4000
"""How long a permit is granted: longer than most failovers take, so that a grant that was lost is met."""
AGAIN_EVERY: Final = 8
"""Of so many permits that a client gave back it gives one back once more."""
CHANGES: Final = frozenset(F)
WANTED: Final = Wanted(lease_ms=LEASE_MS, permits=PERMITS)
_BRIEFLY: Final = 0.75
"""So many permits are held for a short time."""
_BRIEF_NS: Final = 300_000_000
_LONG_NS: Final = LEASE_MS * 1_250_000
_OVER_S: Final = LEASE_MS * 0.0015
"""After so long the leases of all that was granted are over."""


class Holding(msgspec.Struct):
    """A permit that a client has, and until when. ``returned``: it was given back, and is given back once more."""

    permit: int
    until_ns: int
    returned: bool = False


class SemaphoreLoad(StepLoad[tuple[int, int]]):
    """A client takes a permit of a semaphore, and gives it back when its time is over."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float]) -> None:
        super().__init__(spec, mix, CHANGES)
        self._draws = [stream(spec.seed, "holds", client) for client in range(spec.clients)]
        self._holding: dict[tuple[int, int], Holding] = {}
        self._returned = [0] * spec.clients

    def _place(self, client: int, key: int, f: Word) -> tuple[int, int]:  # noqa: ARG002 - the same for both
        return client, key

    def _step(self, arrival: Arrival, now_ns: int) -> tuple[F, int, Wanted | Permit] | None:
        holding = self._holding.get((arrival.client, arrival.key))
        if holding is None:
            return F.ACQUIRE, arrival.key, WANTED
        return (F.GIVE_BACK, arrival.key, Permit(holding.permit)) if now_ns >= holding.until_ns else None

    def _hear(self, op: Invocation, done: Completion) -> None:
        """Whether the client has a permit. Who does not know whether it gave one back gives it back again."""
        place = op.client, op.key
        if op.f is F.ACQUIRE:
            if done.type is Type.OK and isinstance(done.result, Permit):
                self._holding[place] = Holding(done.result.permit, self._asked_ns(op) + self._time(op.client))
        elif done.type in (Type.OK, Type.FAIL) and (holding := self._holding.get(place)) is not None:
            if done.type is Type.OK and not holding.returned and self._once_more(op.client):
                holding.returned = True
            else:
                del self._holding[place]

    def _time(self, client: int) -> int:
        """How long a client holds its next permit, in ns from when it asked for it."""
        draw = self._draws[client]
        return round(draw.random() * (_BRIEF_NS if draw.random() < _BRIEFLY else _LONG_NS))

    def _once_more(self, client: int) -> bool:
        """Whether a permit that a client gave back is one that it gives back once more."""
        self._returned[client] += 1
        return self._returned[client] % AGAIN_EVERY == 0


class LastPermits(LastReads):
    """All permits of every semaphore, taken at once: nobody holds any more."""

    what = "semaphores of which all permits were taken"

    def __init__(self, spec: FinalSpec) -> None:
        super().__init__(spec, F.ACQUIRE, WANTED)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Take them, each time after all leases are over, until none is refused."""
        until_ns = given_up_at(limits, now_ns)
        while True:
            heard = yield Asks((Ask(F.ACQUIRE, WANTED, self._spec.op_timeout_s),) * PERMITS, fresh=True)
            refused = [done for done in heard.answers if done.type is not Type.OK]
            if not refused:
                return ""
            if heard.now_ns >= until_ns:
                return f"{len(refused)} of {PERMITS} permits were not granted: {refused[0].error or 'no answer'}"
            yield Wait(_OVER_S)


class SemaphoreWorkload:
    """Semaphores whose permits are taken, held and given back; at the end all of them are taken once more."""

    name = "semaphore"
    help = "semaphores whose permits are taken, held and given back; at the end all of them are taken once more"
    model = MODEL
    mix: Mapping[F, float] = {F.ACQUIRE: 0.3, F.GIVE_BACK: 0.1}
    keys = 4
    needs = frozenset(F)
    checks = ("assumptions", "semaphore", "replica-data", "recovery", "progress", "roles")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of steps."""
        return SemaphoreLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """All permits are taken: whoever was lost with one holds it no longer than its lease."""
        return (LastPermits(spec),)
