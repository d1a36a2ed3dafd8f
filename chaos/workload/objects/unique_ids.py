"""The workload ``unique-ids``: clients ask several sources for ids, and each source once more at the end."""

from collections.abc import Mapping
from typing import Final

from chaos.models.coordination.unique_ids import MODEL, F
from chaos.workload.base import Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.object_clients import ObjectLoad

CHANGES: Final = frozenset({F.GENERATE})


class UniqueIdsWorkload:
    """Ids of several sources, then one more of each."""

    name = "unique-ids"
    help = "ids of several sources, then one more of each"
    model = MODEL
    mix: Mapping[F, float] = {F.GENERATE: 2.0}
    keys = 8
    needs = frozenset({F.GENERATE})
    checks = ("assumptions", "distinct-ids", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop."""
        return ObjectLoad(spec, self.mix, CHANGES, {})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every source gives one more."""
        return (LastReads(spec, F.GENERATE),)
