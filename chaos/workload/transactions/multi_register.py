"""The workload ``multi-register``: a few registers at a time, written and read together.

A group of registers is used for some writes and then retired for a new one, so that an order of all operations on it
can be searched for. A transaction stays in one group.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation
from chaos.models.transactions.words import CHANGES, MODEL, REGISTERS, Do, F, Micro
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.transactions.register_groups import NEEDS, LastGroups
from chaos.workload.transactions.transactions import Numbers, TransactionLoad

WRITES: Final = 20.0
"""About so many operations write to a group before it is retired."""


class MultiRegisterWorkload:
    """Writes and reads of several registers at once; then every group of registers is read once more."""

    name = "multi-register"
    help = "writes and reads of several registers at once; then every group of registers is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.REGISTER_TXN: 0.5, F.REGISTER_READ: 0.5}
    keys = 1
    needs = NEEDS
    checks = ("assumptions", "multi-register", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of both."""
        return TransactionLoad(spec, self.mix, _Rule(spec))

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every group is read once more."""
        return (LastGroups(spec, REGISTERS),)


class _Rule:
    """Of one to all registers of a group each is read or written; where the word says so at least one is written."""

    def __init__(self, spec: LoadSpec) -> None:
        self._draws = stream(spec.seed, "registers")
        self._numbers = Numbers(spec)

    def micros(self, arrival: Arrival, written_per_s: float) -> Sequence[Micro]:
        first = arrival.turn(WRITES, written_per_s) * REGISTERS
        count = self._draws.randint(1, REGISTERS)
        chosen = [first + one for one in self._draws.sample(range(REGISTERS), count)]
        if arrival.f not in CHANGES:
            return tuple(Micro(Do.READ, key) for key in chosen)
        written = self._draws.randrange(count)
        return tuple(
            Micro(Do.WRITE, key, self._numbers.next(arrival.client))
            if place == written or self._draws.random() < 1 / 2
            else Micro(Do.READ, key)
            for place, key in enumerate(chosen)
        )

    def learn(self, op: Invocation, done: Completion) -> None:
        """No answer changes what is asked next."""
