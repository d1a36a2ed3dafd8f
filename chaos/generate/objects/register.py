"""Made-up histories of registers: values that are written once, read, compared and set."""

from typing import Final

import numpy as np

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Rows, Slot
from chaos.models.objects.register import REGISTER, F

ANOMALY: Final = "nonlinearizable"
VALUES: Final = 4
"""Values that a cycle may write, two of them by a compare-and-set."""
FIRST, SET, SECOND, NEVER = range(1, VALUES + 1)
CYCLE: Final = (
    Slot(F.WRITE, 0),
    Slot(F.READ, 1),
    Slot(F.CAS, 2),
    Slot(F.READ, 3),
    Slot(F.WRITE, 4, unanswered=True, refused=True),
    Slot(F.CAS, 1),
    Slot(F.READ, 0),
    Slot(F.READ, 2, unanswered=True),
)
NOT_EXPECTED: Final = "the register holds something else"


class Registers(History):
    """One register; a compare-and-set of the past fails."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._held = 0

    def fill(self, rows: Rows) -> None:
        """A write, a compare-and-set, a write, and reads of all of them."""
        value, expected, found = (np.zeros(rows.shape, dtype=np.int64) for _ in range(3))
        first, changed, second, never = (rows.cycle[:, 0] * VALUES + place for place in (FIRST, SET, SECOND, NEVER))
        value[:, 0], value[:, 2], value[:, 4], value[:, 5] = first, changed, second, never
        expected[:, 2] = expected[:, 5] = first
        held = np.where(rows.done[:, 4], second, changed)
        found[:, 1], found[:, 3], found[:, 6], found[:, 7] = first, changed, held, held
        rows.fail(5, NOT_EXPECTED)
        rows.tell(1, 3, 6, 7)
        rows.values = {"value": value, "expected": expected, "found": np.where(rows.answer == 1, found, 0)}
        self._held = int(held[-1])

    def plant(self, rows: Rows, at: int, name: str) -> None:  # noqa: ARG002 - there is one
        """A read finds what had been overwritten before it began."""
        rows.values["found"][at, 6] = rows.values["value"][at, 2]

    def finish(self, rows: Rows) -> None:
        """A read of what is held."""
        rows.tell(0)
        zero = np.zeros(rows.shape, dtype=np.int64)
        rows.values = {"value": zero, "expected": zero, "found": zero + self._held}


class RegisterGenerator(ObjectGenerator):
    """Run folders of registers that are read, written, compared and set."""

    model, workload, check, history = REGISTER, "register", "register", Registers
    planted = (ANOMALY,)
    cycle, last = CYCLE, (Slot(F.READ, 3),)
    longest = 1 << 10
    once = True
    reasons = (NOT_EXPECTED,)


GENERATOR: Final = RegisterGenerator()
