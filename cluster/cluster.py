"""A cluster that is up: nodes with their hosts and the way each one's process is started."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from chaos.storage.runinfo import NodeInfo, Subject
from cluster.host import Host
from cluster.system import Launch


class Node(msgspec.Struct, frozen=True):
    """One node of the system under test."""

    info: NodeInfo
    host: Host
    launch: Launch

    @property
    def name(self) -> str:
        """The node's name, also its hostname."""
        return self.info.name


class Relaunch(NamedTuple):
    """How a node is started again otherwise than in the run; what is empty is as in the run.

    By another ``value`` of a ``setting``, named in full, or as another ``version``; see ``cluster.relaunch``.
    """

    setting: str = ""
    value: str = ""
    version: str = ""


class Cluster(msgspec.Struct, frozen=True):
    """All nodes by name, in the order of the topology. ``kinds``: role → replica, controller or other.

    ``subjects``: what has a leader. ``admin``: who acts by the system's admin interface (``cluster.admin``), if it has
    one. ``launch_again``: how a node is started again otherwise; None where only its user
    knows how nodes are started.
    """

    run_id: str
    nodes: Mapping[str, Node]
    kinds: Mapping[str, str]
    subjects: tuple[Subject, ...] = ()
    admin: object | None = None
    launch_again: Callable[[Node, Relaunch], Launch] | None = None

    def of_role(self, role: str) -> tuple[Node, ...]:
        """The nodes of one role, in order."""
        return tuple(node for node in self.nodes.values() if node.info.role == role)
