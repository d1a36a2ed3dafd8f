"""The workload ``lease``: clients take leases, keep them alive, and give them back or forget them; all look who lives.

A client has one lease at a place at a time, and asks for its next step there when it has heard of the last one. Looks
do not wait for steps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.core.op import Completion, Invocation, Type, Word
from chaos.models.coordination.lease import MODEL, F, Living, Term, Which
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import Ask, Asks, FinalPhase, FinalSpec, Limits, Part, Steps, Wait
from chaos.workload.objects.final_reads_of_objects import PAUSE_S, LastReads, given_up_at
from chaos.workload.objects.stepwise_load import StepLoad

TTL_MS: Final = 4000
"""How long a lease lives without a renewal: more than the deadline of an operation."""
RENEWALS: Final = 5
"""So many acknowledged renewals a client makes before it gives its lease back or forgets it, in turn."""
REFUSALS: Final = 5
"""After so many refused renewals in a row a client takes another lease: this one has ended, or no node serves it."""
STEPS: Final = frozenset({F.GRANT, F.RENEW, F.REVOKE})


class Holding(msgspec.Struct):
    """A lease that a client has, how often it was renewed, and how often this was refused since."""

    lease: int
    renewed: int = 0
    refused: int = 0


class LeaseLoad(StepLoad[tuple[int, int]]):
    """Looks, which wait for nothing, and steps: a client has one lease at a place at a time."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float]) -> None:
        super().__init__(spec, mix, STEPS)
        self._holding: dict[tuple[int, int], Holding] = {}
        self._taken = [spec.earlier.numbers] * spec.clients

    def _place(self, client: int, key: int, f: Word) -> tuple[int, int] | None:
        return None if f is F.READ else (client, key)

    def _step(self, arrival: Arrival, now_ns: int) -> tuple[F, int, Term | Which | None]:  # noqa: ARG002 - at any time
        if arrival.f is F.READ:
            return F.READ, arrival.key, None
        holding = self._holding.get((arrival.client, arrival.key))
        if holding is None:
            return F.GRANT, arrival.key, Term(lease=self._number(arrival.client), ttl_ms=TTL_MS)
        f = F.RENEW if holding.renewed < RENEWALS else F.REVOKE
        return f, arrival.key, Which(lease=holding.lease)

    def _number(self, client: int) -> int:
        """The client's next number, which nobody else has."""
        number = self._taken[client] * self._spec.clients + client
        self._taken[client] += 1
        return number

    def _hear(self, op: Invocation, done: Completion) -> None:
        """Whether the client has a lease from now on. One whose renewal is in doubt is renewed again."""
        place = op.client, op.key
        if op.f is F.GRANT:
            if done.type is Type.OK:
                self._holding[place] = Holding(op.argument.lease)
        elif op.f is F.REVOKE:
            if done.type is not Type.NOT_SENT:
                self._holding.pop(place, None)
        elif (holding := self._holding.get(place)) is not None:
            holding.renewed += done.type is Type.OK
            holding.refused = holding.refused + 1 if done.type is Type.FAIL else 0
            if holding.refused == REFUSALS or self._is_left(holding):
                del self._holding[place]

    def _is_left(self, holding: Holding) -> bool:
        """Whether a lease that was renewed often enough is left to end by itself, as every other one of a client is."""
        return holding.renewed >= RENEWALS and bool(holding.lease // self._spec.clients % 2)


class LastLooks(LastReads):
    """A look at every place until no lease lives there: nobody renews any more."""

    what = "places free of leases"

    def __init__(self, spec: FinalSpec) -> None:
        super().__init__(spec, F.READ)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Look, through a client that knows nothing yet, until nothing is seen."""
        until_ns = given_up_at(limits, now_ns)
        while True:
            heard = yield Asks((Ask(F.READ, None, self._spec.op_timeout_s),), fresh=True)
            (done,) = heard.answers
            seen = done.result.leases if isinstance(done.result, Living) else []
            if done.type is Type.OK and not seen:
                return ""
            if heard.now_ns >= until_ns:
                return done.error or f"{len(seen)} leases still live"
            yield Wait(PAUSE_S)


class LeaseWorkload:
    """Leases that are taken, kept alive and ended, while others look; at the end none may be left."""

    name = "lease"
    help = "leases that are taken, kept alive and ended, while others look; at the end none may be left"
    model = MODEL
    mix: Mapping[F, float] = {F.GRANT: 0.05, F.RENEW: 0.35, F.REVOKE: 0.05, F.READ: 0.55}
    keys = 8
    needs = frozenset(F)
    checks = ("assumptions", "lease", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of looks and steps."""
        return LeaseLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every place is looked at until all leases have ended."""
        return (LastLooks(spec),)
