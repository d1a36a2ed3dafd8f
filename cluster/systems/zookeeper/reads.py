"""What is read of a server, and what comes before a read."""

from typing import Final

from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import NO_NODE, outcome
from cluster.systems.zookeeper.servers import Server

BARRIER: Final = "barrier"
"""The node below a run's root that is written before a read that a majority must agree to."""


async def agree(server: Server, path: str, deadline_ns: int) -> None:
    """Return once a majority has taken a write of this node, or has agreed that there is none.

    Raises Definite or Indefinite.
    """
    answer = await server.ask(jute.set_data(path, b""), deadline_ns)
    if answer.error not in (0, NO_NODE):
        raise outcome(answer.error, write=False)


async def node_at(server: Server, path: str, deadline_ns: int) -> jute.Node | None:
    """A node; None if there is none. Raises Definite, Indefinite or Malformed."""
    answer = await server.ask(jute.get_data(path), deadline_ns)
    if answer.error not in (0, NO_NODE):
        raise outcome(answer.error, write=False)
    return None if answer.error else jute.node_of(answer.body)


async def names_below(server: Server, path: str, deadline_ns: int) -> list[str]:
    """The names below a node; none if it is not there. Raises Definite, Indefinite or Malformed."""
    answer = await server.ask(jute.get_children(path), deadline_ns)
    if answer.error not in (0, NO_NODE):
        raise outcome(answer.error, write=False)
    return [] if answer.error else jute.names_of(answer.body)
