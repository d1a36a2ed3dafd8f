"""Made-up histories of queues without offsets: messages are enqueued, and each is taken once."""

from typing import Final

import numpy as np

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.rows import NO_REASON, Rows, Slot
from chaos.models.objects.answers import ABSENT, TOLD
from chaos.models.queues.total_queue import TOTAL_QUEUE, F

LOST: Final = "lost-write"
PHANTOM: Final = "phantom"
FAILED: Final = "G1a"
AGAIN: Final = "redelivered-after-ack"
CYCLE: Final = (
    Slot(F.ENQUEUE, 0),
    Slot(F.ENQUEUE, 1),
    Slot(F.DEQUEUE, 2),
    Slot(F.ENQUEUE, 0, unanswered=True, refused=True),
    Slot(F.DEQUEUE, 3),
    Slot(F.DEQUEUE, 2),
    Slot(F.ENQUEUE, 1),
    Slot(F.DEQUEUE, 3),
    Slot(F.DEQUEUE, 2, unanswered=True),
)
TAKES: Final = {2: 0, 4: 1, 5: 3, 7: 6}
"""Dequeues, and the enqueue whose message each takes."""
DOUBTFUL, ITS_TAKE, EMPTY = 3, 5, 8
"""The enqueue that may not have happened, the dequeue that finds the queue empty then, and the one that always does."""
ENQUEUES: Final = [place for place, slot in enumerate(CYCLE) if slot.f is F.ENQUEUE]
VALUES: Final = len(ENQUEUES) + 1
"""How many values a cycle uses: one for each message, and one that is never enqueued."""


class Queues(History):
    """One queue: at the end of a cycle nothing is left in it."""

    def fill(self, rows: Rows) -> None:
        """Each message has a value of its own, and is taken once."""
        value = np.zeros(rows.shape, dtype=np.int64)
        own = rows.cycle * VALUES + np.arange(len(ENQUEUES))
        value[:, ENQUEUES] = own * self.plan.keys + self.key
        rows.tell(*TAKES)
        rows.tell(EMPTY, answer=ABSENT)
        nothing = ~rows.done[:, DOUBTFUL]
        rows.answer[nothing, ITS_TAKE] = ABSENT
        for take, enqueue in TAKES.items():
            value[:, take] = np.where(rows.answer[:, take] == TOLD, value[:, enqueue], 0)
        rows.values = {"value": value, "again": np.zeros(rows.shape, dtype=np.int64)}

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """A message is missing, was refused and comes all the same, comes twice, or was never sent."""
        value = rows.values["value"]
        if name == LOST:
            value[at, ITS_TAKE], rows.answer[at, ITS_TAKE] = 0, ABSENT
        elif name == FAILED:
            rows.refuse(at, DOUBTFUL, NO_REASON)
        else:
            rows.answer[at, EMPTY] = TOLD
            value[at, EMPTY] = value[at, ITS_TAKE]
            rows.values["again"][at, EMPTY] = name == AGAIN
            if name == PHANTOM:  # a value behind those of the cycle
                value[at, EMPTY] = value[at, ENQUEUES[-1]] + self.plan.keys

    def finish(self, rows: Rows) -> None:
        """The queue is empty."""
        rows.tell(0, answer=ABSENT)
        rows.values = {name: np.zeros(rows.shape, dtype=np.int64) for name in ("value", "again")}


class TotalQueueGenerator(ObjectGenerator):
    """Run folders of queues without offsets."""

    model, workload, check, history = TOTAL_QUEUE, "total-queue", "total-queue", Queues
    planted = (LOST, PHANTOM, FAILED, AGAIN)
    cycle, last = CYCLE, (Slot(F.DEQUEUE, 3),)


GENERATOR: Final = TotalQueueGenerator()
