"""The servers asked about themselves: who leads the Raft group of the configuration, and in which term."""

import asyncio
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.core.runinfo import NodeInfo, Subject
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems.nacos.client import CONFIG, NOTHING, publish, register_at
from cluster.systems.nacos.servers import Server, Servers, not_serving, state_of
from cluster.systems.nacos.settings import GROUP

_TIMEOUT_S: Final = 10.0
_READY_TIMEOUT_S: Final = 2.0


class NacosProbe(Probe):
    """Asks the servers themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._servers = Servers(view)
        self._subjects = (Subject(name=GROUP, nodes=tuple(node.name for node in view.nodes), epoch_word="term"),)

    async def prepare(self) -> None:
        """Let every register hold something. Raises DeployError if refused."""
        server = next(iter(self._servers.links.values()))
        for key in range(self._view.keys):
            try:
                await publish(server, register_at(self._view.mark, key), NOTHING, _soon(_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                raise DeployError(f"register {key} cannot be made: {error}") from None

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:  # noqa: ARG002 - none is told
        """Ask every server for its version; Nacos tells no setting that is used here. Raises DeployError."""
        versions = set()
        for name, server in self._servers.links.items():
            try:
                versions.add((await state_of(server, _soon(_TIMEOUT_S))).version)
            except Definite as error:
                raise DeployError(f"{name} does not say its version: {error}") from None
        text = f"nacos {', '.join(sorted(versions))} on {len(self._view.nodes)} nodes; servers tell no settings"
        return Confirmed(notes=(Note(time_ns=now_ns(), name="settings-in-effect", text=text),))

    async def readiness(self) -> str | None:
        """None when every server serves, and all know the same leader."""
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in self._view.nodes))
        if (missing := not_ready({seen.node: seen for seen in observed}, self._subjects)) is not None:
            return missing
        for name, server in self._servers.links.items():
            if (why := await not_serving(server, _soon(_READY_TIMEOUT_S))) is not None:
                return f"{name} does not serve: {why}"
        return None

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

    async def remove(self) -> Removal:
        """Remove the run's configurations; its instances end by themselves."""
        what = f"configurations {self._view.mark}.*"
        why = "there is no server"
        for server in self._servers.links.values():
            try:
                await self._remove(server)
                return Removal(removed=(what,))
            except (Definite, Indefinite) as error:
                why = str(error)
        return Removal(left=(f"{what}: {why}",))

    async def _remove(self, server: Server) -> None:
        """Remove all of the run's configurations. Raises Definite or Indefinite."""
        for key in range(self._view.keys):
            which = register_at(self._view.mark, key)
            await server.change(CONFIG, which, bool, _soon(_TIMEOUT_S), method="DELETE")

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._servers.close()


def _soon(within_s: float) -> int:
    return now_ns() + int(within_s * NS_PER_S)
