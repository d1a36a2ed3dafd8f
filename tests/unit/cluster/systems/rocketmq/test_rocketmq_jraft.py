"""The term of a jRaft controller: frames and bodies, and a scripted member that answers as real ones (1.3.14) do."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.clock import NS_PER_S, now_ns
from chaos.storage.runinfo import NodeInfo
from cluster.systems._shared import link
from cluster.systems.rocketmq import jraft
from cluster.systems.rocketmq.jraft import Bolt, Member, PreVote, Voted, term_of, varint, vote_request


def answer(number, content, name=jraft._VOTED, command=2):
    return jraft._ANSWER_HEAD.pack(1, 0, command, 1, number, 1, 0, len(name), 0, len(content)) + name + content


def test_the_request_as_a_member_reads_it():
    body = vote_request(PreVote("g", "198.18.0.11:9880"))
    assert body == b"\n\x01g\x12\x10198.18.255.254:1\x1a\x10198.18.0.11:9880 \x00(\x000\x008\x01"
    frame = Bolt().encode(7, PreVote("g", "198.18.0.11:9880"))
    assert frame[:10] == bytes([1, 1, 0, 1, 1, 0, 0, 0, 7, 1])
    assert frame.endswith(body)
    assert frame[22:].startswith(b"com.alipay.sofa.jraft.rpc.RpcRequests$RequestVoteRequest")


@given(st.integers(0, 2**63 - 1), st.booleans())
def test_terms_round_trip(term, granted):
    assert term_of(b"\x08" + varint(term) + b"\x10" + bytes([granted])) == term


def test_unknown_fields_are_passed_over():
    assert term_of(b"\x1a\x02ab" + b"\x25" + bytes(4) + b"\x31" + bytes(8) + b"\x08\x05") == 5


@pytest.mark.parametrize("content", [b"", b"\x10\x00", b"\x08", b"\x08" + b"\xff" * 11, b"\x0b"])
def test_a_body_without_a_term(content):
    with pytest.raises(link.Malformed):
        term_of(content)


@given(st.lists(st.integers(1, 30), max_size=40))
def test_answers_survive_any_slicing(cuts):
    data = answer(1, b"\x08\x03\x10\x00") + answer(2, b"\x12\x00", b"ErrorResponse") + answer(3, b"\x08\x09")
    codec, found, position = Bolt(), [], 0
    for cut in [*cuts, len(data)]:
        found += codec.feed(data[position : position + cut])
        position += cut
    assert found == [(1, Voted(3)), (2, Voted(None)), (3, Voted(9))]


def test_frames_that_are_no_answers():
    with pytest.raises(link.Malformed):
        Bolt().feed(answer(1, b"\x08\x01", command=1))
    with pytest.raises(link.Malformed):
        Bolt().feed(b"\x00" * 40)


def test_a_member_says_its_term(monkeypatch):
    async def serve(reader, writer):
        while data := await reader.read(4096):
            number = int.from_bytes(data[5:9], "big")
            writer.write(answer(number, b"\x08\x0b\x10\x00"))
        writer.close()

    async def body():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        monkeypatch.setattr(jraft.config, "JRAFT_PORT", server.sockets[0].getsockname()[1])
        member = Member(NodeInfo(name="c1", role="controller", address="127.0.0.1"))
        try:
            return await member.term(now_ns() + 5 * NS_PER_S)
        finally:
            member.close()
            server.close()
            await server.wait_closed()

    assert asyncio.run(body()) == 11
