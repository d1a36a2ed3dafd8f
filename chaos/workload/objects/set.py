"""The workload ``set``: elements that nobody added before, and reads of whole sets, on several keys."""

from collections.abc import Mapping
from typing import Final

from chaos.models.objects.set import MODEL, Add, F
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.object_clients import ObjectLoad

CHANGES: Final = frozenset({F.ADD})


class SetWorkload:
    """Adds of new elements and reads of whole sets on several keys, then each is read once more."""

    name = "set"
    help = "adds of new elements and reads of whole sets on several keys, then each is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.ADD: 1.0, F.READ: 0.1}
    keys = 8
    needs = frozenset({F.ADD, F.READ})
    checks = ("assumptions", "set", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop; an element is its client's next number, so that no two are the same."""
        added = [spec.earlier.numbers] * spec.clients

        def add(arrival: Arrival) -> Add:
            number = added[arrival.client]
            added[arrival.client] += 1
            return Add(element=number * spec.clients + arrival.client)

        return ObjectLoad(spec, self.mix, CHANGES, {F.ADD: add})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every key is read once more."""
        return (LastReads(spec, F.READ),)
