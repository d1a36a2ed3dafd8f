"""Servers asked about themselves by four-letter words: who leads, in which epoch, and with which settings they run.

A follower does not say whom it follows. Its claim passes on the leader that was heard last in the epoch of its own last
transaction, and nobody if it is of another epoch.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo, Promises
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.link import Malformed
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.accounts import KIND as ACCOUNTS
from cluster.systems.zookeeper.client import KINDS
from cluster.systems.zookeeper.leases import LEASES
from cluster.systems.zookeeper.locks import KINDS as LOCKS
from cluster.systems.zookeeper.outcomes import NO_NODE, NODE_EXISTS, outcome
from cluster.systems.zookeeper.queues import QUEUES
from cluster.systems.zookeeper.reads import BARRIER
from cluster.systems.zookeeper.semaphores import PERMITS
from cluster.systems.zookeeper.servers import Ensemble, Server, answers_to, state_of
from cluster.systems.zookeeper.settings import GROUP, NOT_TOLD, promises
from cluster.systems.zookeeper.transactions import KINDS as TRANSACTIONS
from cluster.systems.zookeeper.watches import SPACES

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 1.0
SHOWN: Final = ("tickTime", "initLimit", "syncLimit")
"""The settings that the word ``conf`` shows."""
MODES: Final = ("leader", "follower", "observer")
"""What a server of an ensemble that serves says of itself."""


class ZooKeeperProbe(Probe):
    """Asks the servers themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._ensemble = Ensemble({node.name: Server(node.address) for node in view.nodes})
        self._leaders: dict[int, str] = {}

    async def prepare(self) -> None:
        """Make the nodes of the registers, and those below which elements are. Raises DeployError if refused."""
        server = next(iter(self._ensemble.servers.values()))
        for paths in levels(self._view):
            for answer in await answers_to(server, map(jute.create, paths), _TIMEOUT_S):
                if isinstance(answer, Exception) or answer.error not in (0, NODE_EXISTS):
                    why = answer if isinstance(answer, Exception) else outcome(answer.error, write=True)
                    raise DeployError(f"nodes below {paths[0].rpartition('/')[0] or '/'} cannot be made: {why}")

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare what every server shows of its settings with what they should be.

        Raises:
            DeployError: a setting is not in effect, or a server does not say.
        """
        shown: dict[str, dict[str, str]] = {}
        versions: set[str] = set()
        for name, server in self._ensemble.servers.items():
            try:
                versions.add((await state_of(server, ns_from_now(_TIMEOUT_S))).version)
                said = await server.word("conf", ns_from_now(_TIMEOUT_S))
            except Definite as error:
                raise DeployError(f"{name} does not say its settings in effect: {error}") from None
            shown[name] = {key: said[key] for key in SHOWN if key in said}
            for key in SHOWN if asked is None else asked & set(SHOWN):
                wanted, found = self._view.settings[key], said.get(key, "unknown")
                if found != wanted:
                    raise DeployError(f"settings are not in effect: {name}: {key} is {found} instead of {wanted}")
        alike = dict(set.intersection(*(set(said.items()) for said in shown.values())))
        which = ", ".join(sorted(versions))
        text = f"zookeeper {which}; {len(alike)} settings proven to be in effect on {len(shown)} nodes"
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text)
        return Confirmed(notes=(note,), settings=alike, promises=None if asked is None else _promised(shown))

    async def readiness(self) -> str | None:
        """None when every server answers, and one of them leads the others."""
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in self._view.nodes))
        for one in observed:
            if not one.alive:
                return f"{one.node} does not answer: {one.error}"
            if one.role not in MODES:
                return f"{one.node} says that it is {one.role}"
        leading = sum(one.role == MODES[0] for one in observed)
        if leading == 0:
            return f"nobody leads {GROUP}"
        return f"{leading} nodes lead {GROUP} instead of one" if leading > 1 else None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one server, within ``timeout_s``."""
        asked_ns = now_ns()
        try:
            state = await state_of(self._ensemble.servers[node.name], asked_ns + int(timeout_s * NS_PER_S))
        except Definite as error:
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
        nodes = f"nodes {levels(self._view)[0][0]}"
        for server in self._ensemble.servers.values():
            try:
                await self._remove(server)
                return Removal(removed=(nodes,))
            except (Definite, Indefinite, Malformed) as error:
                why = str(error)
        return Removal(left=(f"{nodes}: {why}",))

    async def _remove(self, server: Server) -> None:
        """Remove all of the run's nodes. Raises Definite, Indefinite or Malformed."""
        *above, keys = levels(self._view)
        lowest: list[str] = []
        below = await answers_to(server, map(jute.get_children, keys), _TIMEOUT_S)
        for path, answer in zip(keys, below, strict=True):
            if isinstance(answer, Exception):
                raise answer
            if answer.error == 0:
                lowest += [f"{path}/{name}" for name in jute.names_of(answer.body)]
        for paths in (lowest, keys, *reversed(above)):
            for answer in await answers_to(server, map(jute.delete, paths), _TIMEOUT_S):
                if isinstance(answer, Exception):
                    raise answer
                if answer.error not in (0, NO_NODE):
                    raise outcome(answer.error, write=True)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._ensemble.close()


def levels(view: ClusterView) -> tuple[list[str], list[str], list[str]]:
    """The nodes that a run makes before its load, those of each depth together, the highest first. Pure."""
    root = f"/{view.mark}"
    names = (*KINDS.values(), *TRANSACTIONS, ACCOUNTS, *LOCKS, PERMITS, LEASES, QUEUES, SPACES)
    kinds = [f"{root}/{kind}" for kind in names]
    return [root], [f"{root}/{BARRIER}", *kinds], [f"{kind}/{key}" for kind in kinds for key in range(view.keys)]


def _promised(shown: Mapping[str, Mapping[str, str]]) -> Promises:
    """What holds of servers of somebody else's ensemble; how soon is known only where each shows its ticks."""
    if not all(set(SHOWN) <= set(said) for said in shown.values()):
        return Promises(not_taken=("to serve again in time (not every server answers the word conf)",))
    return weakest_promises(promises({**NOT_TOLD, **said}) for said in shown.values())
