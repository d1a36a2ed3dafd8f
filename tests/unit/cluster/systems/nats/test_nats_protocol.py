"""The protocol as a server of NATS speaks it, in pieces of any size, and what is none."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.systems._shared.link import Malformed
from cluster.systems.nats.protocol import Frames, Message, Ping, Refused, Request, Requests, headers_of, publish_frame

FRAMES = [
    (b'INFO {"server_id":"X","version":"2.9.10"}\r\n', None),
    (b"PING\r\n", Ping()),
    (b"PONG\r\n", None),
    (b"+OK\r\n", None),
    (b"-ERR 'Stale Connection'\r\n", Refused("Stale Connection")),
    (b"MSG a.b 1 2\r\nhi\r\n", Message("a.b", b"hi", subscription=1)),
    (b"MSG a.b 1 back.to 4\r\n\r\n\r\n\r\n", Message("a.b", b"\r\n\r\n", reply="back.to", subscription=1)),
    (b"MSG a 1 0\r\n\r\n", Message("a", subscription=1)),
    (b"HMSG a 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", Message("a", status=503, subscription=1)),
    (
        b"HMSG a 1 r 18 21\r\nNATS/1.0\r\nX: 1\r\n\r\nabc\r\n",
        Message("a", b"abc", {"X": "1"}, reply="r", subscription=1),
    ),
    (b"msg a 1 1\r\nx\r\n", Message("a", b"x", subscription=1)),
    (b"MSG a x 1\r\nx\r\n", Message("a", b"x")),
]


@pytest.mark.parametrize(("data", "frame"), FRAMES)
def test_a_frame_is_whole_with_its_last_byte_only(data, frame):
    for cut in range(len(data)):
        frames = Frames()
        assert frames.feed(data[:cut]) == []
        assert frames.feed(data[cut:]) == ([] if frame is None else [frame])


@given(st.lists(st.sampled_from(FRAMES), min_size=1, max_size=6), st.integers(1, 9))
def test_frames_that_come_in_pieces_keep_their_order(several, size):
    data = b"".join(one for one, _ in several)
    frames = Frames()
    found = [out for at in range(0, len(data), size) for out in frames.feed(data[at : at + size])]
    assert found == [frame for _, frame in several if frame is not None]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\r\n",
        b"MSG a 1\r\n",
        b"MSG a 1 x y z 5\r\n",
        b"MSG a 1 -5\r\nhi\r\n",
        b"MSG a 1 two\r\nhi\r\n",
        b"MSG a 1 2\r\nhiho\r\n",
        b"MSG a 1 99999999999\r\n",
        b"HMSG a 1 9 5\r\nhello\r\n",
        b"HMSG a 1 5 5\r\nhello\r\n",
        b"x" * (1 << 20) + b"yy",
    ],
)
def test_what_no_server_sends_ends_the_connection(data):
    with pytest.raises(Malformed, match="no NATS"):
        Frames().feed(data)


@given(st.binary(max_size=60))
def test_garbage_is_refused_or_waited_for(data):
    with contextlib.suppress(Malformed):
        assert all(isinstance(frame, Message | Ping | Refused) for frame in Frames().feed(data))


@pytest.mark.parametrize(
    ("head", "status", "headers"),
    [
        (b"NATS/1.0 404 Message Not Found\r\n\r\n", 404, {}),
        (b"NATS/1.0\r\nNats-Sequence: 7\r\nA:b:c\r\n\r\n", None, {"Nats-Sequence": "7", "A": "b:c"}),
        (b"NATS/1.0 odd\r\n\r\n", None, {}),
    ],
)
def test_headers(head, status, headers):
    assert headers_of(head) == (status, headers)


def test_a_message_on_the_wire():
    assert publish_frame("a.b", "in.1", b"hi", {}) == b"PUB a.b in.1 2\r\nhi\r\n"
    assert publish_frame("a", "in.1", b"hi", {"X": "1"}) == b"HPUB a in.1 18 20\r\nNATS/1.0\r\nX: 1\r\n\r\nhi\r\n"


@pytest.mark.parametrize(
    ("subject", "headers"), [("a b", {}), ("", {}), ("a\r\nPUB", {}), ("a", {"X": "1\r\nY: 2"}), ("a", {"X\n": "1"})]
)
def test_what_the_protocol_cannot_say_is_not_sent(subject, headers):
    with pytest.raises(Malformed):
        publish_frame(subject, "in.1", b"", headers)


def test_an_answer_finds_its_request_by_the_inbox():
    codec = Requests()
    connect, subscribe, _ = codec.greeting.split(b"\r\n")
    assert connect.startswith(b"CONNECT {")
    assert b'"no_responders":true' in connect
    inbox = subscribe.split()[1].decode().removesuffix(".*")
    assert codec.encode(7, Request("a", b"x")) == f"PUB a {inbox}.7 1\r\nx\r\n".encode()
    sent = f"MSG {inbox}.7 1 2\r\nhi\r\nMSG {inbox}.x 1 0\r\n\r\nMSG other.7 1 0\r\n\r\n".encode()
    assert codec.feed(sent) == [(7, Message(f"{inbox}.7", b"hi", subscription=1))]
    assert Requests().feed(sent) == [], "another connection's inbox"


def test_an_answer_under_another_subject_finds_its_request_by_a_subscription_of_its_own():
    codec = Requests()
    inbox = codec.greeting.split(b"\r\n")[1].split()[1].decode().removesuffix(".*")
    asked = codec.encode(7, Request("next", b"1", renamed=True))
    reply = f"{inbox}-7"
    assert asked == f"SUB {reply} 9\r\nUNSUB 9 1\r\nPUB next {reply} 1\r\n1\r\n".encode()
    (answer,) = codec.feed(b"MSG some.queue 9 $JS.ACK.x 2\r\nhi\r\n")
    assert answer == (7, Message("some.queue", b"hi", reply="$JS.ACK.x", subscription=9))
    (none,) = codec.feed(f"HMSG {reply} 10 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\n".encode())
    assert (none[0], none[1].status) == (8, 404)


def test_pings_are_answered_with_the_next_request():
    codec = Requests()
    assert codec.feed(b"PING\r\nPING\r\n") == []
    assert codec.encode(1, Request("a")).startswith(b"PONG\r\nPONG\r\nPUB a ")
    assert codec.encode(2, Request("a")).startswith(b"PUB a ")


def test_an_error_of_the_server_ends_the_connection():
    with pytest.raises(Malformed, match="the server says Authorization Violation"):
        Requests().feed(b"-ERR 'Authorization Violation'\r\n")
