"""The names a nemesis may choose among, by role, and what has a leader.

Choosing is pure and happens before or without any host, so it sees names only. Of a node it has only its name and role.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import msgspec

from chaos.storage.runinfo import Subject

REPLICA: Final = "replica"
CONTROLLER: Final = "controller"
TARGETED: Final = (REPLICA, CONTROLLER)
"""The kinds of role that faults hit; name servers, clients and observers are left alone (SEMANTICS 22)."""


class Placed(Protocol):
    """Anything with a name and a role: ``NodeSpec`` before the deployment, ``NodeInfo`` after it."""

    @property
    def name(self) -> str:
        """The node's name."""
        ...

    @property
    def role(self) -> str:
        """The node's role."""
        ...


class Topology(msgspec.Struct, frozen=True):
    """Role → names in order, role → kind, and by name the subjects that have a leader, none where nobody leads."""

    nodes: dict[str, tuple[str, ...]]
    kinds: dict[str, str]
    subjects: dict[str, Subject] = {}

    @classmethod
    def of(cls, nodes: Iterable[Placed], kinds: Mapping[str, str], subjects: Iterable[Subject] = ()) -> "Topology":
        """The topology of these nodes; ``kinds`` is ``System.roles`` or ``Cluster.kinds``."""
        by_role: dict[str, tuple[str, ...]] = {}
        for node in nodes:
            by_role[node.role] = (*by_role.get(node.role, ()), node.name)
        return cls(by_role, dict(kinds), {subject.name: subject for subject in subjects})

    def targeted_roles(self) -> tuple[str, ...]:
        """The roles that faults may name: replicas first, then controllers."""
        return tuple(
            role for kind in TARGETED for role, its in self.kinds.items() if its == kind and role in self.nodes
        )

    def led_by(self, role: str) -> tuple[str, ...]:
        """The subjects that nodes of a role lead, in order."""
        own = set(self.nodes.get(role, ()))
        return tuple(
            name
            for name, subject in self.subjects.items()
            if subject.kind == self.kinds[role] and (not subject.nodes or not own.isdisjoint(subject.nodes))
        )

    def leading_roles(self, subject: str) -> tuple[str, ...]:
        """The roles whose nodes may lead a subject: of its nodes, else those of its kind, else the replicas'."""
        one = self.subjects[subject]
        named = tuple(role for role in self.targeted_roles() if not set(one.nodes).isdisjoint(self.nodes[role]))
        alike = tuple(role for role in self.targeted_roles() if self.kinds[role] == one.kind)
        return named or alike or tuple(filter(None, (self.replica_role(),)))

    def replica_role(self) -> str | None:
        """The role that keeps the log: what a fault of nodes hits when no role is named."""
        return next((role for role in self.targeted_roles() if self.kinds[role] == REPLICA), None)
