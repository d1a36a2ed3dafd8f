"""What must be on a node's host before its process starts, so that a fault can act later: put there, and taken away.

A fault names its arming as a class attribute; several faults may share one. What is armed does nothing to a node, but
it costs something, so nodes are armed only in runs whose plan needs it. An arming may depend on a fault's parameters
(``ForParams``), and may change how nodes are started (``ChangesLaunch``).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from cluster.cluster import Node
from cluster.system import Launch


class Arming(Protocol):
    """Prepares hosts for some faults."""

    def arm(self, node: Node) -> None:
        """Prepare the node's host before its process starts; fine if that was done.

        Raises:
            CapabilityError: the host cannot do it; says what helps.
            DeployError: it could not be done.
        """
        ...

    def disarm(self, node: Node) -> None:
        """Undo it, the process being gone; fine if there is nothing to undo, whatever state the host is in.

        Raises:
            ChaosError: it could not be undone.
        """
        ...


@runtime_checkable
class ForParams(Protocol):
    """An arming of which there is one for each choice of parameters."""

    def for_params(self, params: Any) -> Arming | None:
        """Pure: the arming that these parameters need; None if they need none."""
        ...


@runtime_checkable
class ChangesLaunch(Protocol):
    """An arming under which a node's process is started otherwise."""

    def launch(self, launch: Launch, home: str) -> Launch:
        """Pure: how to start what is started so without it, or with others of its kind; ``home``: of the host."""
        ...


Armings = Mapping[Arming, frozenset[str]]
"""The armings of a run, each with the roles whose nodes it is for."""


def armings_of(planned: Iterable[tuple[Arming | None, Iterable[str]]]) -> dict[Arming, frozenset[str]]:
    """Pure: the armings of planned faults, each given with the roles that it may hit."""
    found: dict[Arming, frozenset[str]] = {}
    for arming, roles in planned:
        if arming is not None:
            found[arming] = found.get(arming, frozenset()) | frozenset(roles)
    return found


def arming_for(arming: Arming | None, params: Any) -> Arming | None:
    """Pure: what a planned fault with these parameters needs; ``arming``: that of its class."""
    return arming.for_params(params) if isinstance(arming, ForParams) else arming


def launch_under(armings: Iterable[Arming], launch: Launch, home: str) -> Launch:
    """Pure: how a node is started for which there are these armings."""
    for arming in armings:
        if isinstance(arming, ChangesLaunch):
            launch = arming.launch(launch, home)
    return launch
