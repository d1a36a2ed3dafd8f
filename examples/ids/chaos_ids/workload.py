"""The workload ``ids``: clients draw ids from several sources, and once more from each at the end."""

from collections.abc import Mapping

from chaos.workload.base import Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.object_clients import ObjectLoad
from chaos_ids.model import F


class IdsWorkload:
    """Draws ids from several sources, then one more from each."""

    name = "ids"
    help = "numbers from several sources, then one more of each"
    model = "ids"
    mix: Mapping[F, float] = {F.NEXT: 1.0}
    keys = 4
    needs = frozenset({F.NEXT})
    checks = ("assumptions", "unique-ids", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """When which operation is due: by the clock, whatever became of earlier ones."""
        return ObjectLoad(spec, self.mix, changes=self.needs, arguments={})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """What is asked after the load, until it was answered."""
        return (LastReads(spec, F.NEXT),)
