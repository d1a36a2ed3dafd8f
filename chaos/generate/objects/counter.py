"""Made-up histories of counters: small amounts are added, and the sum is read."""

from typing import Final

import numpy as np

from chaos.core.op import Type
from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Rows, Slot
from chaos.models.objects.counter import COUNTER, F

ANOMALY: Final = "out-of-bounds"
MOST: Final = 5
"""The largest amount that is added at once; the smallest is 1."""
CYCLE: Final = (
    Slot(F.ADD, 0),
    Slot(F.READ, 1),
    Slot(F.ADD, 2, unanswered=True, refused=True),
    Slot(F.READ, 3, unanswered=True),
    Slot(F.ADD, 1, unanswered=True, refused=True),
    Slot(F.ADD, 0),
    Slot(F.READ, 2),
)
ADDS: Final = [place for place, slot in enumerate(CYCLE) if slot.f is F.ADD]
READS: Final = [place for place, slot in enumerate(CYCLE) if slot.f is F.READ]
SHORT: Final = 1
"""The slot of the read that an anomaly spoils."""


class Counters(History):
    """One counter."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._sum = self._acked = 0

    def fill(self, rows: Rows) -> None:
        """Every read finds the sum of what took effect before it."""
        amount = np.zeros(rows.shape, dtype=np.int64)
        amount[:, ADDS] = rows.rng.integers(1, MOST + 1, (rows.shape[0], len(ADDS)))
        sums = self._sum + np.cumsum(np.where(rows.done, amount, 0)).reshape(rows.shape)
        self._acked_before = self._acked + np.cumsum(np.where(rows.type == Type.OK, amount, 0)).reshape(rows.shape)
        rows.tell(*READS)
        rows.values = {"amount": amount, "found": np.where(rows.answer == 1, sums, 0)}
        self._sum, self._acked = int(sums[-1, -1]), int(self._acked_before[-1, -1])

    def plant(self, rows: Rows, at: int, name: str) -> None:  # noqa: ARG002 - there is one
        """A read finds less than was acknowledged before it began."""
        rows.values["found"][at, SHORT] = self._acked_before[at, SHORT] - 1

    def finish(self, rows: Rows) -> None:
        """A read of the sum."""
        rows.tell(0)
        zero = np.zeros(rows.shape, dtype=np.int64)
        rows.values = {"amount": zero, "found": zero + self._sum}


class CounterGenerator(ObjectGenerator):
    """Run folders of counters to which amounts are added."""

    model, workload, check, history = COUNTER, "counter", "counter", Counters
    planted = (ANOMALY,)
    cycle, last = CYCLE, (Slot(F.READ, 3),)


GENERATOR: Final = CounterGenerator()
