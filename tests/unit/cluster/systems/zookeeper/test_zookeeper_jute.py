"""Requests and answers as ZooKeeper's own client and servers pack them."""

import struct

import pytest
from zookeeper_server import done, names, node, packed, stat

from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.jute import Answer, Jute, Node

BEGUN = bytes.fromhex("00000025 00000000 0000ea60 0100000000000007 00000010" + "00" * 16 + "00")


def begun():
    """A connection that has its session."""
    codec = Jute()
    codec.encode(1, jute.SESSION)
    assert codec.feed(BEGUN) == [(1, Answer(0, BEGUN[4:]))]
    return codec


@pytest.mark.parametrize(
    ("request_", "sent"),
    [
        (jute.SESSION, "0000002d 00000000 0000000000000000 0000ea60 0000000000000000 00000010" + "00" * 16 + "00"),
        (jute.get_data("/a"), "0000000f 00000005 00000004 00000002 2f61 00"),
        (jute.get_children("/a"), "0000000f 00000005 00000008 00000002 2f61 00"),
        (jute.add_watch("/a"), "00000012 00000005 0000006a 00000002 2f61 00000001"),
        (jute.sync("/a"), "0000000e 00000005 00000009 00000002 2f61"),
        (jute.delete("/a"), "00000012 00000005 00000002 00000002 2f61 ffffffff"),
        (jute.set_data("/a", b"7"), "00000017 00000005 00000005 00000002 2f61 00000001 37 ffffffff"),
        (jute.set_data("/a", b"", 3), "00000016 00000005 00000005 00000002 2f61 00000000 00000003"),
        (
            jute.create("/é", b"7"),
            (
                "00000033 00000005 00000001 00000003 2fc3a9 00000001 37 00000001 0000001f"
                "00000005 776f726c64 00000006 616e796f6e65 00000000"
            ),
        ),
    ],
    ids=["session", "get", "children", "watch", "sync", "delete", "set", "set-version", "create"],
)
def test_a_request_on_the_wire(request_, sent):
    expected = bytes.fromhex(sent)
    assert Jute().encode(5, request_) == expected
    assert int.from_bytes(expected[:4]) == len(expected) - 4, "the length of the frame is right"


def test_the_answer_to_a_read_of_a_node():
    raw = (
        "00000001 37 0000000100000002 0000000100000009 0000019a00000000 0000019a00000001 00000005 00000000 00000000"
        "0000000000000000 00000001 00000000 0000000100000002"
    )
    assert jute.node_of(bytes.fromhex(raw)) == Node(b"7", 5)
    assert jute.node_of(struct.pack(">i", -1) + node(b"", 2)[4:]) == Node(b"", 2), "no buffer at all is empty too"


def test_an_event_of_a_watch():
    """As 3.9.5 sends it: under the number -1, with the transaction where answers have the last one applied."""
    raw = bytes.fromhex("0000001f ffffffff 0000000200000007 00000000 00000003 00000003 00000003 2f612f")
    (heard,) = begun().feed(packed(raw[4:]))
    assert heard == (jute.EVENT_NUMBER, Answer(0, raw[20:], 0x200000007))
    assert jute.event_of(raw[20:]) == jute.Event(jute.CHANGED, "/a/")


@pytest.mark.parametrize(
    "body", ["0000", "00000004 00000003 00000000", "00000003 00000000 00000000", "00000003 00000003"]
)
def test_what_is_no_event_of_a_recursive_watch_is_malformed(body):
    with pytest.raises(Malformed):
        jute.event_of(bytes.fromhex(body))


def test_by_which_transaction_a_node_was_written():
    assert jute.transaction_of(stat(written=9)) == 9
    assert (
        jute.transaction_of_multi(done(jute.DELETE)[:9] + struct.pack(">i?i", 5, False, 0) + stat(written=9) + done())
        == 9
    )
    for read in (jute.transaction_of, jute.transaction_of_multi):
        with pytest.raises(Malformed):
            read(done())


def test_the_answer_to_a_read_of_children():
    assert jute.names_of(bytes.fromhex("00000002 00000001 37 00000003 2d3132")) == ["7", "-12"]
    assert jute.names_of(names()) == []
    assert len(jute.names_of(names(*map(str, range(20_000))))) == 20_000


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (jute.node_of, b""),
        (jute.node_of, b"\0\0\0"),
        (jute.node_of, packed(b"7")),
        (jute.node_of, node(b"7")[:-1]),
        (jute.node_of, struct.pack(">i", 1 << 30) + bytes(100)),
        (jute.names_of, b"\0"),
        (jute.names_of, names("7", "8")[:-1]),
        (jute.names_of, struct.pack(">i", 2) + packed(b"7")),
        (jute.names_of, struct.pack(">i", 1 << 30)),
    ],
)
def test_an_answer_that_is_cut_off_is_malformed(read, body):
    with pytest.raises(Malformed):
        read(body)


def test_answers_come_in_any_pieces():
    codec = begun()
    two = packed(struct.pack(">iqi", 5, 99, 0) + b"x") + packed(struct.pack(">iqi", 6, 99, -101))
    found = [answer for one in two for answer in codec.feed(bytes([one]))]
    assert found == [(5, Answer(0, b"x", 99)), (6, Answer(-101, b"", 99))]


@pytest.mark.parametrize(
    ("codec", "data", "said"),
    [
        (Jute, BEGUN, "no answer to the request for a session"),
        (begun, packed(b"short"), "an answer without a head"),
        (begun, b"\xff\xff\xff\xff", "a frame of -1 bytes"),
        (begun, b"HTTP/1.1 400", "a frame of 1213486160 bytes"),
    ],
)
def test_bytes_that_are_not_of_the_protocol(codec, data, said):
    with pytest.raises(Malformed, match=said):
        codec().feed(data)


def test_a_server_that_gives_no_session():
    codec = Jute()
    codec.encode(1, jute.SESSION)
    with pytest.raises(Malformed, match="no answer to the request for a session"):
        codec.feed(packed(b"short"))


def test_a_session_that_is_over_has_no_length():
    codec = Jute()
    codec.encode(1, jute.session(4000, 9, bytes(range(16))))
    over = BEGUN[:8] + bytes(4) + BEGUN[12:]
    assert codec.feed(over) == [(1, Answer(-112, over[4:]))]


def test_a_session_can_be_gone_on_with():
    number, password, timeout_ms = jute.session_of(BEGUN[4:])
    assert (number, password, timeout_ms) == (0x0100000000000007, bytes(16), 60_000)
    sent = "0000002d 00000000 0000000000000000 00000fa0 0000000000000009 00000010" + bytes(range(16)).hex() + "00"
    assert Jute().encode(5, jute.session(4000, 9, bytes(range(16)))) == bytes.fromhex(sent)


def test_a_ping_has_a_number_of_its_own_on_the_wire():
    codec = begun()
    assert codec.encode(5, jute.ping()) == bytes.fromhex("00000008 fffffffe 0000000b")
    assert codec.encode(6, jute.end_session()) == bytes.fromhex("00000008 00000006 fffffff5")
    answers = packed(struct.pack(">iqi", 6, 99, 0)) + packed(struct.pack(">iqi", -2, 99, 0))
    assert codec.feed(answers) == [(6, Answer(0, b"", 99)), (5, Answer(0, b"", 99))]


def test_a_node_is_made_and_its_transaction_told():
    asked = jute.create_and_tell("/a/", jute.EPHEMERAL | jute.SEQUENTIAL)
    assert (asked.kind, asked.body[-4:]) == (15, b"\0\0\0\3")
    assert jute.made_of(packed(b"/a/0000000004") + stat(made=77)) == ("/a/0000000004", 77)


def test_the_last_part_of_a_multi_says_how_often_its_node_was_written():
    checked = done(jute.CHECK)[:-9]
    written = done(jute.SET_DATA)[:-9] + stat(version=4) + done()
    assert [jute.last_version(body) for body in (written, checked + written)] == [4, 4]


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (jute.made_of, b""),
        (jute.made_of, packed(b"/a") + stat()[:-1]),
        (jute.last_version, done()),
        (jute.last_version, stat() + done()),
        (jute.session_of, BEGUN[4:-3]),
    ],
)
def test_what_was_made_or_written_and_is_cut_off_is_malformed(read, body):
    with pytest.raises(Malformed):
        read(body)
