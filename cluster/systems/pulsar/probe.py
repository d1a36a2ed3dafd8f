"""The nodes asked about themselves: who owns which topic, who leads the metadata, which settings are in effect.

Pulsar numbers no owners. Each begins a ledger of its own, whose id is above all that the topic had. So the ledger that
an owner writes to is its epoch, counted from 1 here and from 0 by Pulsar. A broker that does not own a topic names
who does, as far as it knows; one that owns it and has not opened it yet says nothing of it. One whose ledger failed
and that has no other yet leads in no epoch: what it names last then is an old ledger, and it would go back.
"""

import asyncio
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, Deadline, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView, Confirmed, Probe
from cluster.systems.pulsar import launch
from cluster.systems.pulsar import settings as settings_of
from cluster.systems.pulsar.brokers import Brokers, Way, topic_name
from cluster.systems.pulsar.settings import BOOKIE, BROKER, METADATA
from cluster.systems.pulsar.web import Bookie, Ledgers, Web
from cluster.systems.zookeeper.servers import Server, state_of

_READY_TIMEOUT_S: Final = 2.0
_CONFIG_S: Final = 20.0
_PREPARE_S: Final = 90.0
_RETRY_S: Final = 0.5
_QUORUMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        settings_of.ENSEMBLE: "ensembleSize",
        settings_of.WRITE_QUORUM: "writeQuorumSize",
        settings_of.ACK_QUORUM: "ackQuorumSize",
    }
)
"""What each is called where BookKeeper describes a ledger."""
_QUORUM: Final = re.compile(rf"\b({'|'.join(_QUORUMS.values())})=(\d+)")


class PulsarProbe(Probe):
    """Asks brokers, bookies and the servers of the metadata themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._brokers = Brokers(view)
        self._webs = {node.name: Web(node.address) for node in view.of_role(BROKER)}
        self._bookies = {node.name: Bookie(node.address) for node in view.of_role(BOOKIE)}
        self._metadata = {node.name: Server(node.address) for node in view.of_role(METADATA)}
        self._topics = [topic_name(view.mark, key) for key in range(view.keys)]
        self._prepared = False

    async def prepare(self) -> None:
        """Have a topic made for each queue, by whom the brokers name as its owner, and compare its quorums.

        Raises:
            DeployError: nobody makes it in time, or its ledger has other quorums. DeadlineError: a topic has no owner
                in time.
        """
        deadline = Deadline(f"topics {self._view.mark}-* at their owners", _PREPARE_S)
        for key, topic in enumerate(self._topics):
            while (problem := await self._make(key, topic)) is not None:
                if deadline.expired():
                    raise DeployError(f"topic {topic} cannot be made: {problem}")
                await asyncio.sleep(_RETRY_S)
        self._prepared = True
        while (missing := await self.readiness()) is not None:
            deadline.check(missing)
            await asyncio.sleep(_RETRY_S)
        for topic in self._topics:
            said = await asyncio.gather(*(self._described(web, topic) for web in self._webs.values()))
            check_quorums(topic, "".join(said), self._view.settings)

    async def _described(self, web: Web, topic: str) -> str:
        """BookKeeper's description of a topic's current ledger, empty where a broker has none of it."""
        try:
            found = await web.ledgers(topic, ns_from_now(_CONFIG_S), described=True)
        except (Definite, Indefinite):
            return ""
        return found.ledgers[-1].metadata if isinstance(found, Ledgers) and found.ledgers else ""

    async def _make(self, key: int, topic: str) -> str | None:
        """Become a producer of a topic, which makes it; why that failed."""
        route = await self._brokers.ask(ns_from_now(_READY_TIMEOUT_S))
        name = route.leader(key) if route is not None else None
        if name is None:
            return "no broker names an owner"
        address = next(node.address for node in self._view.nodes if node.name == name)
        way = Way(address, topic=topic)
        try:
            await way.lookup(topic, ns_from_now(_READY_TIMEOUT_S))
        except (Definite, Indefinite) as error:
            return f"{name}: {error}"
        finally:
            way.close()
        return None

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:  # noqa: ARG002 - own clusters only
        """Compare what every broker and every bookie shows of its settings with what they should be.

        Raises:
            DeployError: a setting is not in effect, or a node does not say.
        """
        proven = set()
        for node in self._view.nodes:
            wanted = settings_of.lines_shown(self._view.settings, node.role)
            try:
                shown = await self._shown(node, ns_from_now(_CONFIG_S))
            except (Definite, Indefinite) as error:
                raise DeployError(f"{node.name} does not say its settings in effect: {error}") from None
            check(node.name, shown, wanted)
            proven |= {(node.role, key) for key in wanted}
        text = f"{len(proven)} settings proven to be in effect on {len(self._view.nodes)} nodes"
        return Confirmed(notes=(Note(time_ns=now_ns(), name="settings-in-effect", text=text),))

    async def _shown(self, node: NodeInfo, deadline_ns: int) -> Mapping[str, object]:
        """The settings that a node says are in effect. Raises Definite or Indefinite."""
        if node.role == METADATA:
            return await self._metadata[node.name].word("conf", deadline_ns)
        return await (self._webs if node.role == BROKER else self._bookies)[node.name].configuration(deadline_ns)

    async def readiness(self) -> str | None:
        """None when every node answers, the metadata is led, and (once prepared) each topic has one owner."""
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in self._view.nodes))
        for one in observed:
            if not one.alive:
                return f"{one.node} does not answer: {one.error}"
        topics = [launch.subject_of(key) for key in range(self._view.keys)] if self._prepared else []
        claims = [claim.subject for one in observed for claim in one.led()]
        for subject in (launch.GROUP, *topics):
            if (many := claims.count(subject)) != 1:
                return f"{many or 'no'} nodes lead {subject} instead of one"
        return None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s`` for everything together."""
        asked_ns = now_ns()
        deadline_ns = asked_ns + int(timeout_s * NS_PER_S)
        claims: tuple[Claim, ...] = ()
        try:
            if node.role == BROKER:
                claims = await self._owned(node.name, deadline_ns)
                role = "owner" if any(claim.leader == node.name for claim in claims) else "broker"
            elif node.role == BOOKIE:
                await self._bookies[node.name].alive(deadline_ns)
                role = "bookie"
            else:
                state = await state_of(self._metadata[node.name], deadline_ns)
                role = state.mode
                if role == "leader":
                    claims = (Claim(subject=launch.GROUP, leader=node.name, epoch=state.epoch),)
        except (Definite, Indefinite) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        return Observation(
            time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=claims or None
        )

    async def _owned(self, name: str, deadline_ns: int) -> tuple[Claim, ...]:
        """Who owns the topics, as a broker says. Raises Definite or Indefinite: it does not answer."""
        web = self._webs[name]
        await web.alive(deadline_ns)
        if not self._prepared:
            return ()
        asked = (web.ledgers(topic, deadline_ns) for topic in self._topics)
        claims = []
        for key, found in enumerate(await asyncio.gather(*asked)):
            subject = launch.subject_of(key)
            if isinstance(found, Ledgers) and found.ledgers:
                epoch = found.current + 1 if found.current is not None else None
                claims.append(Claim(subject=subject, leader=name, epoch=epoch))
            elif isinstance(found, str) and self._brokers.names.get(found, name) != name:
                claims.append(Claim(subject=subject, leader=self._brokers.names[found]))
        return tuple(claims)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._brokers.close()
        for web in (*self._webs.values(), *self._bookies.values()):
            web.close()
        for server in self._metadata.values():
            server.close()


def check(node: str, shown: Mapping[str, object], wanted: Mapping[str, str]) -> None:
    """Pure: raises DeployError for the first setting that a node does not run with."""
    for key, value in wanted.items():
        found = shown.get(key, "unknown")
        text = str(found).lower() if isinstance(found, bool) else str(found)
        if text != value:
            raise DeployError(f"settings are not in effect: {node}: {key} is {text} instead of {value}")


def check_quorums(topic: str, described: str, settings: Mapping[str, str]) -> None:
    """Pure: raises DeployError if a topic's ledger has other quorums than were set, by BookKeeper's description."""
    shown = dict(_QUORUM.findall(described))
    check(f"the ledger of {topic}", shown, {theirs: settings[ours] for ours, theirs in _QUORUMS.items()})
