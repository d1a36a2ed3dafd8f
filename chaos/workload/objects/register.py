"""The workload ``register``: reads, writes and compare-and-sets on several keys.

Most numbers are written once, so that a read says which write it saw and a stale one can be told; some are written
again, because a store may confuse equal values. A compare-and-set expects what its client last met, so many succeed.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation, Type
from chaos.models.objects.answers import Found
from chaos.models.objects.register import MODEL, Cas, F, Write
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.object_clients import ObjectLoad

AGAIN: Final = 1 / 16
"""So many writes write a number that their client has written before."""

CHANGES: Final = frozenset({F.WRITE, F.CAS})


class RegisterLoad:
    """An open loop of reads, writes and compare-and-sets."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float]) -> None:
        self._clients = spec.clients
        self._draws = stream(spec.seed, "value")
        self._written = [spec.earlier.numbers] * spec.clients
        self._met: dict[tuple[int, int], int] = {}
        self._loop = ObjectLoad(spec, mix, CHANGES, {F.WRITE: self._write, F.CAS: self._cas})

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """An open loop."""
        return self._loop.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival."""
        return self._loop.invocation(arrival, process, now_ns)

    def learn(self, op: Invocation, done: Completion) -> None:
        """What a client met last at a key."""
        if done.type is not Type.OK:
            return
        value = done.result.value if isinstance(done.result, Found) else getattr(op.argument, "value", None)
        if value is not None:
            self._met[op.client, op.key] = value

    def notes(self) -> Mapping[int, Any]:
        """Nothing: the final reads need to know nothing of the load."""
        return {}

    def _number(self, client: int) -> int:
        """The client's next number, or one that it had before."""
        count = self._written[client]
        if count and self._draws.random() < AGAIN:
            return self._draws.randrange(count) * self._clients + client
        self._written[client] += 1
        return count * self._clients + client

    def _write(self, arrival: Arrival) -> Write:
        return Write(value=self._number(arrival.client))

    def _cas(self, arrival: Arrival) -> Cas:
        return Cas(expected=self._met.get((arrival.client, arrival.key), 0), value=self._number(arrival.client))


class RegisterWorkload:
    """Reads, writes and compare-and-sets on several keys, then each is read once more."""

    name = "register"
    help = "reads, writes and compare-and-sets on several keys, then each is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.WRITE: 1.0, F.READ: 1.0, F.CAS: 0.5}
    keys = 24
    needs = frozenset({F.WRITE, F.READ})
    checks = ("assumptions", "register", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of all three."""
        return RegisterLoad(spec, self.mix)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every key is read once more."""
        return (LastReads(spec, F.READ),)
