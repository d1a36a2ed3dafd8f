"""Made-up histories of banks: money is moved and moved back, and all accounts are read at one moment."""

from typing import Final

import numpy as np
import pyarrow as pa

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Rows, Slot, list_column
from chaos.generate.outcomes import Ints
from chaos.models.transactions.bank import ACCOUNTS, BANK, OPENING, F

WRONG_TOTAL: Final = "wrong-total"
NEGATIVE: Final = "negative-balance"
OUT_OF_BOUNDS: Final = "out-of-bounds"
CYCLE: Final = (
    Slot(F.TRANSFER, 0),
    Slot(F.READ, 1),
    Slot(F.TRANSFER, 2),
    Slot(F.TRANSFER, 0),
    Slot(F.READ, 3, unanswered=True),
    Slot(F.TRANSFER, 1),
    Slot(F.TRANSFER, 2, unanswered=True, refused=True),
    Slot(F.TRANSFER, 3),
    Slot(F.READ, 0, unanswered=True),
)
THERE: Final = (0, 3, 6)
BACK: Final = (2, 5, 7)
"""Transfers, and those by which the money goes back."""
READS: Final = (1, 4, 8)
DOUBTFUL: Final = (ACCOUNTS - 2, ACCOUNTS - 1)
"""Two accounts between which transfers may get no answer: of the others it stays certain what they hold."""
MOST: Final = 5
"""The largest amount that is moved at once; the smallest is 1."""
NOT_THERE: Final = "another transfer came first"


class Banks(History):
    """One bank: at the end of a cycle every account holds what it held at first."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._shown: Ints = np.zeros((0, 0, ACCOUNTS), dtype=np.int64)

    def fill(self, rows: Rows) -> None:
        """Transfers there and back, and a read of each state in which the money is there, and of the last one."""
        count = rows.shape[0]
        source, target, amount = (np.zeros(rows.shape, dtype=np.int64) for _ in range(3))
        for there, back in zip(THERE, BACK, strict=True):
            own = rows.rng.integers(DOUBTFUL[0], size=count)
            other = (own + rows.rng.integers(1, DOUBTFUL[0], size=count)) % DOUBTFUL[0]
            if there == THERE[-1]:
                own, other = (np.full(count, account) for account in DOUBTFUL)
            source[:, there], target[:, there] = own, other
            source[:, back], target[:, back] = other, own
            amount[:, there] = amount[:, back] = rows.rng.integers(1, MOST + 1, size=count)
        rows.fail(BACK[-1], NOT_THERE, ~rows.done[:, THERE[-1]])
        rows.tell(*READS)
        rows.values = {"source": source, "target": target, "amount": amount}
        every = np.arange(count)
        self._shown = np.full((count, len(READS), ACCOUNTS), OPENING, dtype=np.int64)
        for read, there in enumerate(THERE[:-1]):
            self._shown[every, read, source[:, there]] -= amount[:, there]
            self._shown[every, read, target[:, there]] += amount[:, there]

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """The first read of a cycle shows half of a transfer, or nothing of it, or one of more than there was."""
        values, shown = rows.values, self._shown[at, 0]
        source, target = int(values["source"][at, 0]), int(values["target"][at, 0])
        if name == NEGATIVE:
            values["amount"][at, [THERE[0], BACK[0]]] = OPENING + MOST
            shown[source], shown[target] = -MOST, 2 * OPENING + MOST
        elif name == OUT_OF_BOUNDS:
            shown[source] = shown[target] = OPENING
        else:  # the transfer is under way, so neither account is out of its bounds
            shown[target] = OPENING
            rows.answer_after(at, THERE[0], READS[0])

    def lists(self, rows: Rows) -> dict[str, pa.Array]:
        """What reads show."""
        told = rows.answer == 1
        if rows.shape[1] == 1:
            return {"balances": list_column(told.ravel() * ACCOUNTS, np.full(ACCOUNTS, OPENING))}
        return {"balances": list_column(told.ravel() * ACCOUNTS, self._shown[told[:, READS]].ravel())}

    def finish(self, rows: Rows) -> None:
        """A read of what was there at first."""
        rows.tell(0)
        rows.values = {name: np.zeros(rows.shape, dtype=np.int64) for name in ("source", "target", "amount")}


class BankGenerator(ObjectGenerator):
    """Run folders of banks between whose accounts money is moved."""

    model, workload, check, history = BANK, "bank", "bank", Banks
    planted = (WRONG_TOTAL, NEGATIVE, OUT_OF_BOUNDS)
    cycle, last = CYCLE, (Slot(F.READ, 3),)
    reasons = (NOT_THERE,)


GENERATOR: Final = BankGenerator()
