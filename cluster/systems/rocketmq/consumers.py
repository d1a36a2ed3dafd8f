"""The consumer group of RocketMQ's clients: where it goes on in each queue, and the groups that brokers must know.

A broker keeps a group's offsets in its memory, writes them to a file every few seconds, and hands them to its slaves
once in a while; any broker takes a commit, also one that is no master. So a commit and a question count only where
the broker says before and after that it is master of one epoch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import DeployError
from chaos.core.op import Completion, F, Invocation, Type
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.outcomes import said
from cluster.systems.rocketmq.protocol import Code, Request
from cluster.systems.rocketmq.standing import Standing

GROUP: Final = "chaos-group"
"""The group that all members are of."""

REFUSED: Final = frozenset(
    {
        Code.SYSTEM_BUSY, Code.REQUEST_CODE_NOT_SUPPORTED, Code.MESSAGE_ILLEGAL, Code.NO_PERMISSION,
        Code.TOPIC_NOT_EXIST, Code.SUBSCRIPTION_GROUP_NOT_EXIST, Code.INVALID_PARAMETER, Code.NO_MESSAGE,
    }
)  # fmt: skip
"""Answers of brokers that looked at a request of a consumer and did nothing."""

_ASK_S: Final = 1.0
_RETRY_S: Final = 0.2


Ask = Callable[[str, int], Awaitable[Standing]]
"""Asks a broker by name how it stands, before a point of the run's clock."""


def pop_group(key: int) -> str:
    """The group that pops a queue; one for each, since a group is given again what lapsed from any of its queues."""
    return f"chaos-pop-{key}"


def retry_topic(key: int) -> str:
    """Where a broker puts what is to be given to that group again."""
    return f"%RETRY%{pop_group(key)}_{config.TOPIC}"


async def master_of(ask: Ask, node: str, deadline_ns: int) -> Standing:
    """How the broker stands. Raises Definite if it is no master."""
    stands = await ask(node, deadline_ns)
    if not stands.master:
        raise Definite("not master")
    return stands


async def commit(ask: Ask, link: Link, op: Invocation, node: str, deadline_ns: int) -> Completion:
    """Let the group go on at an offset."""
    before = await master_of(ask, node, deadline_ns)
    fields = {"consumerGroup": GROUP, "topic": config.TOPIC, "queueId": op.key, "commitOffset": op.offset}
    answer = await link.request(Request.UPDATE_CONSUMER_OFFSET, fields, deadline_ns)
    if answer.code != Code.SUCCESS:
        raise (Definite if answer.code in REFUSED else Indefinite)(said(answer.code, answer.remark))
    try:
        after = await ask(node, deadline_ns)
    except Definite as error:
        raise Indefinite(f"committed, and then: {error}") from None
    if (after.master, after.epoch) != (before.master, before.epoch):
        raise Indefinite("committed, and not master of the same epoch any more")
    return Completion(type=Type.OK, node=node)


async def committed(ask: Ask, link: Link, op: Invocation, node: str, deadline_ns: int) -> Completion:
    """Where the group goes on; None where no broker was told."""
    before = await master_of(ask, node, deadline_ns)
    fields = {"consumerGroup": GROUP, "topic": config.TOPIC, "queueId": op.key, "setZeroIfNotFound": False}
    answer = await link.request(Request.QUERY_CONSUMER_OFFSET, fields, deadline_ns)
    if answer.code not in (Code.SUCCESS, Code.QUERY_NOT_FOUND):
        raise Definite(said(answer.code, answer.remark))
    after = await ask(node, deadline_ns)
    if (after.master, after.epoch) != (before.master, before.epoch):
        raise Definite("not master of the same epoch any more")
    offset = answer.fields.get("offset") if answer.code == Code.SUCCESS else None
    return Completion(type=Type.OK, node=node, next_offset=None if offset is None else int(offset))


GROUP_OPERATIONS: Final = {F.COMMIT: commit, F.COMMITTED_READ: committed}


async def require(
    link: Link, node: str, what: str, code: Request, fields: Mapping[str, object], deadline: Deadline, body: bytes = b""
) -> None:
    """Have a broker create something, which it may have already.

    Raises:
        DeployError: it refused until the deadline.
    """
    while True:
        try:
            answer = await link.request(code, fields, now_ns() + int(_ASK_S * NS_PER_S), body)
            if answer.code == Code.SUCCESS:
                return
            problem = said(answer.code, answer.remark)
        except (Definite, Indefinite) as error:  # creating it twice is creating it once
            problem = str(error)
        if deadline.expired():
            raise DeployError(f"{node} did not create {what}: {problem}")
        await asyncio.sleep(_RETRY_S)


async def create_groups(link: Link, node: str, queues: int, deadline: Deadline, *, pops: bool) -> None:
    """Let a broker know the groups of consumers, and where what is popped comes again: neither travels with the log.

    Raises:
        DeployError: it refused until the deadline.
    """
    keys = range(queues) if pops else range(0)
    for name in (GROUP, *map(pop_group, keys)):
        body = msgspec.json.encode({"groupName": name})
        await require(link, node, f"group {name}", Request.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, deadline, body)
    for topic in map(retry_topic, keys):
        await require(link, node, f"topic {topic}", Request.UPDATE_AND_CREATE_TOPIC, topic_of(topic, 1), deadline)


def topic_of(name: str, queues: int) -> dict[str, object]:
    """The fields of a request to create a topic."""
    return {
        "topic": name, "defaultTopic": "TBW102", "readQueueNums": queues, "writeQueueNums": queues, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False,
    }  # fmt: skip
