"""What a system must have to be simulated: nodes that own no clock, socket, file or thread.

A system opts in by implementing ``Simulated``. For each node it makes a ``SimulatedNode``, which is told what happens
and tells its ``Surroundings`` what to do: send, answer, write, wait. Clients and the probe are the system's own, given
another way to reach a node (``Links``). Bodies of messages are objects of the system's own that nobody changes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from chaos.core.client import Client
from cluster.simulation.disk import SimulatedDisk
from cluster.system import ClusterView, Probe


class Surroundings(Protocol):
    """What a node may do to the world. Nothing of it happens before the node's own call has returned."""

    def send(self, to: str, body: Any) -> None:
        """Send to the node of this name; it may be lost, repeated, late and out of order."""
        ...

    def answer(self, request: int, body: Any) -> None:
        """Answer a client's request, once."""
        ...

    def write(self, record: Any) -> None:
        """Append to what the node keeps. ``on_written`` tells when it is durable; a crash keeps a prefix."""
        ...

    def set_timer(self, name: str, delay_ms: float) -> None:
        """Have ``on_timer`` called once, so much later by the node's own clock; replaces one of the same name."""
        ...

    def cancel_timer(self, name: str) -> None:
        """Forget a timer; fine if there is none."""
        ...

    def wall_ns(self) -> int:
        """The node's wall clock, in ns: it may be set, and disagree with those of other nodes."""
        ...

    def say(self, line: str) -> None:
        """A line for the node's log."""
        ...


class SimulatedNode(Protocol):
    """One life of one node. ``now_ms`` is its own clock: it never steps back, and may run fast or slow."""

    def start(self, now_ms: int) -> None:
        """Come up; called once, before anything else."""
        ...

    def on_message(self, sender: str, body: Any, now_ms: int) -> None:
        """Another node has sent this."""
        ...

    def on_request(self, request: int, body: Any, now_ms: int) -> None:
        """A client asks; to be answered under the number ``request``, now, later or never."""
        ...

    def on_timer(self, name: str, now_ms: int) -> None:
        """A timer ran out."""
        ...

    def on_written(self, count: int, now_ms: int) -> None:
        """The first ``count`` writes of this life are durable."""
        ...


@runtime_checkable
class KeepsFiles(Protocol):
    """A simulated node that keeps what it has in files of its own on ``Birth.disk``, not as records of the machine."""

    def keep(self, records: Sequence[Any]) -> None:
        """Write what it gave to ``Surroundings.write``, and make it durable; the time that takes is the machine's.

        Raises:
            OSError: it may not be durable; the process ends.
        """
        ...


class Birth(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is born with.

    ``files``: those of its ``Launch``, by path. ``kept``: what lives before have written and what has survived; nothing
    of nodes that keep files. ``disk``: what is on it has survived, too. ``life``: from 1. ``seed``: of its draws,
    another in each life.
    """

    name: str
    files: Mapping[str, bytes]
    kept: Sequence[Any]
    disk: SimulatedDisk
    life: int
    seed: str


class NodeLink(Protocol):
    """The way of one client to one node."""

    async def ask(self, request: Any, deadline_ns: int) -> Any:
        """One request, one answer.

        Raises:
            Definite: nobody listened; it was not sent.
            Indefinite: it was sent, and there is no answer.
        """
        ...

    def close(self) -> None:
        """Forget all that is under way; safe to call twice."""
        ...


Links = Callable[[str], NodeLink]
"""Address of a node → the way to it."""


Watch = Callable[[SimulatedNode], str | None]
"""Looks at a node after each of its events: what does not hold of the cluster, or None."""


@runtime_checkable
class HasInvariants(Protocol):
    """A simulated system that can say after every step what must hold.

    What does not is printed. The verdict comes from the history all the same.
    """

    def invariants(self) -> Watch:
        """A watch of one run."""
        ...


@runtime_checkable
class Simulated(Protocol):
    """A system that can run on ``--backend sim``."""

    def simulated_node(self, birth: Birth, around: Surroundings) -> SimulatedNode:
        """A node as it begins a life."""
        ...

    def simulated_client(self, view: ClusterView, number: int, clients: int, seed: int, links: Links) -> Client:
        """As ``System.client``, over these links."""
        ...

    def simulated_probe(self, view: ClusterView, links: Links) -> Probe:
        """As ``System.probe``, over these links."""
        ...

    def end_simulation(self) -> None:
        """The run is over: take back what its nodes changed in this process, as a rule that a bug replaced."""
        ...
