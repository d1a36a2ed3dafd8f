"""Made-up histories of watches: entries are changed, and each watch goes on where the last one ended.

A follow beside them is told the last change of a cycle, and reads its entry behind that.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Lists, Rows, Slot, list_column
from chaos.generate.outcomes import Ints, Mask
from chaos.models.coordination.watch import DELETED, NOT_TOLD, READ, WATCH, F

PHANTOM: Final = "watch-phantom"
SKIPPED: Final = "watch-skipped"
TORN: Final = "watch-torn"
REORDERED: Final = "watch-reordered"
DUPLICATE: Final = "watch-duplicate"
BEFORE_START: Final = "watch-before-start"
WRONG_PREVIOUS: Final = "watch-wrong-previous"
CYCLE: Final = (
    Slot(F.WRITE, 0),
    Slot(F.WRITE, 1),
    Slot(F.PUT, 0),
    Slot(F.WRITE, 1, unanswered=True, refused=True),
    Slot(F.WRITE, 0),
    Slot(F.SUBSCRIBE, 2),
    Slot(F.SUBSCRIBE, 3),
    Slot(F.FOLLOW, 4),
)
WRITES: Final = 5
ALL, TAIL, FOLLOW = 5, 6, 7
"""The watch of a cycle's changes, and a watch and a follow that begin with its last write."""
OF_CHANGE: Final = np.array([0, 1, 1, 2, 3, 4])
"""The write of each change of a cycle."""
ENTRY: Final = np.array([0, 1, 2, 0, 3, 1])
DELETION, IN_DOUBT, LAST = 3, 4, 5
"""Changes: the first entry is deleted, one that may not have happened, the last."""
APART: Final = 2
"""From a revision to the next: at the one between nothing was written."""
UNWRITTEN: Final = 7
"""An entry that nobody writes."""
COLUMNS: Final = ("batch", "event_revision", "event_entry", "event_value", "previous_revision", "previous_value")
BATCH, REVISION, EVENT_ENTRY, VALUE, PREVIOUS_REVISION, PREVIOUS_VALUE = range(6)
CHANGES: Final = len(OF_CHANGE)
SPARE: Final = CHANGES
"""The place of an event that only an anomaly shows, ahead of the last change's."""
PLACES: Final = np.array([0, 1, 2, 3, 4, SPARE, LAST])
"""Places of events of the whole watch, each by its change; then come two of the other watch: in doubt, and the last.

Then come the last event again and a read, of the follow.
"""
TOLD_LAST: Final = len(PLACES) - 1


class Spaces(History):
    """One space of entries."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        # Of each entry: revision and value of its latest change.
        self._before: Ints = np.tile(np.array([0, DELETED]), (4, 1))
        self._told: Ints = np.zeros((0, 0, len(COLUMNS)), dtype=np.int64)
        self._kept = np.zeros((0, 0), dtype=np.bool_)
        self._changes: Ints = np.zeros((0, CHANGES), dtype=np.int64)
        self._since = 1
        self._last: tuple[int, Ints, Mask] = 1, self._told, self._kept

    def fill(self, rows: Rows) -> None:
        """Five writes of six entries, then two watches."""
        plan, count, done = self.plan, rows.shape[0], rows.done[:, 3]
        number = rows.cycle * WRITES + np.arange(WRITES)
        revision = (number * plan.at_once + self.key % plan.at_once + 1) * APART
        value = (rows.cycle * CHANGES + np.arange(CHANGES)) * plan.keys + self.key
        value[:, DELETION] = DELETED
        self._changes = value
        rows.tell(0, 1, 2, 3, 4, ALL, TAIL, FOLLOW)
        effects, at = (np.zeros(rows.shape, dtype=np.int64) for _ in range(2))
        told = rows.answer[:, :WRITES] == 1
        effects[:, :WRITES] = np.where(told, np.array([1, 3, 1, 1, 1]), 0)
        at[:, :WRITES] = np.where(told, revision, 0)
        at[:, ALL] = np.concatenate(([self._since], revision[:-1, -1] + 1))
        at[:, [TAIL, FOLLOW]] = revision[:, -1:]
        rows.values = {"effects": effects, "revision": at}
        self._since = int(revision[-1, -1]) + 1
        events = np.zeros((count, CHANGES, len(COLUMNS)), dtype=np.int64)
        events[:, :, BATCH], events[:, :, REVISION] = OF_CHANGE, revision[:, OF_CHANGE]
        events[:, :, EVENT_ENTRY], events[:, :, VALUE] = ENTRY, value
        self._name_previous(events, done)
        spare = np.zeros((count, 1, len(COLUMNS)), dtype=np.int64)
        every = np.concatenate((events, spare), axis=1)
        self._told = every[:, [*PLACES, IN_DOUBT, LAST, LAST, LAST]]
        self._told[:, -2:, [PREVIOUS_REVISION, PREVIOUS_VALUE]] = NOT_TOLD, DELETED
        self._told[:, -1, BATCH], self._told[:, -1, PREVIOUS_REVISION] = READ, revision[:, -1]
        self._kept = np.ones(self._told.shape[:2], dtype=np.bool_)
        self._kept[:, IN_DOUBT] = done
        self._kept[:, [TOLD_LAST - 1, TOLD_LAST + 1]] = False
        self._last = int(revision[-1, 0]), self._told[-1:, : len(PLACES)].copy(), self._kept[-1:, : len(PLACES)].copy()

    def _name_previous(self, events: Ints, done: Mask) -> None:
        """What was in each entry before."""
        both = slice(PREVIOUS_REVISION, PREVIOUS_VALUE + 1)
        written = (REVISION, VALUE)
        events[:, 0, both] = 0, DELETED  # it was deleted in the cycle before
        for change, entry in ((1, 1), (2, 2)):
            latest = LAST if entry == 1 else change
            events[1:, change, both] = events[:-1, latest][:, written]
            events[0, change, both] = self._before[entry]
        events[:, DELETION, both] = events[:, 0][:, written]
        events[:, LAST, both] = events[:, 1][:, written]
        landed: Ints = np.maximum.accumulate(np.where(done, np.arange(len(done)), -1))
        earlier = np.roll(landed, 1)
        earlier[0] = -1
        own = events[:, IN_DOUBT][:, written]
        events[:, IN_DOUBT, both] = np.where((earlier >= 0)[:, None], own[np.maximum(earlier, 0)], self._before[3])
        self._before[1], self._before[2] = events[-1, LAST, written], events[-1, 2, written]
        if landed[-1] >= 0:
            self._before[3] = own[landed[-1]]

    def plant(self, rows: Rows, at: int, name: str) -> None:  # noqa: ARG002 - writes stay as they are
        """Change what the watches of a cycle are told."""
        told, kept = self._told[at], self._kept[at]
        spare = TOLD_LAST - 1
        if name == PHANTOM:
            told[spare] = told[TOLD_LAST]
            told[spare, [REVISION, EVENT_ENTRY]] = told[TOLD_LAST, REVISION] - 1, UNWRITTEN
            unwritten = told[0, VALUE] + DELETION * self.plan.keys  # the number that the deletion did not need
            told[spare, [VALUE, PREVIOUS_REVISION, PREVIOUS_VALUE]] = unwritten, 0, DELETED
            kept[spare] = True
        elif name == SKIPPED:
            kept[IN_DOUBT] = False
        elif name == TORN:  # messages behind it have a higher number
            told[2 : TOLD_LAST + 1, BATCH] += 1
        elif name == REORDERED:
            told[[IN_DOUBT, TOLD_LAST]] = told[[TOLD_LAST, IN_DOUBT]]
        elif name == DUPLICATE:
            told[spare], kept[spare] = told[IN_DOUBT], True
        elif name == BEFORE_START:
            kept[TOLD_LAST + 1] = True
        else:
            told[TOLD_LAST, [PREVIOUS_REVISION, PREVIOUS_VALUE]] = 0, DELETED

    def lists(self, rows: Rows) -> dict[str, pa.Array]:
        """What writes change, and what watches are told."""
        if rows.shape[1] == 1:
            _, events, kept = self._last
            shown = Lists(np.zeros(len(PLACES), dtype=np.int64), kept)
            none = list_column(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
            changes = {"change_entry": none, "change_value": none}
        else:
            events = self._told
            shown = Lists(np.array([*[ALL] * len(PLACES), TAIL, TAIL, FOLLOW, FOLLOW]), self._kept)
            counts = np.tile(np.bincount(OF_CHANGE, minlength=rows.shape[1]), rows.shape[0])
            changes = {
                "change_entry": list_column(counts, np.tile(ENTRY, rows.shape[0])),
                "change_value": list_column(counts, self._changes.ravel()),
            }
        columns = {name: shown.column(rows.shape[1], events[:, :, place]) for place, name in enumerate(COLUMNS)}
        return columns | changes

    def finish(self, rows: Rows) -> None:
        """A watch of the changes that are not compacted: those of the last cycle."""
        rows.tell(0)
        zero = np.zeros(rows.shape, dtype=np.int64)
        rows.values = {"effects": zero, "revision": zero + self._last[0]}


class WatchGenerator(ObjectGenerator):
    """Run folders of spaces whose changes are watched."""

    model, workload, check, history = WATCH, "watch", "watch", Spaces
    planted = (PHANTOM, SKIPPED, TORN, REORDERED, DUPLICATE, BEFORE_START, WRONG_PREVIOUS)
    cycle, last = CYCLE, (Slot(F.SUBSCRIBE, 2),)


GENERATOR: Final = WatchGenerator()
