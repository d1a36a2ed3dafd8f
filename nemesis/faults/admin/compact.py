"""Have the system forget its history but the last of it, as operators do lest it grows.

Proven by every node itself: one that answered a read at a revision that is older refuses it now. What was forgotten
cannot be brought back, so nothing is undone; it is seen that every node answers.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Nature
from cluster.admin import COMPACT, Compacts
from nemesis.faults.admin.admin_fault import AdminFault, evidence_of
from nemesis.faults.fault import Fact, Scene, Shape, on_each
from nemesis.targets.selectors import Selector

_LOOK_S: Final = 15.0
_APPLIED_WITHIN_S: Final = 5.0
_POLL_S: Final = 0.1
NEWEST: Final = 0
"""Stands for the newest revision that a node has."""


class CompactParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is kept."""

    keep: Annotated[int, Meta(ge=0, le=1_000_000, description="so many of the last revisions are kept")] = 100


class Compact(AdminFault):
    """One compaction of the whole system; all nodes are looked at."""

    name: ClassVar[str] = "compact"
    action: ClassVar[str] = COMPACT
    verb: ClassVar[str] = "compacted"
    help: ClassVar[str] = "compact the history of {}"
    Params: ClassVar[type[msgspec.Struct]] = CompactParams
    selectors: ClassVar[tuple[Selector, ...]] = ()
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape("compact", Selector.ALL, "compact the history on all nodes; it cannot be undone"),
    )

    @classmethod
    def nature(cls) -> Nature:
        """It takes away what was before."""
        return msgspec.structs.replace(super().nature(), forgets=True)

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._oldest: int | None = None

    def _admin(self) -> Compacts:
        """Who does it. Raises ChaosError: the system does not offer it."""
        admin = self.cluster.admin
        if not isinstance(admin, Compacts):
            raise self.not_offered()
        return admin

    def act(self) -> None:
        """Compact; refused where there is no older revision that a node could forget."""
        admin = self._admin()
        oldest = admin.revision() - self.params.keep
        if oldest <= 1 or not all(self._each(oldest - 1).values()):
            raise ChaosError(f"there is nothing to forget before the last {self.params.keep} revisions")
        self._oldest = oldest
        admin.compact(oldest)

    def verify(self) -> Evidence:
        """Each node refuses what is older and answers what is kept."""
        return self._look(self._forgotten)

    def verify_still(self) -> Evidence:
        """Look at the same."""
        return self.verify()

    def _forgotten(self, node: str, deadline: Deadline) -> Fact:
        admin, oldest = self._admin(), self._oldest or 0
        while admin.has_revision(node, oldest - 1):
            if deadline.expired():
                return False, f"still answers reads at revision {oldest - 1}"
            waiting.sleep(_POLL_S)
        return True, f"refuses reads before revision {oldest}"

    def heal(self) -> None:
        """Nothing: what was forgotten is gone."""

    def verify_healed(self) -> Evidence:
        """Each node answers."""

        def fact(node: str, _: Deadline) -> Fact:
            answers = self._admin().has_revision(node, NEWEST)
            return answers, "answers reads" if answers else "refuses reads of what is there"

        return self._look(fact)

    def _each(self, revision: int) -> dict[str, bool]:
        """Whether each node answers a read there. Raises ChaosError: one does not say."""
        asked = partial(self._admin().has_revision, revision=revision)
        return on_each(self.names, asked, "a read", _LOOK_S).check("a read")

    def _look(self, fact: Callable[[str, Deadline], Fact]) -> Evidence:
        deadline = Deadline("the compaction to be applied", _APPLIED_WITHIN_S)
        found = on_each(self.names, lambda node: fact(node, deadline), "a read", _LOOK_S)
        return evidence_of(found.facts(lambda _name, one: one))
