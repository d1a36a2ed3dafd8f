"""Made-up histories of semaphores: all permits are taken, one taker more is refused, and all are given back."""

from typing import Final

import numpy as np

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.rows import Rows, Slot
from chaos.generate.outcomes import Ints, Mask
from chaos.models.coordination.semaphore import SEMAPHORE, F

EXCEEDED: Final = "permits-exceeded"
GIVEN_TWICE: Final = "permit-given-twice"
RELEASED_TWICE: Final = "permit-released-twice"
PERMITS: Final = 3
CLIENTS: Final = PERMITS + 1
"""Clients of a semaphore: one more than it has permits."""
TAKE, GIVE = F.ACQUIRE, F.GIVE_BACK
CYCLE: Final = (
    *(Slot(TAKE, client) for client in range(PERMITS)),
    Slot(TAKE, PERMITS, unanswered=True),
    Slot(GIVE, 0, unanswered=True),
    Slot(TAKE, PERMITS),
    *(Slot(GIVE, client, unanswered=True) for client in range(1, CLIENTS)),
    Slot(GIVE, 0, unanswered=True),
)
"""The take of the last client is refused, and granted once a permit is free."""
REFUSED, GRANTED, ONCE_MORE = PERMITS, CLIENTS + 1, len(CYCLE) - 1
TAKES: Final = [place for place, slot in enumerate(CYCLE) if slot.f is TAKE]
NONE_FREE: Final = "all permits are held"
NOT_HELD: Final = "the permit is not held"


class Semaphores(History):
    """One semaphore; each grant has a number of its own."""

    def fill(self, rows: Rows) -> None:
        """All permits are taken and given back, the first of them twice, which is refused."""
        permit = rows.cycle * CLIENTS + rows.client
        rows.fail(REFUSED, NONE_FREE)
        rows.fail(ONCE_MORE, NOT_HELD)
        rows.tell(*TAKES)
        permit[:, REFUSED] = 0
        asked = np.isin(np.arange(len(CYCLE)), TAKES)
        rows.values = {"permit": permit, **self._wanted(np.broadcast_to(asked, rows.shape))}

    def _wanted(self, takes: Mask) -> dict[str, Ints]:
        """What takes ask for."""
        return {"lease_ms": np.where(takes, self.plan.lease_ms, 0), "permits": np.where(takes, PERMITS, 0)}

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """One holder more than there are permits, a number that was granted before, or a permit given back again."""
        permit = rows.values["permit"]
        if name == EXCEEDED:
            permit[at, REFUSED], permit[at, GRANTED] = permit[at, GRANTED], 0
            rows.succeed(at, REFUSED, told=True)
            rows.refuse(at, GRANTED, NONE_FREE)
        elif name == GIVEN_TWICE:
            permit[at, [GRANTED, ONCE_MORE - 1]] = permit[at, 0]
        else:
            rows.succeed(at, ONCE_MORE)

    def finish(self, rows: Rows) -> None:
        """All permits are taken at once."""
        rows.tell(*range(PERMITS))
        permit = self.plan.cycles * CLIENTS + rows.client
        rows.values = {"permit": permit, **self._wanted(np.ones(rows.shape, dtype=np.bool_))}


class SemaphoreGenerator(ObjectGenerator):
    """Run folders of semaphores whose permits are taken and given back."""

    model, workload, check, history = SEMAPHORE, "semaphore", "semaphore", Semaphores
    planted = (EXCEEDED, GIVEN_TWICE, RELEASED_TWICE)
    cycle, last = CYCLE, tuple(Slot(TAKE, client) for client in range(PERMITS))
    reasons = (NONE_FREE, NOT_HELD)


GENERATOR: Final = SemaphoreGenerator()
