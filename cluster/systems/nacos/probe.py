"""The servers asked about themselves: who leads each Raft group, in which term, and which settings are in effect."""

import asyncio
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.nacos.client import CONFIG, NOTHING, publish, register_at
from cluster.systems.nacos.instances import not_hearing
from cluster.systems.nacos.servers import Server, Servers, not_serving, settings_of, state_of
from cluster.systems.nacos.settings import GROUP, NAMESPACE, promises, subjects

_TIMEOUT_S: Final = 10.0
_READY_TIMEOUT_S: Final = 2.0
_HEARS_WITHIN_S: Final = 30.0
_MADE_WITHIN_S: Final = 30.0
_AGAIN_S: Final = 0.5


class NacosProbe(Probe):
    """Asks the servers themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._servers = Servers(view)
        self._subjects = subjects(tuple(node.name for node in view.nodes))

    async def prepare(self) -> None:
        """Let every register hold something, and let servers hear of first instances.

        Raises:
            DeployError: something was refused, or servers do not hear of instances.
        """
        server = next(iter(self._servers.links.values()))
        for key in range(self._view.keys):
            await self._make(server, key)
        try:
            deaf = await not_hearing(self._servers.links, self._view.mark, ns_from_now(_HEARS_WITHIN_S))
        except (Definite, Indefinite) as error:
            raise DeployError(f"servers cannot be told of instances: {error}") from None
        if deaf is not None:
            raise DeployError(f"{deaf} does not hear of instances that came to other servers")

    async def _make(self, server: Server, key: int) -> None:
        """Make a register; again while a server does not know yet who leads. Raises DeployError."""
        deadline_ns = ns_from_now(_MADE_WITHIN_S)
        while (why := await self._refused(server, key)) is not None:
            if now_ns() >= deadline_ns:
                raise DeployError(f"the configuration of register {key} cannot be made: {why}")
            await asyncio.sleep(_AGAIN_S)

    async def _refused(self, server: Server, key: int) -> str | None:
        """Why a register could not be made; None if it is there."""
        try:
            await publish(server, self._register(key), NOTHING, ns_from_now(_TIMEOUT_S))
        except (Definite, Indefinite) as error:
            return str(error)
        return None

    def _register(self, key: int) -> dict[str, str]:
        return register_at(self._view.mark, key, self._view.settings[NAMESPACE])

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare the settings that every server has in effect with those of the run.

        Raises:
            DeployError: one is not in effect, or a server does not say.
        """
        versions: set[str] = set()
        shown: dict[str, dict[str, str]] = {}
        for name, server in self._servers.links.items():
            try:
                state = await state_of(server, ns_from_now(_TIMEOUT_S))
                shown[name] = await settings_of(server, state, ns_from_now(_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                raise DeployError(f"{name} does not say its settings in effect: {error}") from None
            versions.add(state.version)
            for key, found in shown[name].items():
                wanted = self._view.settings[key]
                if found != wanted and (asked is None or key in asked):
                    raise DeployError(f"settings are not in effect: {name}: {key} is {found} instead of {wanted}")
        alike = dict(set.intersection(*(set(settings.items()) for settings in shown.values())))
        text = (
            f"nacos {', '.join(sorted(versions))}; {len(alike)} settings proven to be in effect on {len(shown)} nodes"
        )
        notes = (Note(time_ns=now_ns(), name="settings-in-effect", text=text),)
        if asked is None:
            return Confirmed(notes=notes, settings=alike)
        promised = weakest_promises(promises({**self._view.settings, **settings}) for settings in shown.values())
        return Confirmed(notes=notes, settings=alike, promises=promised)

    async def readiness(self) -> str | None:
        """None when every server serves, and all know the same leader."""
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in self._view.nodes))
        if (missing := not_ready({seen.node: seen for seen in observed}, self._subjects)) is not None:
            return missing
        for name, server in self._servers.links.items():
            if (why := await not_serving(server, ns_from_now(_READY_TIMEOUT_S))) is not None:
                return f"{name} does not serve: {why}"
        return None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one server, within ``timeout_s``."""
        asked_ns = now_ns()
        try:
            state = await state_of(self._servers.links[node.name], asked_ns + int(timeout_s * NS_PER_S))
        except Definite as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        leaders = {subject: self._servers.names.get(one.address or "") for subject, one in state.leaders.items()}
        claims = tuple(
            Claim(subject=subject, leader=leader, epoch=None if leader is None else state.leaders[subject].term)
            for subject, leader in leaders.items()
        )
        role = "leader" if leaders[GROUP] == node.name else "follower"
        return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=claims)

    async def remove(self) -> Removal:
        """Remove the run's configurations; ephemeral instances end by themselves."""
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
            await server.change(CONFIG, self._register(key), bool, ns_from_now(_TIMEOUT_S), method="DELETE")

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._servers.close()
