"""The workload ``lock``: clients take locks, write what the locks guard, and give them back.

A client that was given a lock writes under its token until enough writes are acknowledged, however long that takes: it
does not look at the clock, as a process that was paused does not. So a client whose requests hang outlives its lease
and goes on, which only a fencing token stops. And some holders do stand still, drawn from the seed: requests that hang
at a server are often lost with it, while a holder that wakes up late asks a server that is well.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation, Type, Word
from chaos.models.coordination.lock import MODEL, F, Granted, Lease, Token
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.stepwise_load import StepLoad

LEASE_MS: Final = 2000
"""How long a lock is granted: less than the deadline of an operation, so that a client can outlive it."""
WRITES: Final = 4
"""So many acknowledged writes a holder makes."""
STANDS_STILL: Final = 0.01
"""This share of holders stands still as soon as it holds the lock."""
STILL_NS: Final = 5 * LEASE_MS * 1_000_000 // 2
"""For so long: services end a lease up to a tick of their own late, and another client must have written by then."""
CHANGES: Final = frozenset(F)


class Holding(msgspec.Struct):
    """A lock that a client takes for its own, and does nothing with before ``awake_ns``.

    ``refused``: a write under it was refused for certain.
    """

    key: int
    token: int
    awake_ns: int
    written: int = 0
    refused: bool = False


class LockLoad(StepLoad[int]):
    """A client makes one step after the other, whichever lock is due."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float]) -> None:
        super().__init__(spec, mix, CHANGES)
        self._holding: dict[int, Holding] = {}
        self._still = {client: stream(spec.seed, "stands still", client) for client in range(spec.clients)}

    def _place(self, client: int, key: int, f: Word) -> int:  # noqa: ARG002 - a client is in one place
        return client

    def _step(self, arrival: Arrival, now_ns: int) -> tuple[F, int, Lease | Token] | None:
        """The client's next step; None while it stands still."""
        holding = self._holding.get(arrival.client)
        if holding is None:
            return F.ACQUIRE, arrival.key, Lease(lease_ms=LEASE_MS)
        if now_ns < holding.awake_ns:
            return None
        done = holding.refused or holding.written >= WRITES
        return F.UNLOCK if done else F.GUARDED, holding.key, Token(token=holding.token)

    def _hear(self, op: Invocation, done: Completion) -> None:
        """Whether the client holds a lock from now on. Who does not know whether it wrote writes again."""
        if op.f is F.ACQUIRE:
            if done.type is Type.OK and isinstance(done.result, Granted):
                self._holding[op.client] = Holding(op.key, done.result.token, self._awake_ns(op))
        elif op.f is F.UNLOCK:
            if done.type is not Type.NOT_SENT:
                self._holding.pop(op.client, None)
        elif (holding := self._holding.get(op.client)) is not None:
            holding.written += done.type is Type.OK
            holding.refused = done.type is Type.FAIL

    def _awake_ns(self, op: Invocation) -> int:
        """When the client that was granted a lock goes on: soon for most, long after the lease for some."""
        stands_still = self._still[op.client].random() < STANDS_STILL
        return self._asked_ns(op) + STILL_NS if stands_still else 0


class LockWorkload:
    """Locks that are taken, used to write, and given back; at the end each is taken once more."""

    name = "lock"
    help = "locks that are taken, used to write, and given back; at the end each is taken once more"
    model = MODEL
    mix: Mapping[F, float] = {F.ACQUIRE: 0.4, F.GUARDED: 1.2, F.UNLOCK: 0.4}
    keys = 8
    needs = frozenset(F)
    checks = ("assumptions", "lock", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of steps."""
        return LockLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every lock is taken once more: whoever was lost with it holds it no longer than its lease."""
        return (LastReads(spec, F.ACQUIRE, Lease(lease_ms=LEASE_MS)),)
