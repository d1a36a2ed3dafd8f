"""The workload ``register``: reads, writes and compare-and-sets of small numbers on several keys.

Few different numbers, so that comparing succeeds often; which is drawn from the seed.
"""

from collections.abc import Mapping
from typing import Final

from chaos.core.rand import stream
from chaos.models.objects.register import MODEL, Cas, F, Write
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.last_reads import LastReads
from chaos.workload.object_clients import ObjectLoad

VALUES: Final = 5
"""The numbers that are written: 0 to this, without it."""

CHANGES: Final = frozenset({F.WRITE, F.CAS})


class RegisterWorkload:
    """Reads, writes and compare-and-sets on several keys, then each is read once more."""

    name = "register"
    model = MODEL
    mix: Mapping[F, float] = {F.WRITE: 1.0, F.READ: 1.0, F.CAS: 0.5}
    needs = frozenset({F.WRITE, F.READ})
    checks = ("register",)

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of all three."""
        draws = stream(spec.seed, "value")

        def write(_: Arrival) -> Write:
            return Write(value=draws.randrange(VALUES))

        def cas(_: Arrival) -> Cas:
            return Cas(expected=draws.randrange(VALUES), value=draws.randrange(VALUES))

        return ObjectLoad(spec, self.mix, CHANGES, {F.WRITE: write, F.CAS: cas})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every key is read once more."""
        return (LastReads(spec, F.READ),)
