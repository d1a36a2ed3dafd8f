"""One wait for an occasion: what stood when it began, and what has come since."""

from collections.abc import Callable
from typing import Final

from cluster.cluster import Cluster
from cluster.leaders import Leads
from nemesis.occasions.node_logs import NodeLogs
from nemesis.occasions.occasion import LOG, Seen, occasion_of, what_came
from nemesis.targets.topology import Topology

POLL_S: Final = 0.1
"""An occasion that has come is noticed at most so much later than it could be known."""


class Awaited:
    """A wait that begins now.

    Args:
        text: the occasion's name, known to be one.
        cluster: its nodes.
        topology: of the cluster.
        leads: who leads, as last observed.
        acked_ns: when the last change was acknowledged, 0 for never.
    """

    def __init__(
        self, text: str, cluster: Cluster, topology: Topology, leads: Callable[[], Leads], acked_ns: Callable[[], int]
    ) -> None:
        self._occasion = occasion_of(text, topology)
        self._topology, self._leads, self._acked_ns = topology, leads, acked_ns
        self._before = leads()
        self._logs: NodeLogs | None = None
        if self._occasion.kind == LOG:
            self._logs = NodeLogs([cluster.nodes[name] for name in self._occasion.of], self._occasion.pattern)

    def came(self) -> str | None:
        """In words what has come, None if it has not; may take a moment where logs are read."""
        line = self._logs.found() if self._logs is not None else None
        return what_came(self._occasion, self._topology, self._before, Seen(self._leads(), self._acked_ns(), line))
