"""The nodes asked about themselves: who leads, in which term, and with which settings they run."""

import asyncio
from collections.abc import Mapping
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo, Subject
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe
from cluster.systems.dledger import settings as settings_of
from cluster.systems.dledger.observers import LEADS, Observers, State
from cluster.systems.dledger.settings import GROUP

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 1.0


class DLedgerProbe(Probe):
    """Asks the observer inside each node."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._observers = Observers(view)
        self._subjects = (Subject(name=GROUP, nodes=tuple(node.name for node in view.nodes), epoch_word="term"),)

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare the settings that every node has in effect with those of the run.

        Raises:
            DeployError: one is not in effect, or a node does not say.
        """
        wanted = settings_of.fields(self._view.settings)
        versions = set()
        for node in self._view.nodes:
            try:
                said = await self._observers.by_name[node.name].state(ns_from_now(_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                raise DeployError(f"{node.name} does not say its settings in effect: {error}") from None
            versions.add(said.version)
            check(node.name, said.settings, {name: wanted[name] for name in wanted if asked is None or name in asked})
        which = ", ".join(sorted(versions))
        text = f"dledger {which}; {len(wanted)} settings proven to be in effect on {len(self._view.nodes)} nodes"
        return Confirmed(notes=(Note(time_ns=now_ns(), name="settings-in-effect", text=text),), settings=wanted)

    async def readiness(self) -> str | None:
        """None when every node answers and all know the same leader."""
        nodes = self._view.nodes
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
        return not_ready({seen.node: seen for seen in observed}, self._subjects)

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s``."""
        asked_ns = now_ns()
        try:
            said = await self._observers.by_name[node.name].state(asked_ns + int(timeout_s * NS_PER_S))
        except (Definite, Indefinite) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        return Observation(
            time_ns=now_ns(),
            asked_ns=asked_ns,
            node=node.name,
            alive=True,
            role=said.role.lower(),
            claims=(claim_of(node.name, said),),
        )

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._observers.close()


def claim_of(node: str, said: State) -> Claim:
    """Pure: whom a node follows, itself if it leads, and in which term; a candidate follows nobody."""
    leader = node if said.role == LEADS else said.leader
    return Claim(subject=GROUP, leader=leader, epoch=said.term if leader is not None else None)


def check(node: str, shown: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Pure: raises DeployError for the first setting that a node does not run with."""
    for name, value in wanted.items():
        if (found := shown.get(name)) != value:
            raise DeployError(f"settings are not in effect: {node}: {name} is {found} instead of {value}")
