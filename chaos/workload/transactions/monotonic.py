"""The workload ``monotonic``: registers whose values only grow, read some at a time.

Each client writes a register of its own, one write at a time, and takes another once a write is in doubt: a write that
comes late would make the value fall without anybody's fault.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation, Type
from chaos.models.transactions.words import CHANGES, MODEL, Do, F, Micro
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.transactions.register_groups import NEEDS
from chaos.workload.transactions.transactions import LastTransactions, Numbers, TransactionLoad

BESIDE: Final = 2
"""So many registers of other clients a write reads as well."""
READ: Final = 4
"""So many registers a read takes."""


class MonotonicWorkload:
    """Registers that only grow, written and read in transactions; then every register is read once more."""

    name = "monotonic"
    help = "registers that only grow, written and read in transactions; then every register is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.REGISTER_TXN: 0.5, F.REGISTER_READ: 0.5}
    keys = 1
    needs = NEEDS
    checks = ("assumptions", "monotonic", "transactions", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of both."""
        return TransactionLoad(spec, self.mix, _Rule(spec))

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every register is read once more."""
        return (LastTransactions(spec, F.REGISTER_READ),)


class _Rule:
    """A client's registers are its number, and every so many further ones as there are clients."""

    def __init__(self, spec: LoadSpec) -> None:
        self._clients, self._spaces = spec.clients, spec.keys
        self._draws = stream(spec.seed, "registers")
        self._numbers = Numbers(spec)
        self._generation = [spec.earlier.unknown] * spec.clients
        self._writing: set[int] = set()
        self._own: set[int] = set()

    def micros(self, arrival: Arrival, written_per_s: float) -> Sequence[Micro]:  # noqa: ARG002 - nothing is retired
        client = arrival.client
        self._own.add(client)
        if arrival.f not in CHANGES:
            return tuple(Micro(Do.READ, key) for key in self._others(arrival.key, READ))
        if client in self._writing:
            return ()
        self._writing.add(client)
        own = self._key(client)
        beside = [Micro(Do.READ, key) for key in self._others(arrival.key, BESIDE) if key != own]
        return (*beside, Micro(Do.WRITE, own, self._numbers.next(client)))

    def learn(self, op: Invocation, done: Completion) -> None:
        """Once a write is over its client may write again: another register, if nobody knows what became of it."""
        if op.f in CHANGES:
            self._writing.discard(op.client)
            self._generation[op.client] += done.type is Type.INFO

    def _key(self, client: int) -> int:
        return self._generation[client] * self._clients + client

    def _others(self, space: int, count: int) -> list[int]:
        """Registers that clients of a space use now; which of its own another worker's client uses is a guess."""
        clients = range(space, self._clients, self._spaces)
        newest = max(self._generation)
        chosen = self._draws.sample(clients, min(count, len(clients)))
        return [self._key(one) if one in self._own else newest * self._clients + one for one in chosen]
