"""Brings processes back at the end of a fault, and remembers of each that did not come back whose doing that is.

A process that was started and ended by itself, or that lives and never says that it serves, has failed; one that could
not be started, because a host refuses or a file is gone, was failed by the harness. A process that something else has
started, a supervisor, is taken for the node's and not started a second time. The module does not judge.
"""

from typing import NamedTuple

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import ChaosError, DeadlineError, DeployError
from chaos.core.node_notes import ENDED, SILENT
from cluster.cluster import Node
from cluster.nodes import process, process_end
from cluster.nodes.process_state import Successor
from nemesis.faults.fault import one_line


class Returned(NamedTuple):
    """A process that something other than the harness started: its pid, and when, on the run's clock."""

    pid: int
    begun_ns: int

    @classmethod
    def of(cls, successor: Successor, looked_ns: int) -> "Returned":
        """What a look that was made at ``looked_ns`` saw."""
        return cls(successor.pid, looked_ns - round(successor.age_s * NS_PER_S))


class Restarts:
    """The restarts of one fault's targets.

    ``failed``: node → ``ENDED``, ``SILENT``, or why the harness could not do it. ``ready_s``: node → seconds from its
    start until it said that it serves. ``returned``: node → what something else had started in its process' place.
    """

    def __init__(self, run_id: str, serve_within_s: float) -> None:
        """``serve_within_s``: how long to wait for a process, from its start, to say that it serves."""
        self._run_id = run_id
        self._serve_within_s = serve_within_s
        self._started_ns: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self.ready_s: dict[str, float] = {}
        self.returned: dict[str, Returned] = {}

    def start(self, node: Node) -> None:
        """Start a node's process.

        Raises:
            ChaosError: it could not be started.
        """
        self._started_ns[node.name] = now_ns()
        process.start(node, self._run_id)

    def bring_back(self, node: Node) -> None:
        """Start the node's process if it does not live, and wait until it serves.

        Raises:
            ChaosError: it does not; ``failed`` says whose doing that is.
        """
        self.failed.pop(node.name, None)
        try:
            self.run_again(node)
            begun_ns = self._started_ns.get(node.name, now_ns())
            left_s = self._serve_within_s - (now_ns() - begun_ns) / NS_PER_S
            process.await_ready(node, Deadline(f"{node.name} to serve again", max(1.0, left_s)))
        except process.ProcessEndedError:
            lacks = process_end.missing_files(node)
            self.failed[node.name] = f"cannot start without {' '.join(lacks)}" if lacks else ENDED
            raise
        except DeadlineError:
            self.failed[node.name] = SILENT
            raise
        except ChaosError as error:
            self.failed[node.name] = one_line(error)
            raise
        self.ready_s[node.name] = (now_ns() - begun_ns) / NS_PER_S

    def run_again(self, node: Node) -> None:
        """Have the node's process run: what something else has started in its place, else a new one.

        Raises:
            ChaosError: it could not be started.
        """
        if self._lives(node):
            return
        try:
            self.start(node)
        except DeployError:
            if not self._lives(node):  # else it had not come back when we looked
                raise

    def _lives(self, node: Node) -> bool:
        """Whether the node's process lives; what something else has started is taken for it."""
        looked_ns = now_ns()
        seen = process.state(node)
        if seen.alive or seen.successor is None:
            return seen.alive
        if process.adopt(node) is None:
            return False
        self.returned.setdefault(node.name, Returned.of(seen.successor, looked_ns))
        return True

    def why_not(self, name: str, *, alive: bool) -> str:
        """Of a node that is not as it should be after the heal: what ``failed`` says of it, or what is seen now."""
        if name in self.failed:
            return self.failed[name]
        return ENDED if name in self.ready_s and not alive else "not brought back"
