"""The workload ``bank``: money is moved between accounts, and all accounts are read at one moment."""

from collections.abc import Mapping
from typing import Final

from chaos.basics.rand import stream
from chaos.models.transactions.bank import ACCOUNTS, MODEL, F, Transfer
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_reads_of_objects import LastReads
from chaos.workload.objects.object_clients import ObjectLoad

MOST: Final = 5
"""The largest amount that is moved at once; the smallest is 1."""

CHANGES: Final = frozenset({F.TRANSFER})


class BankWorkload:
    """Transfers between accounts and reads of all of them, then every bank is read once more."""

    name = "bank"
    help = "transfers between accounts and reads of all of them, then every bank is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.TRANSFER: 0.5, F.READ: 0.5}
    keys = 1
    needs = frozenset({F.TRANSFER, F.READ})
    checks = ("assumptions", "bank", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of both."""
        draws = stream(spec.seed, "transfer")

        def transfer(_: Arrival) -> Transfer:
            source, target = draws.sample(range(ACCOUNTS), 2)
            return Transfer(source=source, target=target, amount=1 + draws.randrange(MOST))

        return ObjectLoad(spec, self.mix, CHANGES, {F.TRANSFER: transfer})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every bank is read once more."""
        return (LastReads(spec, F.READ),)
