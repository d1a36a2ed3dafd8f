"""What a system needs on this machine before a run can make nodes of it, and whether it is there (``chaos doctor``)."""

from typing import Protocol, runtime_checkable

import msgspec


class Need(msgspec.Struct, frozen=True):
    """``met``: it is there, or the first run can get it. ``detail``: what was seen. ``help``: what helps otherwise."""

    met: bool
    detail: str
    help: str = ""


@runtime_checkable
class HasNeeds(Protocol):
    """A system that is not part of this package, or takes tools to be had."""

    def needs(self) -> Need:
        """Look on this machine alone: nothing is fetched, and no other machine is asked."""
        ...


def need_of(system: object) -> Need:
    """What a system needs; one that does not say needs nothing."""
    return system.needs() if isinstance(system, HasNeeds) else Need(met=True, detail="nothing to fetch")
