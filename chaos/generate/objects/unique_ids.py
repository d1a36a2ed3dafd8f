"""Made-up histories of sources of ids: growing numbers, each given once."""

from typing import Final

import numpy as np

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Rows, Slot
from chaos.models.coordination.unique_ids import UNIQUE_IDS, F

GIVEN_TWICE: Final = "id-given-twice"
OUT_OF_ORDER: Final = "id-out-of-order"
CYCLE: Final = tuple(Slot(F.GENERATE, client, unanswered=True, refused=True) for client in (0, 1, 2, 3, 1, 2, 0, 3))
SPOILED: Final = 5
"""The slot whose id an anomaly changes."""
APART: Final = 2
"""From an id to the next: between two there is one that is given only out of order."""


class Sources(History):
    """One source."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._given = 0

    def fill(self, rows: Rows) -> None:
        """Each operation gets the next id; one without an answer gets none."""
        numbers = self._given + APART * np.arange(1, rows.shape[0] * rows.shape[1] + 1)
        self._given = int(numbers[-1])
        rows.tell(*range(rows.shape[1]))
        rows.values = {"number": np.where(rows.answer == 1, numbers.reshape(rows.shape), 0)}

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """An operation is given the id of the one before it, or one below that."""
        number = rows.values["number"]
        number[at, SPOILED] = number[at, SPOILED - 1] - (name == OUT_OF_ORDER)

    def finish(self, rows: Rows) -> None:
        """One more id."""
        rows.tell(0)
        rows.values = {"number": np.full(rows.shape, self._given + APART)}


class UniqueIdsGenerator(ObjectGenerator):
    """Run folders of sources that hand out ids."""

    model, workload, check, history = UNIQUE_IDS, "unique-ids", "distinct-ids", Sources
    planted = (GIVEN_TWICE, OUT_OF_ORDER)
    cycle, last = CYCLE, (Slot(F.GENERATE, 0),)


GENERATOR: Final = UniqueIdsGenerator()
