"""The workload ``counter``: small amounts are added on several keys, and sums read."""

from collections.abc import Mapping
from typing import Final

from chaos.basics.rand import stream
from chaos.models.objects.counter import MODEL, Add, F
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.object_clients import ObjectLoad

MOST: Final = 5
"""The largest amount that is added at once; the smallest is 1."""

CHANGES: Final = frozenset({F.ADD})


class CounterWorkload:
    """Adds of small amounts and reads on several keys, then each is read once more."""

    name = "counter"
    help = "adds of small amounts and reads on several keys, then each is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.ADD: 1.0, F.READ: 0.5}
    keys = 8
    needs = frozenset({F.ADD, F.READ})
    checks = ("assumptions", "counter", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of both."""
        draws = stream(spec.seed, "amount")

        def add(_: Arrival) -> Add:
            return Add(amount=1 + draws.randrange(MOST))

        return ObjectLoad(spec, self.mix, CHANGES, {F.ADD: add})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every key is read once more."""
        return (LastReads(spec, F.READ),)
