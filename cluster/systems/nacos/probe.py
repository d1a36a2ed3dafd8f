"""The servers asked about themselves: who leads the Raft group of the configuration, and in which term."""

import asyncio
from typing import Final

from chaos.core.client import Definite
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.core.runinfo import NodeInfo, Subject
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe
from cluster.systems.nacos.servers import Servers, state_of
from cluster.systems.nacos.settings import GROUP

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 2.0


class NacosProbe(Probe):
    """Asks the servers themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._servers = Servers(view)
        self._subjects = (Subject(name=GROUP, nodes=tuple(node.name for node in view.nodes), epoch_word="term"),)

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:  # noqa: ARG002 - none is told
        """Ask every server for its version; Nacos tells no setting that is used here. Raises DeployError."""
        versions = set()
        for name, server in self._servers.links.items():
            try:
                versions.add((await state_of(server, now_ns() + int(_TIMEOUT_S * NS_PER_S))).version)
            except Definite as error:
                raise DeployError(f"{name} does not say its version: {error}") from None
        text = f"nacos {', '.join(sorted(versions))} on {len(self._view.nodes)} nodes; servers tell no settings"
        return Confirmed(notes=(Note(time_ns=now_ns(), name="settings-in-effect", text=text),))

    async def readiness(self) -> str | None:
        """None when every server answers and all know the same leader."""
        nodes = self._view.nodes
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
        return not_ready({seen.node: seen for seen in observed}, self._subjects)

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one server, within ``timeout_s``."""
        asked_ns = now_ns()
        try:
            state = await state_of(self._servers.links[node.name], asked_ns + int(timeout_s * NS_PER_S))
        except Definite as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        leader = self._servers.names.get(state.leader or "")
        claim = Claim(subject=GROUP, leader=leader, epoch=state.term if leader is not None else None)
        role = "leader" if leader == node.name else "follower"
        return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=(claim,))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._servers.close()
