"""What a client asks of RocketMQ's brokers for each kind of operation; where it goes is ``RoutedClient``'s business.

A strong read asks the broker for its role and epoch before and after, so that what it read was read at one master.
Each page is noted as it comes, before it is judged.
"""

from functools import partial
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Given, ReadFrom, Schedule, Send
from chaos.models.log.words import POPS, F, Record
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.rocketmq import config, dledger, topology
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.consumers import GROUP_OPERATIONS
from cluster.systems.rocketmq.leadership_claim import LeadershipClaim, fetch_claim
from cluster.systems.rocketmq.names import names_of
from cluster.systems.rocketmq.outcomes import describe_answer, of_send
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
from cluster.systems.rocketmq.sending import note_sent, properties_of, request_fields

READ_GROUP: Final = "TOOLS_CONSUMER"
"""A consumer group that every broker has from the start, so that reading creates nothing."""
POLL_MESSAGES: Final = 32
READ_MESSAGES: Final = 1024
_SUBSCRIPTION_IN_HEADER: Final = 4  # pull without a heartbeat of the consumer group


class Pulled(msgspec.Struct, frozen=True):
    """The offsets in one answer to a pull."""

    code: int
    next_offset: int
    min_offset: int
    max_offset: int


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
        self._run_names = names_of(view)
        server = NameServer(Link(namesrv.address, config.NAMESRV_PORT), self._run_names.topic, names)
        super().__init__(view, number, clients, seed, links, server, "the name server")
        self._group = self._run_names.producer(number)
        self._mode = topology.of(view.settings).mode
        self._members = dledger.brokers(view)
        self._pops = Pops(self._run_names, self._run, self._standing)
        self._producer = Producer(self._links, self._run_names, self._run, number, self._mode)

    def _asked(self, node: str, question: Answer) -> None:
        """A broker wants to know something."""
        self._producer.answer_question(node, question)

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        try:
            if op.f in (F.SEND, F.SCHEDULE):
                await self._send(op, node, deadline_ns, received)
            elif op.f is F.TRANSACT:
                await self._producer.transact(op, node, deadline_ns)
            elif op.f in (F.READ, F.DRAIN):
                await self._strong_read(op, node, deadline_ns, received)
            elif op.f in POPS:
                await self._pops.perform(op, self._links[node], node, deadline_ns, received)
            elif op.f in GROUP_OPERATIONS:
                act, link = GROUP_OPERATIONS[op.f], self._links[node]
                await act(self._run_names, self._standing, link, op, node, deadline_ns, received)
            elif op.f is F.REPLICA:
                await self._copy(op, node, deadline_ns, received)
            else:
                await self._weak_read(op, node, deadline_ns, received)
        except ProtocolError as error:
            raise Indefinite(f"malformed answer: {error}") from None

    async def _send(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        send: Send | Schedule = op.argument
        fields = request_fields(op, self._run_names.topic, self._group, properties_of(op))
        body = payload.encode(send.value, op.key, self._run, send.body_bytes)
        answer = await self._links[node].request(Request.SEND_MESSAGE_V2, fields, deadline_ns, body)
        note_sent(op, answer, self._mode, received)

    async def _weak_read(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        read: ReadFrom = op.argument
        given = received.result = Given()
        pulled = await self._pull(node, op.key, read.offset, POLL_MESSAGES, deadline_ns, given)
        given.next_offset = pulled.next_offset
        given.min_offset, given.max_offset = pulled.min_offset, pulled.max_offset

    async def _strong_read(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """From an offset (a drain: the minimum) to the maximum that the master names before the first pull.

        A broker shows a message to readers a millisecond or so after it acknowledged it (dispatch to the queue
        is a thread of its own); by the time the maximum is asked, two answers have come and gone.
        """
        before = await self._standing(node, deadline_ns)
        if not before.master:
            raise Definite("not master")
        stopped = await self._pages(op, node, deadline_ns, received)
        if stopped is not None:
            raise Definite(f"read stopped below the maximum offset: {describe_answer(stopped.code, '')}")
        after = await self._standing(node, deadline_ns)
        if after.master != before.master or after.epoch != before.epoch:
            raise Definite("not master any more")

    async def _copy(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """What a broker shows of its own copy, minimum to maximum as it sees them; it ends where pulls get no further.

        A slave shows what it knows to be confirmed, so its maximum may lie above. With slaveReadEnable=false it refuses
        (PullMessageProcessor.rejectRequest of 5.5.0).
        """
        await self._pages(op, node, deadline_ns, received)

    async def _pages(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> Pulled | None:
        """Pull from an offset, or the minimum, to the maximum as named first; the answer that took it no further."""
        link, topic = self._links[node], self._run_names.topic
        given = received.result = Given()
        given.min_offset = minimum = await offset_of(link, Request.GET_MIN_OFFSET, topic, op.key, deadline_ns)
        given.max_offset = maximum = await offset_of(link, Request.GET_MAX_OFFSET, topic, op.key, deadline_ns)
        at = given.next_offset = op.argument.offset if isinstance(op.argument, ReadFrom) else minimum
        while at < maximum:
            pulled = await self._pull(node, op.key, at, READ_MESSAGES, deadline_ns, given)
            if pulled.next_offset <= at:
                return pulled
            at = given.next_offset = pulled.next_offset
        return None

    async def _standing(self, node: str, deadline_ns: int) -> LeadershipClaim:
        return await fetch_claim(self._links[node], deadline_ns, self._mode, node, self._members.get(node))

    async def refresh(self) -> None:
        """Drop every connection and the route."""
        await self._producer.stop()
        await super().refresh()
        for member in self._members.values():
            member.close()

    async def _pull(self, node: str, key: int, offset: int, count: int, deadline_ns: int, given: Given) -> Pulled:
        fields = {
            "consumerGroup": READ_GROUP,
            "topic": self._run_names.topic,
            "queueId": key,
            "queueOffset": offset,
            "maxMsgNums": count,
            "sysFlag": _SUBSCRIPTION_IN_HEADER,
            "commitOffset": 0,
            "suspendTimeoutMillis": 0,
            "subscription": "*",
            "subVersion": 0,
            "expressionType": "TAG",
        }
        answer = await self._links[node].request(Request.PULL_MESSAGE, fields, deadline_ns)
        return parse_pull(answer, key, self._run, given.records)


def parse_pull(answer: Answer, key: int, run: int, records: list[Record]) -> Pulled:
    """What a pull answered; its messages are added to ``records``.

    Raises:
        Definite: the broker refused.
        ProtocolError: the messages do not parse; those before the damage are added.
    """
    if answer.code == Code.SUCCESS or "nextBeginOffset" in answer.fields:
        for message in decode_messages(answer.body):
            ours = message.intact and message.queue == key
            records.append(Record(message.offset, payload.decode(message.body, key, run) if ours else None))
    if "nextBeginOffset" not in answer.fields:
        raise Definite(
            of_send(answer.code, answer.remark).error or describe_answer(answer.code, "no offsets in the answer")
        )
    return Pulled(
        answer.code,
        int(answer.fields["nextBeginOffset"]),
        int(answer.fields["minOffset"]),
        int(answer.fields["maxOffset"]),
    )


async def offset_of(link: Link, request: Request, topic: str, key: int, deadline_ns: int) -> int:
    """GET_MIN_OFFSET or GET_MAX_OFFSET of a queue.

    Raises:
        Definite: the broker refused or could not be reached. Indefinite: no answer.
    """
    answer = await link.request(request, {"topic": topic, "queueId": key}, deadline_ns)
    if answer.code != Code.SUCCESS or "offset" not in answer.fields:
        raise Definite(describe_answer(answer.code, answer.remark))
    return int(answer.fields["offset"])
