"""Take hosts off the network, clients and all, and show that nobody reaches them and everybody else is reached.

Unlike a cut, which leaves a node its network and only drops what some nodes send, nothing at all gets in or out: the
node is alone with itself. Does not take hosts that could not be told to come back.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.host import Capability, Host
from cluster.hosts import interface
from nemesis.faults.fault import Fact, Outcomes, Scene, on_each
from nemesis.faults.links.link_fault import LinkFault
from nemesis.faults.processes.machine_fault import machine_at
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.proof import evidence
from nemesis.targets.grudge import Link, all_links

T = TypeVar("T")


class Disconnect(LinkFault):
    """The network link of each target's host is down."""

    name: ClassVar[str] = "disconnect"
    verb: ClassVar[str] = "taken off the network"
    help: ClassVar[str] = "take {} off the network: from the other nodes and from clients"
    hits: ClassVar[Hits] = "nodes"
    silences: ClassVar[bool] = True
    colour: ClassVar[Colour] = "magenta"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.LINK})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._targets: dict[str, Host] = {name: scene.cluster.nodes[name].host for name in scene.targets.names}
        everything = all_links(self.everyone)
        self.hit = frozenset(link for link in everything if not self._targets.keys().isdisjoint(link))
        self.inside = frozenset()
        self.others = everything - self.hit

    def unplug(self, host: Host) -> None:
        """Take one host off the network."""
        interface.take_down(host)

    def plug(self, host: Host) -> None:
        """Put it back."""
        interface.put_up(host)

    def plugged(self, host: Host) -> bool:
        """Whether it is on the network, by the word of who keeps it."""
        return interface.is_up(host)

    def act(self) -> None:
        """Take all targets off at once."""
        self._in_force.disturb(self, self.hit)
        self._on_targets(self.unplug, "taking the host off the network").check("taking hosts off the network")

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Nothing to or from a target, everything elsewhere."""
        return evidence.cut(self.hit, self.inside, self.others - disturbed, received, sent)

    def verify_still(self) -> Evidence:
        """Ask for the link of each target."""

        def fact(_name: str, plugged: bool) -> Fact:
            return not plugged, "is on the network" if plugged else "is still off the network"

        return evidence.each_node(self._on_targets(self.plugged, "a look at the host's link").facts(fact))

    def heal(self) -> None:
        """Put every target back; fine if it is there."""
        self._on_targets(self.plug, "putting the host back").check("putting hosts back on the network")
        self._in_force.calm(self)

    def _on_targets(self, action: Callable[[Host], T], what: str) -> Outcomes[T]:
        return on_each(self._targets, lambda name: action(self._targets[name]), what, ACTION_TIMEOUT_S)


class DisconnectContainer(Disconnect):
    """The host of each target is not in its network."""

    help: ClassVar[str] = "take the whole container of {} off its network"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.MACHINE})

    def unplug(self, host: Host) -> None:
        """See ``Disconnect``."""
        machine_at(host).unplug()

    def plug(self, host: Host) -> None:
        """See ``Disconnect``."""
        machine_at(host).plug()

    def plugged(self, host: Host) -> bool:
        """See ``Disconnect``."""
        return machine_at(host).state().plugged


Disconnect.container = DisconnectContainer
