"""What a client asks of RocketMQ's brokers for each kind of operation; where it goes is ``RoutedClient``'s business.

A strong read asks the broker for its role and epoch before and after, so that what it read was read at one master.
"""

from functools import partial
from typing import Final

import msgspec

from chaos.core import payload
from chaos.core.client import Definite, Indefinite
from chaos.core.op import POPS, Completion, F, Invocation, Record, Type
from cluster.system import ClusterView
from cluster.systems.client import RoutedClient
from cluster.systems.rocketmq import config, dledger, shape
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.consumers import GROUP_OPERATIONS
from cluster.systems.rocketmq.outcomes import of_send, said
from cluster.systems.rocketmq.pops import Pops
from cluster.systems.rocketmq.producer import Producer
from cluster.systems.rocketmq.protocol import (
    Answer,
    Code,
    ProtocolError,
    Request,
    decode_messages,
)
from cluster.systems.rocketmq.route import NameServer
from cluster.systems.rocketmq.sending import completion_of, properties_of, request_fields
from cluster.systems.rocketmq.standing import Standing, standing

READ_GROUP: Final = "TOOLS_CONSUMER"
"""A consumer group that every broker has from the start, so that reading creates nothing."""
POLL_MESSAGES: Final = 32
READ_MESSAGES: Final = 1024
_SUBSCRIPTION_IN_HEADER: Final = 4  # pull without a heartbeat of the consumer group


class Pulled(msgspec.Struct, frozen=True):
    """One answer to a pull that carried offsets."""

    code: int
    next_offset: int
    min_offset: int
    max_offset: int
    records: tuple[Record, ...]


class RocketMQClient(RoutedClient[Link]):
    """One logical client of RocketMQ."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        brokers = {node.name: node for node in view.of_role("broker")}
        names = {f"{node.address}:{config.BROKER_PORT}": node.name for node in brokers.values()}
        servers = config.name_servers(view)
        namesrv = servers[number % len(servers)]
        links = {
            name: Link(node.address, config.BROKER_PORT, partial(self._asked, name)) for name, node in brokers.items()
        }
        server = NameServer(Link(namesrv.address, config.NAMESRV_PORT), config.TOPIC, names)
        super().__init__(view, number, clients, seed, links, server, "the name server")
        self._group = f"chaos-{number}"
        self._mode = shape.of(view.settings).mode
        self._members = dledger.brokers(view)
        self._pops = Pops(self._run, self._standing)
        self._producer = Producer(self._links, self._run, number, self._mode)

    def _asked(self, node: str, question: Answer) -> None:
        """A broker wants to know something."""
        self._producer.asked(node, question)

    async def _perform(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        try:
            if op.f in (F.SEND, F.SCHEDULE):
                return await self._send(op, node, deadline_ns)
            if op.f is F.TRANSACT:
                return await self._producer.transact(op, node, deadline_ns)
            if op.f in (F.READ, F.DRAIN):
                return await self._strong_read(op, node, deadline_ns)
            if op.f in (*POPS, *GROUP_OPERATIONS):
                return await self._consume(op, node, deadline_ns)
            if op.f is F.REPLICA:
                return await self._copy(op, node, deadline_ns)
            return await self._weak_read(op, node, deadline_ns)
        except ProtocolError as error:
            raise Indefinite(f"malformed answer: {error}") from None

    async def _consume(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        """What a member of a group does beside polling."""
        if op.f in POPS:
            return await self._pops.perform(op, self._links[node], node, deadline_ns)
        return await GROUP_OPERATIONS[op.f](self._standing, self._links[node], op, node, deadline_ns)

    async def _send(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        assert op.value is not None
        fields = request_fields(op, self._group, properties_of(op))
        body = payload.encode(op.value, op.key, self._run, op.body_bytes)
        answer = await self._links[node].request(Request.SEND_MESSAGE_V2, fields, deadline_ns, body)
        return completion_of(op, node, answer, self._mode)

    async def _weak_read(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        pulled = await self._pull(node, op.key, op.offset or 0, POLL_MESSAGES, deadline_ns)
        return Completion(
            type=Type.OK, node=node, records=pulled.records, next_offset=pulled.next_offset,
            min_offset=pulled.min_offset, max_offset=pulled.max_offset,
        )  # fmt: skip

    async def _strong_read(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        """From an offset (a drain: the minimum) to the maximum that the master names before the first pull.

        A broker shows a message to readers a millisecond or so after it acknowledged it (dispatch to the queue
        is a thread of its own); by the time the maximum is asked, two answers have come and gone.
        """
        link = self._links[node]
        before = await self._standing(node, deadline_ns)
        if not before.master:
            raise Definite("not master")
        minimum = await offset_of(link, Request.GET_MIN_OFFSET, op.key, deadline_ns)
        maximum = await offset_of(link, Request.GET_MAX_OFFSET, op.key, deadline_ns)
        at = minimum if op.offset is None else op.offset
        records: list[Record] = []
        while at < maximum:
            pulled = await self._pull(node, op.key, at, READ_MESSAGES, deadline_ns)
            if pulled.next_offset <= at:
                raise Definite(f"read stopped below the maximum offset: {said(pulled.code, '')}")
            records += pulled.records
            at = pulled.next_offset
        after = await self._standing(node, deadline_ns)
        if after.master != before.master or after.epoch != before.epoch:
            raise Definite("not master any more")
        return Completion(
            type=Type.OK, node=node, records=tuple(records), next_offset=at, min_offset=minimum, max_offset=maximum
        )

    async def _copy(self, op: Invocation, node: str, deadline_ns: int) -> Completion:
        """What a broker shows of its own copy, minimum to maximum as it sees them; it ends where pulls get no further.

        A slave shows what it knows to be confirmed, so its maximum may lie above. With slaveReadEnable=false it refuses
        (PullMessageProcessor.rejectRequest of 5.5.0).
        """
        link = self._links[node]
        minimum = await offset_of(link, Request.GET_MIN_OFFSET, op.key, deadline_ns)
        maximum = await offset_of(link, Request.GET_MAX_OFFSET, op.key, deadline_ns)
        at, records = minimum, list[Record]()
        while at < maximum:
            pulled = await self._pull(node, op.key, at, READ_MESSAGES, deadline_ns)
            if pulled.next_offset <= at:
                break
            records += pulled.records
            at = pulled.next_offset
        return Completion(
            type=Type.OK, node=node, records=tuple(records), next_offset=at, min_offset=minimum, max_offset=maximum
        )

    async def _standing(self, node: str, deadline_ns: int) -> Standing:
        return await standing(self._links[node], deadline_ns, self._mode, node, self._members.get(node))

    async def refresh(self) -> None:
        """Drop every connection and the route."""
        await self._producer.stop()
        await super().refresh()
        for member in self._members.values():
            member.close()

    async def _pull(self, node: str, key: int, offset: int, count: int, deadline_ns: int) -> Pulled:
        fields = {
            "consumerGroup": READ_GROUP, "topic": config.TOPIC, "queueId": key, "queueOffset": offset,
            "maxMsgNums": count, "sysFlag": _SUBSCRIPTION_IN_HEADER, "commitOffset": 0, "suspendTimeoutMillis": 0,
            "subscription": "*", "subVersion": 0, "expressionType": "TAG",
        }  # fmt: skip
        answer = await self._links[node].request(Request.PULL_MESSAGE, fields, deadline_ns)
        return parse_pull(answer, key, self._run)


def parse_pull(answer: Answer, key: int, run: int) -> Pulled:
    """What a pull answered.

    Raises:
        Definite: the broker refused.
        ProtocolError: the messages do not parse.
    """
    if "nextBeginOffset" not in answer.fields:
        raise Definite(of_send(answer.code, answer.remark).error or said(answer.code, "no offsets in the answer"))
    messages = decode_messages(answer.body) if answer.code == Code.SUCCESS else []
    return Pulled(
        answer.code,
        int(answer.fields["nextBeginOffset"]),
        int(answer.fields["minOffset"]),
        int(answer.fields["maxOffset"]),
        tuple(
            Record(
                message.offset,
                payload.decode(message.body, key, run) if message.intact and message.queue == key else None,
            )
            for message in messages
        ),
    )


async def offset_of(link: Link, request: Request, key: int, deadline_ns: int) -> int:
    """GET_MIN_OFFSET or GET_MAX_OFFSET of a queue.

    Raises:
        Definite: the broker refused or could not be reached. Indefinite: no answer.
    """
    answer = await link.request(request, {"topic": config.TOPIC, "queueId": key}, deadline_ns)
    if answer.code != Code.SUCCESS or "offset" not in answer.fields:
        raise Definite(said(answer.code, answer.remark))
    return int(answer.fields["offset"])
