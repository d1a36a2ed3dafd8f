"""Have clients drop their connections all at once and open others, again and again: a storm of new connections.

As when a load balancer, or a library with one timer for all, lets everybody go at the same moment. Requests that were
under way have an outcome that nobody knows. Proven by the kernel's table: connections that a process had are gone, and
it has others.
"""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core import waiting
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from nemesis.faults.background import Background
from nemesis.faults.fault import Scene, Shape
from nemesis.faults.load import connections_program
from nemesis.faults.load.client_fault import ClientFault, Share
from nemesis.faults.programs import ACTION_TIMEOUT_S, run_program
from nemesis.targets.selectors import Selector

KIND: Final = "connections"
SEEN_S: Final = 10.0
"""So long clients may take to have other connections, at a low rate."""
_PROGRAM: Final = Path(connections_program.__file__)
_POLL_S: Final = 0.3
_MOST_OF: Final = 0.5
"""Connections over which an answer is awaited may be kept by some clients, so not every one is gone."""

Connections = frozenset[tuple[str, str]]
"""Pid, and the connection by its own port and the other end."""


class ReconnectStormParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often, and how many clients."""

    every_s: Annotated[
        float, Meta(ge=0.1, le=60, description="so often all of them drop their connections", extra={"unit": "s"})
    ] = 1.0
    share: Share = 1.0


class ReconnectStorm(ClientFault):
    """Connections dropped by many clients at the same moment."""

    name: ClassVar[str] = "reconnect-storm"
    verb: ClassVar[str] = "flooded with new connections"
    help: ClassVar[str] = "have clients of {} drop their connections"
    Params: ClassVar[type[msgspec.Struct]] = ReconnectStormParams
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape(
            "reconnect-storm",
            Selector.ALL,
            "have all clients drop their connections at once and open others, again and again",
        ),
    )
    colour: ClassVar[Colour] = "grey"
    least_s: ClassVar[float] = 5.0

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes = [node.host.address for node in scene.cluster.nodes.values()]
        self._loop = Background("reconnect storm")
        self._before: Connections = frozenset()

    @classmethod
    def describe(cls, selector: Selector, names: Any, others: Any, params: Any) -> str:  # noqa: ARG003
        """The rhythm."""
        whom = "all clients" if params.share == 1 else f"{params.share:.0%} of the clients"
        return f"{whom} reconnecting every {params.every_s:g} s"

    def act(self) -> None:
        """Look which connections there are, and begin."""
        processes = self.processes()
        self._before = self._connections()
        if not self._before:
            raise ChaosError("no client has a connection to a node")

        def storm() -> None:
            while True:
                processes.reconnect(self.params.share)
                if self._loop.sleep(self.params.every_s):
                    return

        if self.params.share:
            self._loop.start(storm)

    def verify(self) -> Evidence:
        """What clients had before is gone, and they have others."""
        if not self.params.share:
            return Evidence(kind=KIND, proven=False, summary="no client drops anything: share is 0")
        return self._changed(self._before)

    def verify_still(self) -> Evidence:
        """What clients have now is gone again a round later."""
        return self._changed(self._connections()) if self.params.share else self.verify()

    def last_look_s(self) -> float:
        """A round."""
        return float(self.params.every_s)

    def _changed(self, before: Connections) -> Evidence:
        """Wait for a round, and until clients are connected again."""
        waiting.sleep(self.params.every_s)
        deadline = Deadline("clients to have other connections", SEEN_S)
        while True:
            found = judge(before, self._connections(), self.params.share)
            if found.proven or deadline.expired():
                return found
            waiting.sleep(_POLL_S)

    def heal(self) -> None:
        """Begin no further round."""
        self._loop.end(ACTION_TIMEOUT_S)

    def verify_healed(self) -> Evidence:
        """What clients have now they still have a round later."""
        now = self._connections()
        waiting.sleep(self.params.every_s)
        kept = len(now & self._connections()) / len(now) if now else 1.0
        return Evidence(
            kind=KIND, proven=kept >= _MOST_OF, summary=f"{kept:.0%} of {len(now)} connections lasted a round"
        )

    def _connections(self) -> Connections:
        """Those of the clients to nodes, as the kernel has them."""
        orders = {"pids": list(self.processes().pids().values()), "to": self._nodes}
        said = msgspec.json.decode(run_program(self.host, _PROGRAM, orders), type=dict[str, list[str]])
        return frozenset((pid, one) for pid, own in said.items() for one in own)


def judge(before: Connections, now: Connections, share: float) -> Evidence:
    """Pure: whether most connections of a share of the clients are gone, and there are others in their place."""
    gone, new = len(before - now) / max(1, len(before)), len(now - before)
    proven = bool(before) and gone >= share * _MOST_OF and new > 0
    return Evidence(
        kind=KIND, proven=proven, summary=f"{gone:.0%} of {len(before)} connections are gone, {new} are new"
    )
