"""The term of a controller of type jRaft, asked over its own port.

No request of RocketMQ's says it. A member answers the question for a pre-vote with its term, and refuses it here: the
candidate is nobody of the group, and its term is before all terms. A pre-vote changes nothing at either end. Frames are
SOFABolt's (version 1), bodies are Protocol Buffers; both pure. Does not use anything else of either.
"""

import struct
from typing import Final, NamedTuple

from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems._shared import link
from cluster.systems.rocketmq import config, topology

_PROTOCOL: Final = 1
_REQUEST: Final = 1
_RPC_REQUEST: Final = 1
_RPC_RESPONSE: Final = 2
_VERSION: Final = 1
_SERIALIZER: Final = 1  # by the class name; the members' own for these classes is Protocol Buffers
_TIMEOUT_MS: Final = 1000
# protocol, type, command, version, number, serializer, timeout, then the lengths of class name, header, content
_REQUEST_HEAD: Final = struct.Struct(">BBHBIBIHHI")
# the same with a status instead of the timeout
_ANSWER_HEAD: Final = struct.Struct(">BBHBIBHHHI")
_CLASSES: Final = "com.alipay.sofa.jraft.rpc.RpcRequests$"
_VOTE: Final = f"{_CLASSES}RequestVoteRequest".encode()
_VOTED: Final = f"{_CLASSES}RequestVoteResponse".encode()
_MAX_CONTENT: Final = 1 << 20
_NOBODY: Final = "198.18.255.254:1"
"""The candidate: an address that no node has."""

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_MORE: Final = 0x80


class PreVote(NamedTuple):
    """The question: ``member`` (address:port) of ``group`` is asked."""

    group: str
    member: str


class Voted(NamedTuple):
    """The answer; ``term`` None if it was an error."""

    term: int | None


def varint(value: int) -> bytes:
    """A whole number from 0 in seven bits a byte."""
    out = bytearray()
    while value >= _MORE:
        out.append(value & (_MORE - 1) | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(field: int, value: str) -> bytes:
    data = value.encode()
    return varint(field << 3 | _BYTES) + varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return varint(field << 3 | _VARINT) + varint(value)


def vote_request(asked: PreVote) -> bytes:
    """RequestVoteRequest: group, candidate, member, term, last log term, last log index, pre-vote."""
    return (
        _text(1, asked.group)
        + _text(2, _NOBODY)
        + _text(3, asked.member)
        + b"".join(_number(field, 0) for field in (4, 5, 6))
        + _number(7, 1)
    )


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:  # noqa: PLR2004 - ten bytes at most
            raise link.Malformed("a number that does not end")
        byte = data[at]
        value |= (byte & (_MORE - 1)) << shift
        at, shift = at + 1, shift + 7
        if byte < _MORE:
            return value, at


def term_of(content: bytes) -> int:
    """The term in a RequestVoteResponse: its field 1.

    Raises:
        Malformed: there is none.
    """
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _read_varint(content, at)
            if field == 1:
                return value
        elif kind == _BYTES:
            size, at = _read_varint(content, at)
            at += size
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise link.Malformed("a field of no kind")
    raise link.Malformed("an answer to a pre-vote without a term")


class Bolt:
    """Implements ``cluster.systems._shared.link.Codec``; nobody greets."""

    greeting: Final = b""

    def __init__(self) -> None:
        self._data = bytearray()

    def encode(self, number: int, request: PreVote) -> bytes:
        """A request frame."""
        content = vote_request(request)
        head = _REQUEST_HEAD.pack(
            _PROTOCOL, _REQUEST, _RPC_REQUEST, _VERSION, number, _SERIALIZER, _TIMEOUT_MS, len(_VOTE), 0, len(content)
        )
        return head + _VOTE + content

    def feed(self, data: bytes) -> list[tuple[int, Voted]]:
        """The answers that are whole now."""
        self._data += data
        out = []
        while len(self._data) >= _ANSWER_HEAD.size:
            protocol, _, command, _, number, _, _, name, header, content = _ANSWER_HEAD.unpack_from(self._data)
            if protocol != _PROTOCOL or command != _RPC_RESPONSE or content > _MAX_CONTENT:
                raise link.Malformed("a frame that is no answer")
            begin = _ANSWER_HEAD.size + name + header
            if len(self._data) < begin + content:
                break
            voted = bytes(self._data[_ANSWER_HEAD.size : _ANSWER_HEAD.size + name]) == _VOTED
            out.append((number, Voted(term_of(bytes(self._data[begin : begin + content])) if voted else None)))
            del self._data[: begin + content]
        return out


class Member:
    """One controller, over a link to the port where it agrees with the others."""

    def __init__(self, node: NodeInfo) -> None:
        self._link = link.Link(node.address, config.JRAFT_PORT, Bolt)
        self._asked = PreVote(config.CONTROLLER_GROUP, f"{node.address}:{config.JRAFT_PORT}")

    async def term(self, deadline_ns: int) -> int | None:
        """Its term, None if it answers with an error.

        Raises:
            Definite: it could not be reached. Indefinite: no answer.
        """
        return (await self._link.ask(self._asked, deadline_ns)).term

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        self._link.close()


def controllers(view: ClusterView) -> dict[str, Member]:
    """The controllers by name; none unless they are of type jRaft."""
    if topology.of(view.settings).controller_type != "jRaft":
        return {}
    return {node.name: Member(node) for node in view.of_role("controller")}
