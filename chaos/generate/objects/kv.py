"""Made-up histories of spaces of keys: each cycle has a group of its own, which is changed and read."""

from typing import Final

import numpy as np
import pyarrow as pa

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Lists, Rows, Slot, list_column
from chaos.generate.outcomes import Ints, Mask
from chaos.models.coordination.kv import ANY, DELETED, KV, NOT_TOLD, WIDTH, F
from chaos.models.objects.answers import TOLD

WRONG_READ: Final = "kv-wrong-read"
WRONG_ANSWER: Final = "kv-wrong-answer"
TWICE: Final = "kv-revision-twice"
SKIPPED: Final = "kv-revision-skipped"
STALE: Final = "kv-stale-read"
REORDERED: Final = "kv-revision-reordered"
NO_ORDER: Final = "nonlinearizable"
REASON: Final = "the comparison does not hold"

CYCLE: Final = (
    Slot(F.PUT, 0),
    Slot(F.PUT, 1, unanswered=True, refused=True),
    Slot(F.RANGE, 2),
    Slot(F.COMPARE_PUT, 0),
    Slot(F.DELETE, 1),
    Slot(F.TXN, 0),
    Slot(F.GET, 2),
    Slot(F.COMPARE_PUT, 3),
    Slot(F.RANGE, 3),
)
PUT_A, PUT_B, READ, REPLACE_A, DELETE_B, TXN, GET_C, REFUSED, READ_AGAIN = range(len(CYCLE))
"""Slots: two keys are put and read, one is put again, the other deleted, then the first one for a third key."""
A, B, C, D = range(WIDTH)
"""The keys of a group. The last one is never written."""
APART: Final = 2
"""From a revision to the next: the one between is somebody else's."""
CHANGES: Final = 5
OF_CHANGE: Final = np.array([PUT_A, PUT_B, REPLACE_A, DELETE_B, TXN, TXN, REFUSED])
"""The slot of each key that is changed."""
KEY: Final = np.array([A, B, A, B, C, A, C])
GONE: Final = [3, 5]
"""Which of these are deletions."""
OF_HELD: Final = np.array([READ, READ, GET_C, REFUSED, READ_AGAIN, READ_AGAIN, READ_AGAIN, READ_AGAIN])
"""The slot of each key that is shown; the last read shows all four only where an anomaly has it so."""
HELD: Final = np.array([A, B, C, C, A, B, C, D])
SHOWN_B, GOT_C, REFUSED_C = 1, 2, 3
OLD, NEW, STRANGE = [4, 5], 6, 7
"""Places in the last read: what was there before, what is there, and a value that was never written."""
COLUMNS: Final = ("held_entry", "held_value", "held_revision")
ENTRY, VALUE, REVISION = range(3)


class Spaces(History):
    """One space of keys."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._held: Ints = np.zeros((0, 0, len(COLUMNS)), dtype=np.int64)
        self._kept: Mask = np.zeros((0, 0), dtype=np.bool_)
        self._changes: Ints = np.zeros((0, 0, 3), dtype=np.int64)
        self._last = 0

    def fill(self, rows: Rows) -> None:
        """Five changes of three keys, a comparison that does not hold, and reads."""
        plan, count, done = self.plan, rows.shape[0], rows.done[:, PUT_B]
        number = rows.cycle * CHANGES + np.arange(CHANGES)
        at = (number * plan.at_once + self.key % plan.at_once + 1) * APART
        value = (rows.cycle * (CHANGES + 1) + np.arange(CHANGES + 1)) * plan.keys + self.key
        self._last = int(at[-1, -1])
        rows.fail(REFUSED, REASON)
        rows.tell(*(slot for slot in range(len(CYCLE)) if slot != REFUSED))
        rows.answer[:, REFUSED] = TOLD
        revision = at[:, [0, 1, 1, 2, 3, 4, 4, 4, 4]]
        revision[:, DELETE_B] -= ~done
        effects = np.tile(np.array([1, 1, 0, 1, 1, 3, 0, 0, 0]), (count, 1))
        effects[:, DELETE_B] = done
        told = rows.answer == TOLD
        first = np.zeros(rows.shape, dtype=np.int64)
        first[:, [READ, READ_AGAIN]] = rows.cycle * WIDTH
        first[:, [GET_C]] = rows.cycle * WIDTH + C
        asked = np.array([WIDTH if slot.f is F.RANGE else int(slot.f is F.GET) for slot in CYCLE])
        rows.values = {
            "revision": np.where(told, revision, NOT_TOLD),
            "effects": np.where(told, effects, 0),
            "first": first,
            "count": np.tile(asked, (count, 1)),
        }
        self._changes = np.zeros((count, len(KEY), 3), dtype=np.int64)
        self._changes[:, :, 0] = rows.cycle * WIDTH + KEY
        self._changes[:, :, 1] = np.where(
            np.isin(np.arange(len(KEY)), [3, 5]), DELETED, value[:, [0, 1, 2, 0, 3, 0, 4]]
        )
        self._changes[:, :, 2] = ANY
        self._changes[:, [2, 6], 2] = at[:, [0]]
        self._held = np.zeros((count, len(HELD), len(COLUMNS)), dtype=np.int64)
        self._held[:, :, ENTRY] = rows.cycle * WIDTH + HELD
        self._held[:, :, VALUE] = value[:, [0, 1, 3, 3, 0, 1, 3, 5]]
        self._held[:, :, REVISION] = at[:, [0, 1, 4, 4, 0, 1, 4, 4]]
        self._held[:, STRANGE, REVISION] -= 1
        self._kept = np.ones(self._held.shape[:2], dtype=np.bool_)
        self._kept[:, SHOWN_B] = done
        self._kept[:, [*OLD, STRANGE]] = False

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """Change what clients of a cycle are told."""
        revision, held, kept = rows.values["revision"][at], self._held[at], self._kept[at]
        if name == WRONG_READ:
            held[GOT_C, VALUE] = held[0, VALUE]
        elif name == WRONG_ANSWER:
            kept[REFUSED_C] = False
        elif name == TWICE:
            rows.answer_after(at, PUT_A, PUT_B)
            revision[PUT_B] = held[SHOWN_B, REVISION] = revision[PUT_A]
        elif name == SKIPPED:
            kept[STRANGE] = True
        elif name == REORDERED:
            revision[DELETE_B] = revision[PUT_B] + 1
        else:
            revision[READ_AGAIN] = revision[READ]
            kept[OLD], kept[NEW] = True, False
        if name == NO_ORDER:
            revision[:] = held[:, REVISION] = NOT_TOLD

    def lists(self, rows: Rows) -> dict[str, pa.Array]:
        """What is changed, and what clients are told is there."""
        names = ("change_entry", "change_value", "expected")
        if rows.shape[1] == 1:
            none = list_column(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
            return dict.fromkeys((*names, *COLUMNS), none)
        changes = Lists(OF_CHANGE, np.ones(self._changes.shape[:2], dtype=np.bool_))
        shown = Lists(OF_HELD, self._kept)
        slots = rows.shape[1]
        return {name: changes.column(slots, self._changes[:, :, place]) for place, name in enumerate(names)} | {
            name: shown.column(slots, self._held[:, :, place]) for place, name in enumerate(COLUMNS)
        }

    def finish(self, rows: Rows) -> None:
        """A read of a group that is not in use yet."""
        rows.tell(0)
        zero = np.zeros(rows.shape, dtype=np.int64)
        rows.values = {
            "revision": zero + self._last,
            "effects": zero,
            "first": zero + self.plan.cycles * WIDTH,
            "count": zero + WIDTH,
        }


class KvGenerator(ObjectGenerator):
    """Run folders of spaces whose keys are changed and read."""

    model, workload, check, history = KV, "kv", "kv", Spaces
    planted = (WRONG_READ, WRONG_ANSWER, TWICE, SKIPPED, STALE, REORDERED, NO_ORDER)
    cycle, last = CYCLE, (Slot(F.RANGE, 2),)
    reasons = (REASON,)


GENERATOR: Final = KvGenerator()
