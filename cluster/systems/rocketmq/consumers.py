"""The consumer group of RocketMQ's clients: where it goes on in each queue, and the groups that brokers must know.

A broker keeps a group's offsets in its memory, writes them to a file every few seconds, and hands them to its slaves
once in a while; any broker takes a commit, also one that is no master. So a commit and a question count only where
the broker says before and after that it is master of one epoch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import Deadline, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.op import Invocation, Word
from chaos.models.log.operations import Commit, GoesOn
from chaos.models.log.words import F
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.leadership_claim import LeadershipClaim
from cluster.systems.rocketmq.names import Names
from cluster.systems.rocketmq.outcomes import describe_answer, require_success
from cluster.systems.rocketmq.protocol import Code, Request

REFUSED: Final = frozenset(
    {
        Code.SYSTEM_BUSY,
        Code.REQUEST_CODE_NOT_SUPPORTED,
        Code.MESSAGE_ILLEGAL,
        Code.NO_PERMISSION,
        Code.TOPIC_NOT_EXIST,
        Code.SUBSCRIPTION_GROUP_NOT_EXIST,
        Code.INVALID_PARAMETER,
        Code.NO_MESSAGE,
    }
)
"""Answers of brokers that looked at a request of a consumer and did nothing."""

_ASK_S: Final = 1.0
_RETRY_S: Final = 0.2


Ask = Callable[[str, int], Awaitable[LeadershipClaim]]
"""Asks a broker by name how it stands, before a point of the run's clock."""

Perform = Callable[[Names, Ask, Link, Invocation, str, int, Received], Awaitable[None]]


async def master_of(ask: Ask, node: str, deadline_ns: int) -> LeadershipClaim:
    """How the broker stands. Raises Definite if it is no master."""
    stands = await ask(node, deadline_ns)
    if not stands.master:
        raise Definite("not master")
    return stands


async def commit(
    names: Names,
    ask: Ask,
    link: Link,
    op: Invocation,
    node: str,
    deadline_ns: int,
    received: Received,  # noqa: ARG001 - as all are
) -> None:
    """Let the group go on at an offset."""
    asked: Commit = op.argument
    before = await master_of(ask, node, deadline_ns)
    fields = {"consumerGroup": names.group, "topic": names.topic, "queueId": op.key, "commitOffset": asked.offset}
    answer = await link.request(Request.UPDATE_CONSUMER_OFFSET, fields, deadline_ns)
    if answer.code != Code.SUCCESS:
        raise (Definite if answer.code in REFUSED else Indefinite)(describe_answer(answer.code, answer.remark))
    try:
        after = await ask(node, deadline_ns)
    except Definite as error:
        raise Indefinite(f"committed, and then: {error}") from None
    if (after.master, after.epoch) != (before.master, before.epoch):
        raise Indefinite("committed, and not master of the same epoch any more")


async def ask_committed(
    names: Names, ask: Ask, link: Link, op: Invocation, node: str, deadline_ns: int, received: Received
) -> None:
    """Where the group goes on; None where no broker was told."""
    before = await master_of(ask, node, deadline_ns)
    fields = {"consumerGroup": names.group, "topic": names.topic, "queueId": op.key, "setZeroIfNotFound": False}
    answer = await link.request(Request.QUERY_CONSUMER_OFFSET, fields, deadline_ns)
    if answer.code not in (Code.SUCCESS, Code.QUERY_NOT_FOUND):
        raise Definite(describe_answer(answer.code, answer.remark))
    offset = answer.fields.get("offset") if answer.code == Code.SUCCESS else None
    received.result = GoesOn(None if offset is None else int(offset))
    after = await ask(node, deadline_ns)
    if (after.master, after.epoch) != (before.master, before.epoch):
        raise Definite("not master of the same epoch any more")


GROUP_OPERATIONS: Final[Mapping[Word, Perform]] = {F.COMMIT: commit, F.COMMITTED_READ: ask_committed}


async def require(
    link: Link, node: str, what: str, code: Request, fields: Mapping[str, object], deadline: Deadline, body: bytes = b""
) -> None:
    """Have a broker create something, which it may have already.

    Raises:
        DeployError: it refused until the deadline.
    """
    while True:
        try:
            answer = await link.request(code, fields, ns_from_now(_ASK_S), body)
            if answer.code == Code.SUCCESS:
                return
            problem = describe_answer(answer.code, answer.remark)
        except (Definite, Indefinite) as error:  # creating it twice is creating it once
            problem = str(error)
        if deadline.expired():
            raise DeployError(f"{node} did not create {what}: {problem}")
        await asyncio.sleep(_RETRY_S)


async def create_groups(names: Names, link: Link, node: str, popped: range, deadline: Deadline) -> None:
    """Let a broker know the groups of consumers, and where what is popped comes again: neither travels with the log.

    Raises:
        DeployError: it refused until the deadline.
    """
    for name in names.groups(popped):
        body = msgspec.json.encode({"groupName": name})
        await require(link, node, f"group {name}", Request.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, deadline, body)
    for topic in map(names.retry_topic, popped):
        await require(link, node, f"topic {topic}", Request.UPDATE_AND_CREATE_TOPIC, topic_of(topic, 1), deadline)


async def delete_names(names: Names, link: Link, popped: range, deadline_ns: int) -> None:
    """Have a broker forget a run's groups and topics; fine if it does not know them.

    Raises:
        Definite, Indefinite: it refused, or did not answer; it may have forgotten some.
    """
    for group in names.groups(popped):
        fields: dict[str, object] = {"groupName": group, "cleanOffset": True}
        await _delete(link, Request.DELETE_SUBSCRIPTIONGROUP, fields, deadline_ns)
    for topic in names.topics(popped):
        await _delete(link, Request.DELETE_TOPIC_IN_BROKER, {"topic": topic}, deadline_ns)


async def delete_routes(names: Names, link: Link, popped: range, deadline_ns: int) -> None:
    """Have a name server forget the ways to a run's topics; raises as ``delete_names``."""
    for topic in names.topics(popped):
        await _delete(link, Request.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, deadline_ns)


async def _delete(link: Link, code: Request, fields: Mapping[str, object], deadline_ns: int) -> None:
    answer = await link.request(code, fields, deadline_ns)
    require_success(answer)


def topic_of(name: str, queues: int) -> dict[str, object]:
    """The fields of a request to create a topic."""
    return {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
    }
