"""The workload ``list-append``: transactions that append to lists and read them."""

from collections.abc import Mapping

from chaos.models.transactions.words import MODEL, Do, F
from chaos.workload.base import Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.transactions.transactions import CHECKS, KeysInUse, LastTransactions, TransactionLoad


class ListAppendWorkload:
    """Appends and reads of lists in transactions, then every list is read once more."""

    name = "list-append"
    help = "appends and reads of lists in transactions, then every list is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.LIST_TXN: 1.0, F.LIST_READ: 0.5}
    keys = 1
    needs = frozenset({F.LIST_TXN, F.LIST_READ})
    checks = CHECKS

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of transactions."""
        return TransactionLoad(spec, self.mix, KeysInUse(spec, Do.APPEND))

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every list is read once more."""
        return (LastTransactions(spec, F.LIST_READ),)
