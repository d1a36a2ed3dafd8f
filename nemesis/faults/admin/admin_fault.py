"""What faults share that are done by a system's admin interface: each names the action that it needs.

A run under such a fault is refused before it begins where the system does not offer the action. Does not act.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, Protocol

import msgspec

from chaos.core.errors import ChaosError, UsageError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.host import Capability
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.proof.evidence import each_node

SAID: Final = "said"
"""The kind of evidence that nodes gave of themselves."""


class Planned(Protocol):
    """A row of a plan."""

    @property
    def name(self) -> str:
        """As it was asked for."""
        ...

    @property
    def how(self) -> type[Fault]:
        """Its fault."""
        ...


class AdminFault(Fault):
    """An administrative action; a subclass says which. ``action``: its name in ``cluster.admin``."""

    action: ClassVar[str]
    hits: ClassVar[Hits] = "system"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.PROGRAMS})
    colour: ClassVar[Colour] = "grey"
    in_all: ClassVar[bool] = False

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self.cluster = scene.cluster
        self.names = scene.targets.names

    def not_offered(self) -> ChaosError:
        """To raise where ``Cluster.admin`` lacks the action's protocol."""
        return ChaosError(f"the system's admin interface does not offer {self.action}")


def evidence_of(facts: Mapping[str, Fact]) -> Evidence:
    """Evidence put together of what was asked, by the name of a node or a subject."""
    return msgspec.structs.replace(each_node(facts), kind=SAID)


def action_of(fault: type[Fault]) -> str:
    """The admin action that a fault needs; empty for none."""
    return fault.action if issubclass(fault, AdminFault) else ""


def check_offered(rows: Iterable[Planned], system: str, offers: Mapping[str, str]) -> None:
    """Refuse a plan with a fault whose action a system does not offer.

    Raises:
        UsageError: in one line that names what the system offers.
    """
    for row in rows:
        action = action_of(row.how)
        if action and action not in offers:
            there = f"; it offers: {', '.join(offers)}" if offers else ""
            what = f"does not offer {action}" if offers else "has no admin interface here"
            raise UsageError(f"--nemesis {row.name}: {system} {what}{there}; name another nemesis or system")
