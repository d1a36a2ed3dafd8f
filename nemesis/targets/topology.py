"""The names a nemesis may choose among, by role.

Choosing is pure and happens before or without any host, so it sees names only. The module refuses to
know what a node is beyond its name and role.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import msgspec

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
    """Role → names in order, and role → kind."""

    nodes: dict[str, tuple[str, ...]]
    kinds: dict[str, str]

    @classmethod
    def of(cls, nodes: Iterable[Placed], kinds: Mapping[str, str]) -> "Topology":
        """The topology of these nodes; ``kinds`` is ``System.roles`` or ``Cluster.kinds``."""
        by_role: dict[str, tuple[str, ...]] = {}
        for node in nodes:
            by_role[node.role] = (*by_role.get(node.role, ()), node.name)
        return cls(by_role, dict(kinds))

    def targeted_roles(self) -> tuple[str, ...]:
        """The roles that faults may name: replicas first, then controllers."""
        return tuple(
            role for kind in TARGETED for role, its in self.kinds.items() if its == kind and role in self.nodes
        )

    def replica_role(self) -> str | None:
        """The role that keeps the log: what a fault of nodes hits when no role is named."""
        return next((role for role in self.targeted_roles() if self.kinds[role] == REPLICA), None)
