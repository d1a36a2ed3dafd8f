"""The cluster asked about itself: readiness, roles, epochs, offsets, SyncStateSet.

Runs in the observer process on connections of its own, one outstanding request per node. What a node
says is written down as it says it: two masters are two observations. Refuses to change anything but to
create the topic.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.events import Observation
from chaos.core.runinfo import NodeInfo
from cluster.system import ClusterView, Leadership
from cluster.systems.leadership import leadership, not_ready
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq.client import offset_of, standing
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.groups import create_groups, require, topic_of
from cluster.systems.rocketmq.outcomes import said
from cluster.systems.rocketmq.protocol import Answer, Code, ProtocolError, Request
from cluster.systems.rocketmq.route import NameServer

_ASK_TIMEOUT_S: Final = 1.0
_PREPARE_TIMEOUT_S: Final = 30.0
_RETRY_S: Final = 0.2
_TERM_BEFORE_ALL: Final = -2


class _Replica(msgspec.Struct):
    brokerAddress: str  # noqa: N815 - the protocol's spelling


class _ReplicasInfo(msgspec.Struct):
    masterAddress: str | None = None  # noqa: N815
    syncStateSetEpoch: int | None = None  # noqa: N815
    inSyncReplicas: list[_Replica] = []  # noqa: N815


class _SyncStates(msgspec.Struct):
    replicasInfoTable: dict[str, _ReplicasInfo] = {}  # noqa: N815


class _Refusal(msgspec.Struct):
    term: int


class Group(msgspec.Struct, frozen=True):
    """The replica group as its leading controller says it; node names, or addresses that are nobody's."""

    master: str | None = None
    sync_state_set: tuple[str, ...] | None = None
    sync_state_set_epoch: int | None = None


def parse_group(answer: Answer, names: Mapping[str, str]) -> Group:
    """What CONTROLLER_GET_SYNC_STATE_DATA answered. ``names``: address:port → node.

    Raises:
        Definite: the controller refused (it does not lead any more).
        ProtocolError: the answer does not parse.
    """
    if answer.code != Code.SUCCESS:
        raise Definite(said(answer.code, answer.remark))
    try:
        group = msgspec.json.decode(answer.body, type=_SyncStates).replicasInfoTable.get(config.GROUP)
    except msgspec.DecodeError:
        raise ProtocolError("SyncStateSet that does not parse") from None
    if group is None:
        return Group()
    master = names.get(group.masterAddress, group.masterAddress) if group.masterAddress else None
    members = (names.get(replica.brokerAddress, replica.brokerAddress) for replica in group.inSyncReplicas)
    return Group(master, tuple(sorted(members)), group.syncStateSetEpoch)


def parse_term(answer: Answer) -> int | None:
    """The term in the refusal of a heartbeat, None if it holds none."""
    try:
        term = msgspec.json.decode(answer.body, type=_Refusal).term
    except msgspec.DecodeError:
        return None
    return term if term >= 0 else None


class RocketMQProbe:
    """Implements ``cluster.system.Probe``."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._brokers = view.of_role("broker")
        self._names = {f"{node.address}:{config.BROKER_PORT}": node.name for node in self._brokers}
        self._links = {node.name: Link(node.address, config.PORTS[node.role]) for node in view.nodes}
        self._prepared = False

    async def prepare(self) -> None:
        """Create the topic and the groups of consumers on every broker: they do not travel with the log.

        Raises:
            DeployError: a broker refused until the deadline.
            DeadlineError: the name server did not show the topic in time.
        """
        deadline = Deadline(f"topic {config.TOPIC} on every broker and in the route", _PREPARE_TIMEOUT_S)
        for node in self._brokers:
            await self._create_topic(node, deadline)
            pops = self._view.settings.get("broker.timerWheelEnable") == "true"
            await create_groups(self._links[node.name], node.name, self._view.queues, deadline, pops=pops)
        while (missing := await self._topic_missing()) is not None:
            deadline.check(missing)
            await asyncio.sleep(_RETRY_S)
        self._prepared = True

    async def _create_topic(self, node: NodeInfo, deadline: Deadline) -> None:
        link, fields = self._links[node.name], topic_of(config.TOPIC, self._view.queues)
        await require(link, node.name, f"topic {config.TOPIC}", Request.UPDATE_AND_CREATE_TOPIC, fields, deadline)

    async def readiness(self) -> str | None:
        """None when every node serves, the SyncStateSet is complete and (once prepared) the topic can be written."""
        nodes = [node for node in self._view.nodes if node.role != "broker"]
        seen = {node.name: await self.observe(node, _ASK_TIMEOUT_S) for node in nodes}
        missing = not_ready(seen, self._view)
        if missing is None and self._prepared:
            missing = await self._topic_missing()
        return missing

    async def _topic_missing(self) -> str | None:
        for node in self._view.of_role("namesrv"):
            server = NameServer(self._links[node.name], config.TOPIC, self._names)
            found = await server.ask(_soon(_ASK_TIMEOUT_S))
            if found is None or found.master is None or len(found.slaves) < len(self._brokers) - 1:
                return f"{node.name} does not route topic {config.TOPIC} to every broker yet"
        for broker in self._brokers:
            try:
                link = self._links[broker.name]
                for key in range(self._view.queues):
                    await offset_of(link, Request.GET_MAX_OFFSET, key, _soon(_ASK_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                return f"{broker.name} does not know topic {config.TOPIC}: {error}"
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
            fields = {"topic": config.TOPIC, "acceptStandardJsonOnly": True}
            await self._ask(node, Request.GET_ROUTEINFO_BY_TOPIC, fields, deadline_ns)  # any answer will do
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True)
        except (Definite, Indefinite, ProtocolError) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))

    async def _observe_broker(self, node: NodeInfo, asked_ns: int, deadline_ns: int) -> Observation:
        link = self._links[node.name]
        broker = await standing(link, deadline_ns)
        offsets: dict[str, int] = {}
        error = None
        try:
            for key in range(self._view.queues if self._prepared else 0):
                offsets[str(key)] = await offset_of(link, Request.GET_MAX_OFFSET, key, deadline_ns)
        except (Definite, Indefinite) as problem:  # it has answered, so it is alive
            error = f"maximum offsets: {problem}"
        return Observation(
            time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True,
            role="master" if broker.master else "slave",
            # The newest epoch in a slave's log may be cut off again; only a master's is a claim.
            epoch=broker.epoch if broker.master else None,
            subject=config.GROUP, max_offsets=offsets or None, error=error,
        )  # fmt: skip

    async def _observe_controller(self, node: NodeInfo, asked_ns: int, deadline_ns: int) -> Observation:
        metadata = await self._ask(node, Request.CONTROLLER_GET_METADATA_INFO, {}, deadline_ns)
        if metadata.code != Code.SUCCESS:
            raise Definite(said(metadata.code, metadata.remark))
        leads = metadata.fields.get("isLeader") == "true"
        term, group, error = None, Group(), None
        try:
            term = parse_term(await self._ask(node, Request.DLEDGER_HEART_BEAT, {}, deadline_ns, self._term_body(node)))
            if leads:
                body = msgspec.json.encode([config.GROUP])
                answer = await self._ask(node, Request.CONTROLLER_GET_SYNC_STATE_DATA, {}, deadline_ns, body)
                group = parse_group(answer, self._names)
        except (Definite, Indefinite, ProtocolError) as problem:  # it has answered, so it is alive
            error = str(problem)
        return Observation(
            time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True,
            role="leader" if leads else "follower", epoch=term, subject=config.GROUP, master=group.master,
            sync_state_set=group.sync_state_set, sync_state_set_epoch=group.sync_state_set_epoch, error=error,
        )  # fmt: skip

    def _term_body(self, node: NodeInfo) -> bytes:
        """A heartbeat of a term before all terms: refused as expired, it changes nothing, and the refusal says it.

        Nothing else on the controller's port does. It has to name a member that is not the one asked.
        """
        other = next(peer for peer in self._view.of_role("controller") if peer.name != node.name)
        return msgspec.json.encode({
            "group": config.CONTROLLER_GROUP, "remoteId": node.name, "localId": other.name, "leaderId": other.name,
            "term": _TERM_BEFORE_ALL,
        })  # fmt: skip

    def leadership(self, latest: Mapping[str, Observation]) -> Leadership:
        """Pure: the active controller with the highest term names the master; without one, the brokers do."""
        return leadership(latest, self._view)

    async def _ask(
        self, node: NodeInfo, code: Request, fields: Mapping[str, object], deadline_ns: int = 0, body: bytes = b""
    ) -> Answer:
        return await self._links[node.name].request(code, fields, deadline_ns or _soon(_ASK_TIMEOUT_S), body)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        for link in self._links.values():
            link.close()


def _soon(timeout_s: float) -> int:
    return now_ns() + int(timeout_s * NS_PER_S)
