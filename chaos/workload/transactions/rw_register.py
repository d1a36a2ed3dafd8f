"""The workload ``rw-register``: transactions that write registers and read them."""

from collections.abc import Mapping

from chaos.models.transactions.words import MODEL, Do, F
from chaos.workload.base import Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.transactions.transactions import CHECKS, KeysInUse, LastTransactions, TransactionLoad


class RwRegisterWorkload:
    """Writes and reads of registers in transactions, then every register is read once more."""

    name = "rw-register"
    help = "writes and reads of registers in transactions, then every register is read once more"
    model = MODEL
    mix: Mapping[F, float] = {F.REGISTER_TXN: 1.0, F.REGISTER_READ: 0.5}
    keys = 1
    needs = frozenset({F.REGISTER_TXN, F.REGISTER_READ})
    checks = CHECKS

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop of transactions."""
        return TransactionLoad(spec, self.mix, KeysInUse(spec, Do.WRITE))

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every register is read once more."""
        return (LastTransactions(spec, F.REGISTER_READ),)
