"""Faults of links that do nothing at all at ``probability=0``: no host is touched, and so nothing is proven."""

from typing import ClassVar

from chaos.core.events import Evidence
from nemesis.faults.links.link_fault import LinkFault
from nemesis.proof import evidence


class IdleAtZero(LinkFault):
    """A fault of links whose parameters may ask for nothing. ``proof``: the kind of its evidence."""

    proof: ClassVar[str] = evidence.MATRIX

    @property
    def idle(self) -> bool:
        """Whether the parameters ask for nothing at all; then no host is touched."""
        return getattr(self.params, "probability", 1.0) == 0

    def nothing_done(self) -> Evidence:
        """What is said of a fault that is idle."""
        return Evidence(kind=self.proof, proven=False, summary="probability 0: nothing was done", details={})

    def act(self) -> None:
        """As the fault beneath; nothing if the share is 0."""
        if not self.idle:
            super().act()

    def heal(self) -> None:
        """As the fault beneath; nothing if the share is 0."""
        if not self.idle:
            super().heal()

    def verify(self) -> Evidence:
        """As the fault beneath; nothing is looked at if the share is 0."""
        return self.nothing_done() if self.idle else super().verify()

    def verify_still(self) -> Evidence:
        """As the fault beneath; nothing is looked at if the share is 0."""
        return self.nothing_done() if self.idle else super().verify_still()
