"""The servers asked about themselves: who leads each bucket, who keeps up, and with which settings they run.

NATS 2.9 shows the terms of its Raft groups nowhere, so claims carry no epoch.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.nats import streams
from cluster.systems.nats.buckets import FOR_EVER, MAX_AGE, duration_ns
from cluster.systems.nats.jetstream import NO_STREAM, ApiRefused, Info, JetStream
from cluster.systems.nats.servers import JetStreamState, Servers
from cluster.systems.nats.settings import ALWAYS, STOCK_SYNC, SYNC, SYNC_SINCE, promises
from cluster.versions import release_of

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 1.0
_TRIES: Final = 6


class _Version(msgspec.Struct):
    version: str


class _Made(msgspec.Struct):
    name: str


class _Done(msgspec.Struct):
    success: bool = False


class NatsProbe(Probe):
    """Asks the servers themselves, by their monitoring; makes and removes the buckets by the API."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._servers = Servers(view)
        self._links = {node.name: JetStream(node.address) for node in view.nodes}
        self._subjects = streams.subjects(view.settings, view.keys)
        self._led = {name: one.name for name, one in zip(self._servers.streams, self._subjects, strict=True)}
        self._prepared = False

    async def prepare(self) -> None:
        """Make the streams; one that is there already as it should be is left. Raises DeployError if refused."""
        for number, stream in enumerate(self._servers.streams):
            config = streams.config(self._view.mark, number, self._view.settings)
            await self._ask_any(f"STREAM.CREATE.{stream}", config, Info)
            if streams.are_work_queues(self._view.settings):
                consumer = f"CONSUMER.DURABLE.CREATE.{stream}.{streams.CONSUMER}"
                await self._ask_any(consumer, streams.consumer_config(stream), _Made)
        for config in streams.beside(self._view.mark, self._view.settings):
            await self._ask_any(f"STREAM.CREATE.{config['name']}", config, Info)
        self._prepared = True

    async def _ask_any(self, request: str, body: dict[str, Any] | None, kind: type[object], fine: int = 0) -> None:
        """Ask one server after the other for something that may be asked twice. Raises DeployError.

        ``fine``: the number of the error that says that there was nothing to do.
        """
        links, why = list(self._links.values()), ""
        for number in range(_TRIES):
            try:
                await links[number % len(links)].api(request, body, kind, ns_from_now(_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                if isinstance(error, ApiRefused) and error.error.err_code == fine:
                    return
                why = str(error)
            else:
                return
        raise DeployError(f"{request}: {why}")

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare what every server says of itself and of its buckets with the settings.

        Raises:
            DeployError: a setting is not in effect, or a server does not say.
        """
        said = {node.name: await self._shown(node.name) for node in self._view.nodes}
        shown = {name: settings for name, (_, settings) in said.items()}
        for name, settings in shown.items():
            for key, found in settings.items():
                wanted = self._view.settings[key]
                if not is_same_value(key, found, wanted) and (asked is None or key in asked):
                    raise DeployError(f"settings are not in effect: {name}: {key} is {found} instead of {wanted}")
        proven = {key for settings in shown.values() for key in settings}
        which = ", ".join(sorted({version for version, _ in said.values()}))
        text = f"nats {which}; {len(proven)} settings proven to be in effect on {len(shown)} nodes"
        notes = (Note(time_ns=now_ns(), name="settings-in-effect", text=text),)
        if asked is None:
            return Confirmed(notes=notes, settings={key: self._view.settings[key] for key in proven})
        together = set.intersection(*(set(settings.items()) for settings in shown.values()))
        promised = weakest_promises(promises({**self._view.settings, **settings}) for settings in shown.values())
        return Confirmed(notes=notes, settings=dict(together), promises=promised)

    async def _shown(self, name: str) -> tuple[str, dict[str, str]]:
        """A server's version, and the settings as it shows them. Raises DeployError if it does not."""
        monitor, deadline_ns = self._servers.monitors[name], ns_from_now(_TIMEOUT_S)
        try:
            version = (await monitor.shown("/varz", _Version, deadline_ns)).version
            return version, settings_shown(version, await monitor.jetstream(deadline_ns), self._servers.streams)
        except (Definite, Indefinite) as error:
            raise DeployError(f"{name} does not say its settings in effect: {error}") from None

    async def readiness(self) -> str | None:
        """None when all servers form one group and, once there are streams, each has a leader and all its servers."""
        nodes = self._view.nodes
        states = await asyncio.gather(*(self._said(node.name, _READY_TIMEOUT_S) for node in nodes))
        for node, said in zip(nodes, states, strict=True):
            if isinstance(said, str):
                return f"{node.name} does not answer: {said}"
            if not said.meta_cluster.leader or said.meta_cluster.cluster_size != len(nodes):
                return f"{node.name} knows no leader of all {len(nodes)} servers"
        if not self._prepared:
            return None
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
        return not_ready({seen.node: seen for seen in observed}, self._subjects)

    async def _said(self, name: str, timeout_s: float) -> JetStreamState | str:
        """What a server shows of its JetStream, or why it does not."""
        try:
            return await self._servers.monitors[name].jetstream(ns_from_now(timeout_s))
        except (Definite, Indefinite) as error:
            return str(error)

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one server, within ``timeout_s``."""
        asked_ns = now_ns()
        said = await self._said(node.name, timeout_s)
        if isinstance(said, str):
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=said)
        claims = claims_of(node.name, said, self._led)
        leads = any(claim.leader == node.name for claim in claims)
        role = "leader" if leads else "follower"
        return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=claims)

    async def remove(self) -> Removal:
        """Delete the run's streams."""
        removed, left = [], []
        more = [config["name"] for config in streams.beside(self._view.mark, self._view.settings)]
        for stream in [*self._servers.streams, *more]:
            try:
                await self._ask_any(f"STREAM.DELETE.{stream}", None, _Done, fine=NO_STREAM)
                removed.append(f"stream {stream}")
            except DeployError as error:
                left.append(str(error))
        return Removal(removed=tuple(removed), left=tuple(left))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._servers.close()
        for link in self._links.values():
            link.close()


def claims_of(node: str, said: JetStreamState, led: Mapping[str, str]) -> tuple[Claim, ...]:
    """Pure: what a server says of who leads the streams that it keeps; the leader also who has all that it has.

    ``led``: stream → what it is called as a subject.
    """
    kept = said.streams()
    out = []
    for name, subject in led.items():
        if name not in kept:
            continue
        group = kept[name].cluster
        leader = group.leader or None
        current = {node, *(other.name for other in group.replicas if other.current and not other.offline)}
        members = tuple(sorted(current)) if leader == node else None
        out.append(Claim(subject=subject, leader=leader, members=members))
    return tuple(out)


def settings_shown(version: str, said: JetStreamState, names: tuple[str, ...]) -> dict[str, str]:
    """Pure: the settings as a server shows them. Before 2.10 the interval of syncs is not shown and always the same."""
    out = {SYNC: STOCK_SYNC if release_of(version) < SYNC_SINCE else sync_of(said.config)}
    kept = said.streams()
    for config in (kept[name].config for name in names if name in kept):
        out["cluster.replicas"] = str(config.get("num_replicas"))
        if config.get("max_msgs_per_subject") == 1:
            out[MAX_AGE] = f"{config['max_age'] // 1_000_000}ms" if config.get("max_age") else FOR_EVER
            out["client.directGet"] = "true" if config.get("allow_direct") else "false"
    return out


def sync_of(config: Mapping[str, Any]) -> str:
    """Pure: the interval of syncs that a server of 2.10 or later shows: always, or a time in ms."""
    if config.get("sync_always"):
        return ALWAYS
    return f"{int(config.get('sync_interval', 0)) // 1_000_000}ms"


def is_same_value(key: str, found: str, wanted: str) -> bool:
    """Pure: whether two values of a setting mean the same."""
    return found == wanted or (key in (SYNC, MAX_AGE) and 0 < duration_ns(found) == duration_ns(wanted))
