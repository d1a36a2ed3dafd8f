"""The cluster asked about itself: readiness, roles, epochs, offsets, SyncStateSet.

Runs in the observer process on connections of its own, one outstanding request per node. What a node
says is written down as it says it: two masters are two observations. Refuses to change anything but to
create the topic.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, Deadline, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo
from cluster.leaders import leads_of, not_ready
from cluster.system import ClusterView, Confirmed, Removal
from cluster.systems.rocketmq import config, dledger, existing, jraft, launch, settings_proof, topology
from cluster.systems.rocketmq.client import offset_of
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.consumers import create_groups, delete_names, delete_routes, require, topic_of
from cluster.systems.rocketmq.group import Group, parse_connected, parse_group
from cluster.systems.rocketmq.leadership_claim import LeadershipClaim, fetch_claim
from cluster.systems.rocketmq.names import names_of
from cluster.systems.rocketmq.outcomes import require_success
from cluster.systems.rocketmq.protocol import Answer, ProtocolError, Request
from cluster.systems.rocketmq.route import NameServer

_ASK_TIMEOUT_S: Final = 1.0
_CONFIG_TIMEOUT_S: Final = 5.0
_PREPARE_TIMEOUT_S: Final = 30.0
_REMOVE_TIMEOUT_S: Final = 5.0
_RETRY_S: Final = 0.2
_ON_ITS_WAY_S: Final = 2.0
"""So long an answer of a master to its slave may be on its way."""


class RocketMQProbe:
    """Implements ``cluster.system.Probe``."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._brokers = view.of_role("broker")
        self._names = {f"{node.address}:{config.BROKER_PORT}": node.name for node in self._brokers}
        self._links = {node.name: Link(node.address, config.PORTS[node.role]) for node in view.nodes}
        self._servers = {node.name: Link(node.address, config.NAMESRV_PORT) for node in config.name_servers(view)}
        self._shape = topology.of(view.settings)
        self._subjects = launch.subjects(view.settings)
        self._members = dledger.brokers(view)
        self._terms: dict[str, dledger.Member | jraft.Member] = {**dledger.controllers(view), **jraft.controllers(view)}
        self._run_names = names_of(view)
        pops = view.settings.get("broker.timerWheelEnable") == "true"
        self._popped = range(view.keys) if pops else range(0)
        self._prepared = False

    async def prepare(self) -> None:
        """Create topic and consumer groups on every broker (neither travels with the log), or on the master alone.

        Raises:
            DeployError: a broker refused until the deadline.
            DeadlineError: the name servers did not show the topic in time.
        """
        deadline = Deadline(f"topic {self._run_names.topic} on its brokers and in the route", _PREPARE_TIMEOUT_S)
        while (master := await self._master()) is None:
            deadline.check("nobody is master")
            await asyncio.sleep(_RETRY_S)
        keepers = sorted(await self._keepers(), key=lambda node: node.name != master)
        if not self._shape.topic_on_every:
            await self._slaves_just_asked(keepers[0], deadline)
        for node in keepers:
            await self._create_topic(node, self._run_names.topic, deadline)
            await create_groups(self._run_names, self._links[node.name], node.name, self._popped, deadline)
        if self._shape.topic_on_every:
            await self._keep(keepers, deadline)
        while (missing := await self._topic_missing()) is not None:
            deadline.check(missing)
            await asyncio.sleep(_RETRY_S)
        self._prepared = True

    async def _keep(self, keepers: Sequence[NodeInfo], deadline: Deadline) -> None:
        """Make the topic again where it went away, until it stays, and the groups once more.

        A slave takes over its master's topics and groups and forgets all others. What it asked for before the master
        had ours may come in behind our own request to it: it then lacks them until it asks again, 12 s later.
        """
        gone = list(keepers)
        while gone:
            deadline.check(f"{gone[0].name} does not keep topic {self._run_names.topic}")
            await asyncio.sleep(_ON_ITS_WAY_S)
            gone = [node for node in keepers if not await self._knows(node, self._run_names.topic)]
            for node in gone:
                await self._create_topic(node, self._run_names.topic, deadline)
        for node in keepers:
            await create_groups(self._run_names, self._links[node.name], node.name, self._popped, deadline)

    async def _keepers(self) -> tuple[NodeInfo, ...]:
        """The brokers that must know the topic; none while the one that must is not known."""
        if self._shape.topic_on_every:
            return self._brokers
        master = await self._master()
        return tuple(node for node in self._brokers if node.name == master)

    async def _master(self) -> str | None:
        """Who is master now, as nodes say it."""
        seen = [await self.observe(node, _ASK_TIMEOUT_S) for node in self._view.nodes]
        return leads_of({one.node: one for one in seen}, self._subjects)[config.GROUP].leader

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """See ``effects`` and ``existing``: one note of what every node was proven to run with.

        Raises:
            DeployError: a setting is not in effect, or a node does not say.
        """
        shown: dict[str, dict[str, settings_proof.Shown]] = {}
        for node in self._view.nodes:
            for question in settings_proof.questions(node, self._view):
                try:
                    shown.setdefault(node.name, {})[question.component] = await self._shown(node, question)
                except (Definite, Indefinite, ProtocolError) as error:
                    raise DeployError(f"{node.name} does not say its settings in effect: {error}") from None
        promises, settings, view = None, dict[str, str](), self._view
        if asked is None:
            text, data = settings_proof.effects_note(shown, view)
        else:
            text, data, promises = existing.effects_note(shown, view, asked)
            settings = existing.common_settings(shown, view)
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text, data=data)
        return Confirmed(notes=(note,), settings=settings, promises=promises)

    async def _shown(self, node: NodeInfo, question: settings_proof.Question) -> settings_proof.Shown:
        link = self._servers[node.name] if question.component == "namesrv" else self._links[node.name]
        answer = await link.request(question.code, {}, ns_from_now(_CONFIG_TIMEOUT_S))
        pool = None
        if question.component == "broker":
            pool = settings_proof.parse_pool(
                await link.request(Request.GET_BROKER_RUNTIME_INFO, {}, ns_from_now(_CONFIG_TIMEOUT_S))
            )
        return settings_proof.Shown(settings_proof.parse_config(answer), pool)

    async def _create_topic(self, node: NodeInfo, topic: str, deadline: Deadline) -> None:
        link, fields = self._links[node.name], topic_of(topic, self._view.keys)
        await require(link, node.name, f"topic {topic}", Request.UPDATE_AND_CREATE_TOPIC, fields, deadline)

    async def _slaves_just_asked(self, master: NodeInfo, deadline: Deadline) -> None:
        """Return when every slave has asked its master for all topics: what is made now they hear of next time.

        They ask once in a while, so a topic made at any moment may be known everywhere at once, or long not. Another
        topic that comes first shows when they asked.
        """
        await self._create_topic(master, self._run_names.before, deadline)
        for slave in (node for node in self._brokers if node.name != master.name):
            while not await self._knows(slave, self._run_names.before):
                deadline.check(f"{slave.name} has not asked {master.name} for its topics")
                await asyncio.sleep(_RETRY_S)

    async def _knows(self, broker: NodeInfo, topic: str) -> bool:
        try:
            answer = await self._links[broker.name].request(
                Request.GET_ALL_TOPIC_CONFIG, {}, ns_from_now(_ASK_TIMEOUT_S)
            )
        except (Definite, Indefinite):
            return False
        return f'"{topic}"'.encode() in answer.body

    async def readiness(self) -> str | None:
        """None when every node serves, the SyncStateSet is complete and (once prepared) the topic can be written."""
        led = self._shape.mode == "controller"
        nodes = [node for node in self._view.nodes if not led or node.role != "broker"]
        seen = {node.name: await self.observe(node, _ASK_TIMEOUT_S) for node in nodes}
        missing = not_ready(seen, self._subjects)
        if missing is None and self._prepared:
            missing = await self._topic_missing()
        return missing

    async def _topic_missing(self) -> str | None:
        topic = self._run_names.topic
        for name, link in self._servers.items():
            found = await NameServer(link, topic, self._names).ask(ns_from_now(_ASK_TIMEOUT_S))
            if found is None or found.leader(0) is None or len(found.followers(0)) < len(self._brokers) - 1:
                return f"{name} does not route topic {topic} to every broker yet"
        for broker in await self._keepers():
            try:
                for key in range(self._view.keys):
                    link, deadline_ns = self._links[broker.name], ns_from_now(_ASK_TIMEOUT_S)
                    await offset_of(link, Request.GET_MAX_OFFSET, topic, key, deadline_ns)
            except (Definite, Indefinite) as error:
                return f"{broker.name} does not know topic {topic}: {error}"
        return None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s`` for everything together."""
        asked_ns = now_ns()
        deadline_ns = asked_ns + int(timeout_s * NS_PER_S)
        try:
            if node.role == "broker":
                return await self._observe_broker(node, asked_ns, deadline_ns)
            if node.role == "controller":
                return await self._observe_controller(node, asked_ns, deadline_ns)
            fields = {"topic": self._run_names.topic, "acceptStandardJsonOnly": True}
            await self._ask(node, Request.GET_ROUTEINFO_BY_TOPIC, fields, deadline_ns)  # any answer will do
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True)
        except (Definite, Indefinite, ProtocolError) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))

    async def _observe_broker(self, node: NodeInfo, asked_ns: int, deadline_ns: int) -> Observation:
        link = self._links[node.name]
        broker = await fetch_claim(link, deadline_ns, self._shape.mode, node.name, self._members.get(node.name))
        offsets: dict[str, int] = {}
        error, with_it = None, None
        try:
            if broker.master and self._shape.mode == "master-slave":
                answer = await self._ask(node, Request.GET_BROKER_HA_STATUS, {}, deadline_ns)
                with_it = tuple(sorted({node.name, *parse_connected(answer, self._brokers)}))
            for key in range(self._view.keys if self._prepared else 0):
                offsets[str(key)] = await offset_of(
                    link, Request.GET_MAX_OFFSET, self._run_names.topic, key, deadline_ns
                )
        except (Definite, Indefinite, ProtocolError) as problem:  # it has answered, so it is alive
            error = f"maximum offsets: {problem}"
        return Observation(
            time_ns=now_ns(),
            asked_ns=asked_ns,
            node=node.name,
            alive=True,
            role="master" if broker.master else "slave",
            claims=of_broker(node.name, broker, with_it),
            max_offsets=offsets or None,
            error=error,
        )

    async def _observe_controller(self, node: NodeInfo, asked_ns: int, deadline_ns: int) -> Observation:
        metadata = await self._ask(node, Request.CONTROLLER_GET_METADATA_INFO, {}, deadline_ns)
        require_success(metadata)
        leads = metadata.fields.get("isLeader") == "true"
        term, group, error = None, Group(), None
        try:
            term = await self._terms[node.name].term(deadline_ns)
            if leads:
                body = msgspec.json.encode([config.GROUP])
                answer = await self._ask(node, Request.CONTROLLER_GET_SYNC_STATE_DATA, {}, deadline_ns, body)
                group = parse_group(answer, self._names)
        except (Definite, Indefinite, ProtocolError) as problem:  # it has answered, so it is alive
            error = str(problem)
        return Observation(
            time_ns=now_ns(),
            asked_ns=asked_ns,
            node=node.name,
            alive=True,
            role="leader" if leads else "follower",
            claims=of_controller(node.name, term, group) if leads else (),
            error=error,
        )

    async def _ask(
        self, node: NodeInfo, code: Request, fields: Mapping[str, object], deadline_ns: int = 0, body: bytes = b""
    ) -> Answer:
        return await self._links[node.name].request(code, fields, deadline_ns or ns_from_now(_ASK_TIMEOUT_S), body)

    async def remove(self) -> Removal:
        """Delete the run's topics and groups: at the master first, which slaves copy them from, and at name servers."""
        master = await self._master()
        brokers = sorted(self._brokers, key=lambda node: node.name != master)
        steps = [(node.name, delete_names, self._links[node.name]) for node in brokers]
        steps += [(name, delete_routes, link) for name, link in self._servers.items()]
        topic, left = self._run_names.topic, list[str]()
        for name, delete, link in steps:
            try:
                await delete(self._run_names, link, self._popped, ns_from_now(_REMOVE_TIMEOUT_S))
            except (Definite, Indefinite, ProtocolError) as error:
                left.append(f"topics and groups {topic}* on {name}: {error}")
        removed = () if len(left) == len(steps) else (f"topics and groups {topic}*",)
        return Removal(removed=removed, left=tuple(left))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        for way in (*self._links.values(), *self._servers.values(), *self._members.values(), *self._terms.values()):
            way.close()


def of_broker(name: str, broker: LeadershipClaim, members: tuple[str, ...] | None) -> tuple[Claim, ...]:
    """Pure: what a broker claims, or says of whom it follows.

    The newest epoch in a slave's log may be cut off again; only a master's is a claim.
    """
    if broker.master:
        return (Claim(subject=config.GROUP, leader=name, epoch=broker.epoch, members=members),)
    return (Claim(subject=config.GROUP, leader=broker.follows),) if broker.follows else ()


def of_controller(name: str, term: int | None, group: Group) -> tuple[Claim, ...]:
    """Pure: what a leading controller claims, and what it says of the brokers as far as it said anything."""
    own = Claim(subject=config.CONTROLLERS, leader=name, epoch=term)
    about = Claim(
        subject=config.GROUP,
        leader=group.master,
        epoch=group.master_epoch,
        members=group.sync_state_set,
        members_epoch=group.sync_state_set_epoch,
    )
    return (own,) if group == Group() else (own, about)
