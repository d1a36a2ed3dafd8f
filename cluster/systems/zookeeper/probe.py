"""Servers asked about themselves by four-letter words: who leads, in which epoch, and with which settings they run.

A follower does not say whom it follows. Its claim passes on the leader that was heard last in the epoch of its own last
transaction, and nobody if it is of another epoch.
"""

import asyncio
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.core.runinfo import NodeInfo, Subject
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.link import Malformed
from cluster.systems._shared.weakest_promise import least
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.client import KINDS
from cluster.systems.zookeeper.outcomes import NODE_EXISTS
from cluster.systems.zookeeper.servers import Ensemble, Server, state_of
from cluster.systems.zookeeper.settings import GROUP, LINES, promises

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 1.0
_SHOWN: Final = tuple(name for name in LINES if name != "snapCount")
"""What the word ``conf`` shows."""


class ZooKeeperProbe(Probe):
    """Asks the servers themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._ensemble = Ensemble({node.name: Server(node.address) for node in view.nodes})
        self._subjects = (Subject(name=GROUP, nodes=tuple(self._ensemble.servers)),)
        self._leaders: dict[int, str] = {}

    async def prepare(self) -> None:
        """Make the nodes of the registers, and those below which elements are. Raises DeployError if refused."""
        root = f"/{self._view.mark}"
        paths = [root, *(f"{root}/{kind}" for kind in KINDS.values())]
        paths += [f"{root}/{kind}/{key}" for kind in KINDS.values() for key in range(self._view.keys)]
        server = next(iter(self._ensemble.servers.values()))
        for path in paths:
            try:
                answer = await server.ask(jute.create(path), _soon(_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                raise DeployError(f"{path} cannot be made: {error}") from None
            if answer.error not in (0, NODE_EXISTS):
                raise DeployError(f"{path} cannot be made: error {answer.error}")

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare what every server shows of its settings with what they should be.

        Raises:
            DeployError: a setting is not in effect, or a server does not say.
        """
        shown: dict[str, dict[str, str]] = {}
        for name, server in self._ensemble.servers.items():
            try:
                said = await server.word("conf", _soon(_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                raise DeployError(f"{name} does not say its settings in effect: {error}") from None
            shown[name] = {key: said.get(key, "unknown") for key in _SHOWN}
            for key, found in shown[name].items():
                wanted = self._view.settings[key]
                if found != wanted and (asked is None or key in asked):
                    raise DeployError(f"settings are not in effect: {name}: {key} is {found} instead of {wanted}")
        text = f"zookeeper; {len(_SHOWN)} settings proven to be in effect on {len(shown)} nodes"
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text)
        alike = dict(set.intersection(*(set(said.items()) for said in shown.values())))
        if asked is None:
            return Confirmed(notes=(note,), settings=alike)
        promised = least(promises({**self._view.settings, **said}) for said in shown.values())
        return Confirmed(notes=(note,), settings=alike, promises=promised)

    async def readiness(self) -> str | None:
        """None when every server answers and follows one leader."""
        seen = {}
        for _ in range(2):  # followers name the leader that was heard before them
            nodes = self._view.nodes
            observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
            seen = {one.node: one for one in observed}
        for one in seen.values():
            if not one.alive:
                return f"{one.node} does not answer: {one.error}"
        if not any(one.led() for one in seen.values()):
            return f"nobody leads {GROUP}"
        waiting = [one.node for one in seen.values() if one.role not in ("leader", "follower", "observer")]
        return f"{waiting[0]} has no leader yet" if waiting else None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one server, within ``timeout_s``."""
        asked_ns = now_ns()
        try:
            state = await state_of(self._ensemble.servers[node.name], asked_ns + int(timeout_s * NS_PER_S))
        except (Definite, Indefinite) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        if state.mode == "leader":
            self._leaders[state.epoch] = node.name
        leader = node.name if state.mode == "leader" else self._leaders.get(state.epoch)
        if leader == node.name and state.mode != "leader":
            leader = None  # it led in that epoch, and has seen nothing of a later one
        claim = Claim(subject=GROUP, leader=leader, epoch=state.epoch)
        return Observation(
            time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=state.mode, claims=(claim,)
        )

    async def remove(self) -> Removal:
        """Remove the run's nodes, the lowest first."""
        root = f"/{self._view.mark}"
        for server in self._ensemble.servers.values():
            try:
                await _remove(server, root)
                return Removal(removed=(f"nodes {root}",))
            except (Definite, Indefinite, Malformed) as error:
                why = str(error)
        return Removal(left=(f"nodes {root}: {why}",))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._ensemble.close()


async def _remove(server: Server, path: str) -> None:
    """Remove a node and all below it."""
    names = jute.names_of((await server.call(jute.get_children(path), _soon(_TIMEOUT_S))).body)
    for name in names:
        await _remove(server, f"{path}/{name}")
    await server.call(jute.delete(path), _soon(_TIMEOUT_S), write=True)


def _soon(timeout_s: float) -> int:
    return now_ns() + int(timeout_s * NS_PER_S)
