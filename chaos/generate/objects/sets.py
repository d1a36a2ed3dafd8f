"""Made-up histories of sets: elements are added, and whole sets read.

A read returns the whole set, so a set takes some hundred elements, and then another takes its place.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import NO_REASON, Rows, Slot, list_column
from chaos.generate.outcomes import Ints
from chaos.models.objects.set import SET, F

LOST: Final = "lost-write"
PHANTOM: Final = "phantom"
DUPLICATE: Final = "duplicate"
STALE: Final = "stale-read"
FAILED: Final = "G1a"
ADDS: Final = 15
CYCLE: Final = (
    *(Slot(F.ADD, number % 5, unanswered=True, refused=True) for number in range(ADDS)),
    Slot(F.READ, 5),
)
READ: Final = ADDS
NUMBERS: Final = ADDS + 1
"""How many numbers a cycle uses: one for each element, and one that is never added."""
SPOILED: Final = 5
"""The slot of the add that an anomaly is about: a read that misses it begins well behind its answer."""
LONGEST: Final = 32
"""Cycles that a set lives."""
LEAST_STEP_NS: Final = 250_000
"""What was known for less than a millisecond may be missed."""


class Sets(History):
    """One set; all of its cycles are held at once."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._all: Ints = np.zeros(0, dtype=np.int64)
        self._reads: dict[int, Ints] = {}

    def fill(self, rows: Rows) -> None:
        """Numbers that no other set of the run has."""
        element = np.zeros(rows.shape, dtype=np.int64)
        number = rows.cycle * NUMBERS + np.arange(ADDS)
        element[:, :ADDS] = number * self.plan.keys + self.key
        rows.tell(READ)
        rows.values = {"element": element}
        there = rows.done[:, :ADDS].copy()
        for at, name in rows.sites:
            there[at, SPOILED] = name != LOST
        self._counts = np.cumsum(there.sum(axis=1))
        self._all = element[:, :ADDS][there]

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """A read leaves out an element, has one twice, or has one that was never added.

        A lost element is in no read; one that was refused is in every later one.
        """
        if name == FAILED:
            rows.refuse(at, SPOILED, NO_REASON)
        seen, element = self._all[: self._counts[at]], rows.values["element"][at, SPOILED]
        if name == STALE:
            self._reads[at] = seen[seen != element]
        elif name == DUPLICATE:
            self._reads[at] = np.append(seen, element)
        elif name == PHANTOM:
            self._reads[at] = np.append(seen, element + (ADDS - SPOILED) * self.plan.keys)

    def lists(self, rows: Rows) -> dict[str, pa.Array]:
        """What reads return: everything that was there."""
        if rows.shape[1] == 1:
            return {"elements": list_column(np.array([len(self._all)]), self._all)}
        told = rows.answer[:, READ] == 1
        reads = [self._reads.get(at, self._all[:count]) for at, count in enumerate(self._counts.tolist()) if told[at]]
        counts = np.zeros(rows.shape, dtype=np.int64)
        counts[told, READ] = [len(one) for one in reads]
        return {"elements": list_column(counts.ravel(), np.concatenate(reads))}

    def finish(self, rows: Rows) -> None:
        """A read of everything."""
        rows.tell(0)
        rows.values = {"element": np.zeros(rows.shape, dtype=np.int64)}


class SetGenerator(ObjectGenerator):
    """Run folders of sets to which elements are added."""

    model, workload, check, history = SET, "set", "set", Sets
    planted = (LOST, PHANTOM, FAILED, DUPLICATE, STALE)
    cycle, last = CYCLE, (Slot(F.READ, 0),)
    longest = LONGEST
    least_step_ns = LEAST_STEP_NS


GENERATOR: Final = SetGenerator()
