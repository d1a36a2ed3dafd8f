"""Made-up histories of leases: they are granted, renewed and revoked, while others look which ones live."""

from typing import Final

import numpy as np
import pyarrow as pa

from chaos.core.op import Type
from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.plan import Plan
from chaos.generate.objects.rows import Lists, Rows, Slot
from chaos.models.coordination.lease import LEASE, F

PHANTOM: Final = "phantom"
LOST_EARLY: Final = "lease-lost-early"
AFTER_END: Final = "lease-renewed-after-end"
OUTLIVED: Final = "lease-outlived"
CYCLE: Final = (
    Slot(F.GRANT, 0),
    Slot(F.READ, 1),
    Slot(F.RENEW, 0, unanswered=True),
    Slot(F.READ, 1),
    Slot(F.RENEW, 0),
    Slot(F.READ, 2, unanswered=True),
    Slot(F.REVOKE, 0),
    Slot(F.READ, 1),
    Slot(F.RENEW, 0),
    Slot(F.READ, 2, unanswered=True),
)
LOOKS: Final = [place for place, slot in enumerate(CYCLE) if slot.f is F.READ]
STEPS: Final = [place for place, slot in enumerate(CYCLE) if slot.f is not F.READ]
ALIVE: Final = [1, 3, 5]
"""Looks while the lease lives."""
ENDED, AGAIN, LAST = 7, 8, 9
"""The first look behind its end, a renewal that comes too late, the last look."""
GONE: Final = "there is no such lease"


class Leases(History):
    """The leases of one place, one after the other."""

    def __init__(self, plan: Plan, key: int) -> None:
        super().__init__(plan, key)
        self._shown = Lists(np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.bool_))
        self._seen = np.zeros((1, 0), dtype=np.int64)

    def fill(self, rows: Rows) -> None:
        """A lease lives until it is given back."""
        number = 2 * (rows.cycle * self.plan.keys + self.key)
        lease, ttl_ms, told_ms = (np.zeros(rows.shape, dtype=np.int64) for _ in range(3))
        lease[:, STEPS] = number
        ttl_ms[:, 0] = self.plan.lease_ms
        rows.fail(AGAIN, GONE)
        rows.tell(0, 2, 4, *LOOKS)
        told_ms[:, [0, 2, 4]] = np.where(rows.answer[:, [0, 2, 4]] == 1, self.plan.lease_ms, 0)
        rows.values = {"lease": lease, "ttl_ms": ttl_ms, "told_ms": told_ms}
        there = rows.type[:, LOOKS] == Type.OK
        there &= np.isin(LOOKS, ALIVE)
        self._shown = Lists(np.array(LOOKS), there)
        self._seen = np.tile(number, (1, len(LOOKS)))

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """A look does not see a lease that lives, or sees one that ended or was never taken; or one is renewed late."""
        if name == LOST_EARLY:  # at the last look while it lives: what comes behind it is too late for a renewal
            self._shown.kept[at, LOOKS.index(5)] = False
        elif name == OUTLIVED:
            self._shown.kept[at, LOOKS.index(ENDED)] = True
        elif name == PHANTOM:
            self._shown.kept[at, LOOKS.index(LAST)] = True
            self._seen[at, LOOKS.index(LAST)] += 1
        else:
            rows.succeed(at, AGAIN, told=True)
            rows.values["told_ms"][at, AGAIN] = self.plan.lease_ms

    def lists(self, rows: Rows) -> dict[str, pa.Array]:
        """What looks see."""
        return {"leases": self._shown.column(rows.shape[1], self._seen)}

    def finish(self, rows: Rows) -> None:
        """A look that sees no lease."""
        rows.tell(0)
        rows.values = {name: np.zeros(rows.shape, dtype=np.int64) for name in ("lease", "ttl_ms", "told_ms")}
        self._shown = Lists(np.array([0]), np.zeros((1, 1), dtype=np.bool_))
        self._seen = np.zeros((1, 1), dtype=np.int64)


class LeaseGenerator(ObjectGenerator):
    """Run folders of leases that are granted, renewed and revoked."""

    model, workload, check, history = LEASE, "lease", "lease", Leases
    planted = (PHANTOM, LOST_EARLY, AFTER_END, OUTLIVED)
    cycle, last = CYCLE, (Slot(F.READ, 1),)
    reasons = (GONE,)


GENERATOR: Final = LeaseGenerator()
