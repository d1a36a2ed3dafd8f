"""What a member of a DLedger group says of itself: its term, and whom it takes for the leader.

Controllers of type DLedger and the brokers of mode dledger are such members. Nothing that a member answers says its
term but a refusal: it gets a heartbeat of a term before all terms, which is expired and changes nothing.
"""

from typing import Final, NamedTuple

import msgspec

from chaos.core.client import Definite
from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems.rocketmq import config, topology
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.outcomes import describe_answer
from cluster.systems.rocketmq.protocol import Answer, ProtocolError, Request

_TERM_BEFORE_ALL: Final = -2
_ONLY_TERM: Final = 1
_SUCCESS: Final = 200
"""DLedger's own code for an answer, where RocketMQ's is 0."""


class _Base(msgspec.Struct):
    """What every answer of the protocol may hold; fields that do not apply are -1 or absent."""

    term: int = -1
    leaderId: str | None = None  # noqa: N815 - the protocol's spelling


class Standing(NamedTuple):
    """Whom a member follows (itself, if it leads), and in which term."""

    leader: str | None
    term: int


def parse_term(answer: Answer) -> int | None:
    """The term in the refusal of a heartbeat, None if it holds none."""
    try:
        term = msgspec.json.decode(answer.body, type=_Base).term
    except msgspec.DecodeError:
        return None
    return term if term >= 0 else None


def parse_leader(answer: Answer) -> str | None:
    """Whom the answer to a question for metadata names.

    Raises:
        Definite: the member refused.
        ProtocolError: the answer does not parse.
    """
    if answer.code != _SUCCESS:
        raise Definite(describe_answer(answer.code, answer.remark))
    try:
        return msgspec.json.decode(answer.body, type=_Base).leaderId or None
    except msgspec.DecodeError:
        raise ProtocolError("metadata of a DLedger member that does not parse") from None


class Member:
    """One member of a group, over a link to its own port. ``others``: the names of the others."""

    def __init__(self, link: Link, group: str, name: str, others: tuple[str, ...]) -> None:
        self._link = link
        self._group = group
        self._name = name
        self._others = others

    async def term(self, deadline_ns: int) -> int | None:
        """Its term. A group of one has nobody in whose name to ask; nobody else leads there, so it counts as term 1.

        Raises:
            Definite: it could not be reached. Indefinite: no answer.
        """
        if not self._others:
            return _ONLY_TERM
        body = msgspec.json.encode(
            {
                "group": self._group,
                "remoteId": self._name,
                "localId": self._others[0],
                "leaderId": self._others[0],
                "term": _TERM_BEFORE_ALL,
            }
        )
        return parse_term(await self._link.request(Request.DLEDGER_HEART_BEAT, {}, deadline_ns, body))

    async def leadership(self, deadline_ns: int) -> Standing:
        """Its leader and the term in which that holds: asked again until the term is the same before and after.

        Raises:
            Definite: it refused or could not be reached. Indefinite: no answer.
            ProtocolError: the answer does not parse.
        """
        before = await self.term(deadline_ns)
        while True:
            body = msgspec.json.encode({"group": self._group, "remoteId": self._name})
            leader = parse_leader(await self._link.request(Request.DLEDGER_METADATA, {}, deadline_ns, body))
            after = await self.term(deadline_ns)
            if after is not None and after == before:
                return Standing(leader, after)
            before = after

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        self._link.close()


def _member(node: NodeInfo, peers: tuple[NodeInfo, ...], group: str, port: int) -> Member:
    others = tuple(peer.name for peer in peers if peer.name != node.name)
    return Member(Link(node.address, port), group, node.name, others)


def brokers(view: ClusterView) -> dict[str, Member]:
    """The brokers as members of a group, by name; none unless they are."""
    if topology.of(view.settings).mode != "dledger":
        return {}
    peers = view.of_role("broker")
    return {node.name: _member(node, peers, config.GROUP, config.DLEDGER_PORT) for node in peers}


def controllers(view: ClusterView) -> dict[str, Member]:
    """The controllers as members of a group, by name; none unless they are of type DLedger."""
    if topology.of(view.settings).controller_type != "DLedger":
        return {}
    peers = view.of_role("controller")
    return {node.name: _member(node, peers, config.CONTROLLER_GROUP, config.CONTROLLER_PORT) for node in peers}
