"""Bytes of Kafka's protocol: values, frames, batches of records."""

import pytest

from cluster.systems._shared.link import Malformed
from cluster.systems.kafka import wire
from cluster.systems.kafka.records import ANONYMOUS, Found, Marker, Producer, batch, batches, crc32c, without_aborted
from cluster.systems.kafka.wire import Reader, Request, Wire, blob, int32

COMMIT_MARKER = bytes.fromhex(
    # a batch of one control record at offset 5 of producer 9, epoch 1: a commit
    "0000000000000005" + "00000042" + "00000000" + "02" + "00000000" + "0030" + "00000000"
    "0000000000000001" + "0000000000000001" + "0000000000000009" + "0001" + "ffffffff" + "00000001"
    "20" + "00" + "00" + "00" + "08" + "00000001" + "0c" + "000000000000" + "00"
)


def test_the_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA, "RFC 3720, B.4"
    assert crc32c(b"") == 0


@pytest.mark.parametrize("value", [0, 1, -1, 63, 64, -64, -65, 300, -(2**31), 2**31 - 1, 2**62, -(2**63)])
def test_numbers_of_seven_bits_a_byte_come_back(value):
    assert Reader(wire.signed(value)).signed() == value
    if value >= 0:
        assert Reader(wire.unsigned(value)).unsigned() == value


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 11])
def test_a_number_that_does_not_end_is_none(data):
    with pytest.raises(Malformed):
        Reader(data).unsigned()


def test_strings_and_arrays():
    reader = Reader(wire.text("né") + wire.text(None) + wire.text(None) + wire.array([wire.text("a"), wire.text("b")]))
    assert (reader.text(), reader.maybe_text(), reader.text()) == ("né", None, "")
    assert reader.array(reader.text) == ["a", "b"]
    assert reader.left == 0
    with pytest.raises(Malformed, match="an array of 1000 items in 0 bytes"):
        Reader(int32(1000)).array(lambda: 0)
    with pytest.raises(Malformed):
        Reader(b"\0\5abc").text()


def test_requests_have_a_head_and_answers_their_number():
    codec = Wire()
    assert codec.encode(5, Request(3, 8, b"xyz")) == blob(b"\0\3\0\x08\0\0\0\5\0\5chaosxyz")
    assert codec.encode(6, Request(55, 0, b"xyz", flexible=True)) == blob(b"\0\x37\0\0\0\0\0\6\0\5chaos\0xyz")
    data = blob(int32(5) + b"ab") + blob(int32(6) + b"\0cd")
    found = [
        (number, reader.take(2)) for piece in (data[:3], data[3:9], data[9:]) for number, reader in codec.feed(piece)
    ]
    assert found == [(5, b"ab"), (6, b"cd")]


@pytest.mark.parametrize("data", [b"HTTP/1.1", b"\xff\xff\xff\xff"])
def test_what_is_no_frame_is_refused(data):
    with pytest.raises(Malformed):
        Wire().feed(data)


def test_a_batch_comes_back():
    data = batch(b"hello", 1234)
    assert batches(data, 0) == ([Found(0, b"hello")], [], 1)
    assert data[16] == 2, "the format"


def test_a_batch_has_the_checksum_of_what_follows_it():
    data = batch(b"hello" * 50, 1234, Producer(9, 1, 7))
    assert int.from_bytes(data[17:21], "big") == crc32c(data[21:])
    assert int.from_bytes(data[8:12], "big") == len(data) - 12


def at(offset, body, producer=ANONYMOUS):
    return offset.to_bytes(8, "big") + batch(body, 1, producer)[8:]


def test_records_below_where_the_read_begins_and_half_a_batch_are_left_out():
    data = at(4, b"a") + at(5, b"b") + at(6, b"c")
    assert batches(data[:-1], 5) == ([Found(5, b"b")], [], 6)
    assert batches(data[:10], 5) == ([], [], None)
    assert batches(b"", 5) == ([], [], None)


def test_records_of_transactions_and_where_these_end():
    data = at(4, b"a", Producer(9, 1, 0, transactional=True)) + COMMIT_MARKER
    assert batches(data, 0) == ([Found(4, b"a", 9)], [Marker(5, 9, committed=True)], 6)
    assert batches(data.replace(b"\0\0\0\x01\x0c", b"\0\0\0\0\x0c"), 0).markers == [Marker(5, 9, committed=False)]


def test_compressed_and_older_batches_are_refused():
    data = bytearray(batch(b"hello", 1))
    data[22] |= 1
    with pytest.raises(Malformed, match="a compressed batch"):
        batches(bytes(data), 0)
    data[16] = 1
    with pytest.raises(Malformed, match="format 1"):
        batches(bytes(data), 0)
    with pytest.raises(Malformed):
        batches(batch(b"hello", 1)[:12].replace(b"\0\0\0\x43", b"\0\0\0\x01") + bytes(40), 0)


ABORT_MARKER = COMMIT_MARKER.replace(b"\0\0\0\x01\x0c", b"\0\0\0\0\x0c")


@pytest.mark.parametrize(
    ("aborted", "left"),
    [
        ((), [b"a", b"b", b"c", b"d"]),
        (((9, 4),), [b"b", b"c", b"d"]),
        (((9, 6),), [b"a", b"b", b"d"]),
        (((9, 4), (9, 6)), [b"b", b"d"]),
        (((8, 0),), [b"a", b"c", b"d"]),
        (((7, 0),), [b"a", b"b", b"c", b"d"]),
    ],
)
def test_what_an_aborted_transaction_sent_is_left_out(aborted, left):
    """Producer 9 aborts at 5 what it sent at 4, and sends again at 6; producer 8 sent 5; 7 is no transaction's."""
    of_nine, of_eight = Producer(9, 1, 0, transactional=True), Producer(8, 1, 0, transactional=True)
    data = at(4, b"a", of_nine) + ABORT_MARKER
    data += at(5, b"b", of_eight) + at(6, b"c", of_nine) + at(7, b"d")
    assert [record.body for record in without_aborted(batches(data, 0), aborted)] == left
