"""Made-up histories of locks: they are taken, a resource is written under their tokens, and they are given back."""

from typing import Final

import numpy as np

from chaos.generate.objects.generator import History, ObjectGenerator
from chaos.generate.objects.rows import Rows, Slot
from chaos.models.coordination.lock import LOCK, F

HELD_TWICE: Final = "lock-held-twice"
AFTER_LOSS: Final = "write-after-loss"
NOT_RISING: Final = "token-not-rising"
CYCLE: Final = (
    Slot(F.ACQUIRE, 0),
    Slot(F.GUARDED, 0, refused=True),
    Slot(F.ACQUIRE, 1, unanswered=True),
    Slot(F.GUARDED, 0, unanswered=True),
    Slot(F.UNLOCK, 0),
    Slot(F.UNLOCK, 1),
    Slot(F.ACQUIRE, 1),
    Slot(F.GUARDED, 1),
    Slot(F.GUARDED, 1, unanswered=True),
    Slot(F.UNLOCK, 1, unanswered=True),
)
"""The second taker is refused while the first holds the lock, and what it held before is given back for good."""
REFUSED, NOT_HELD = 2, 5
TOKENS: Final = 4
"""How many tokens a cycle uses: one that only an anomaly grants early, one for each holder, and one holder too many."""
BELOW, FIRST, BESIDE, SECOND = range(TOKENS)
BEFORE: Final = TOKENS
"""Tokens before the first cycle."""
HELD: Final = "somebody holds the lock"
LOST: Final = "the lock is not held under this token"
LOWER: Final = "a later holder wrote before"


class Locks(History):
    """One lock, and the resource that it guards."""

    def fill(self, rows: Rows) -> None:
        """Tokens and versions rise from cycle to cycle."""
        begin = rows.cycle[:, 0] * TOKENS + BEFORE
        token, lease_ms, version = (np.zeros(rows.shape, dtype=np.int64) for _ in range(3))
        token[:, [0, 1, 3, 4]] = (begin + FIRST)[:, None]
        token[:, 6:] = (begin + SECOND)[:, None]
        token[:, NOT_HELD] = begin + SECOND - TOKENS
        lease_ms[:, [0, REFUSED, 6]] = self.plan.lease_ms
        version[:, [1, 3, 7, 8]] = rows.cycle * TOKENS + np.arange(1, TOKENS + 1)
        rows.fail(REFUSED, HELD)
        rows.fail(NOT_HELD, LOST)
        rows.tell(0, 1, 3, 6, 7, 8)
        rows.values = {"token": token, "lease_ms": lease_ms, "version": np.where(rows.answer == 1, version, 0)}

    def plant(self, rows: Rows, at: int, name: str) -> None:
        """A second holder; a token below the one before; or a write by an earlier holder."""
        token = rows.values["token"]
        if name == HELD_TWICE:
            rows.succeed(at, REFUSED, told=True)
            rows.succeed(at, NOT_HELD)
            token[at, [REFUSED, NOT_HELD]] = token[at, 0] + BESIDE - FIRST
        elif name == AFTER_LOSS:
            token[at, 8], rows.client[at, 8] = token[at, 0], rows.client[at, 0]
        else:  # the resource stops what is written under such a token, so only the token is wrong
            token[at, 6:] = token[at, 0] + BELOW - FIRST
            rows.values["version"][at, 7:9] = 0
            for slot in (7, 8):
                rows.refuse(at, slot, LOWER)

    def finish(self, rows: Rows) -> None:
        """The lock is taken once more."""
        rows.tell(0)
        zero = np.zeros(rows.shape, dtype=np.int64)
        token = zero + BEFORE + TOKENS * self.plan.cycles
        rows.values = {"token": token, "lease_ms": zero + self.plan.lease_ms, "version": zero}


class LockGenerator(ObjectGenerator):
    """Run folders of locks that guard a resource."""

    model, workload, check, history = LOCK, "lock", "lock", Locks
    planted = (HELD_TWICE, AFTER_LOSS, NOT_RISING)
    cycle, last = CYCLE, (Slot(F.ACQUIRE, 2),)
    reasons = (HELD, LOST, LOWER)


GENERATOR: Final = LockGenerator()
