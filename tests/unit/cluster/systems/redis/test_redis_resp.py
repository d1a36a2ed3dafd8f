"""RESP as Redis sends it, in pieces of any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.systems._shared.link import Malformed
from cluster.systems.redis.resp import Refusal, Resp, decode_replies, encode_command

REPLIES = [
    (b"+OK\r\n", "OK"),
    (b":-7\r\n", -7),
    (b"$-1\r\n", None),
    (b"$0\r\n\r\n", ""),
    (b"$4\r\na\r\nb\r\n", "a\r\nb"),
    (b"*-1\r\n", None),
    (b"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", [1, ["x"]]),
    (b"-READONLY You can't\r\n", Refusal("READONLY You can't")),
]


def test_a_command_is_a_list_of_texts():
    assert encode_command(("SET", "ü", 5)) == b"*3\r\n$3\r\nSET\r\n$2\r\n\xc3\xbc\r\n$1\r\n5\r\n"


@pytest.mark.parametrize(("data", "reply"), REPLIES)
def test_every_kind_of_reply(data, reply):
    assert decode_replies(data, 1) == [reply]
    for cut in range(len(data)):
        assert decode_replies(data[:cut], 1) is None, "half a reply is none"


@given(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=5), st.integers(1, 7))
def test_replies_that_come_in_pieces_are_given_together(replies, size):
    data = b"".join(one for one, _ in replies)
    codec = Resp()
    codec.encode(3, (("PING",),) * len(replies))
    given_out = [out for at in range(0, len(data), size) for out in codec.feed(data[at : at + size])]
    assert given_out == [(3, [reply for _, reply in replies])]


@pytest.mark.parametrize("data", [b"HTTP/1.1 400\r\n", b":x\r\n", b"+OK\r\n+OK\r\n", b"*1\r\n?\r\n"])
def test_what_is_no_reply_ends_the_connection(data):
    with pytest.raises(Malformed, match="no RESP"):
        decode_replies(data, 1)


def test_a_reply_within_thousands_of_lists_is_refused():
    with pytest.raises(Malformed):
        decode_replies(b"*1\r\n" * 100_000 + b":1\r\n", 1)
