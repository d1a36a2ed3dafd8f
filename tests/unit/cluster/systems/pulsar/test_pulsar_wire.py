"""Frames, fields, message ids and offsets."""

import pytest
from pulsar_broker import command, given, message_id

from cluster.systems._shared.link import Malformed
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.positions import EARLIEST, PER_LEDGER, MessageId, offset_of, place_of
from cluster.systems.pulsar.protobuf import bytes_in, fields_of, message, number_in, text_in, varint
from cluster.systems.pulsar.wire import Wire, body_of, commands_in, encode_request, id_in


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\x01")],
)
def test_numbers(value, data):
    assert varint(value) == data
    assert number_in(fields_of(message([(5, value)])), 5) == value


def test_fields_are_what_was_written():
    found = fields_of(message([(1, "text"), (2, b"\0\1"), (15, 1 << 40)]) + b"\x21" + bytes(8) + b"\x2d" + bytes(4))
    assert (text_in(found, 1), bytes_in(found, 2), number_in(found, 15)) == ("text", b"\0\1", 1 << 40)
    assert (found[4], found[5]) == (bytes(8), bytes(4)), "numbers of a fixed size are left as they are"
    assert (text_in(found, 9), number_in(found, 9, 7)) == ("", 7)


@pytest.mark.parametrize("data", [b"\x08", b"\x0a\x05abc", b"\x0b", b"\x08" + b"\xff" * 11])
def test_what_is_no_message_is_malformed(data):
    with pytest.raises(Malformed):
        fields_of(data)


def test_a_field_of_another_kind_is_malformed():
    found = fields_of(message([(1, 5), (2, "x")]))
    with pytest.raises(Malformed):
        text_in(found, 1)
    with pytest.raises(Malformed):
        number_in(found, 2)


def test_frames_are_taken_as_they_come():
    whole = command(wire.CONNECTED, (1, "Pulsar")) + given(3, 4, b"body")
    data, came = bytearray(), []
    for byte in whole:
        data.append(byte)
        came += commands_in(data)
    assert ([one.kind for one in came], bytes(data)) == ([wire.CONNECTED, wire.MESSAGE], b"")
    assert wire.message_in(came[1]) == (MessageId(3, 4), b"body")


@pytest.mark.parametrize("data", [b"\xff" * 8, b"\0\0\0\4\0\0\0\x63", b"\0\0\0\1\0"])
def test_what_is_no_frame_is_malformed(data):
    with pytest.raises(Malformed):
        commands_in(bytearray(data))


def test_a_body_is_behind_what_describes_it():
    (plain,), (checked,) = (commands_in(bytearray(given(1, 2, b"body", checksum=one))) for one in (False, True))
    assert body_of(plain.payload) == body_of(checked.payload) == b"body"
    for payload in (b"", b"\0\0\0\x09abc"):
        with pytest.raises(Malformed):
            body_of(payload)


def test_a_send_carries_its_checksum():
    """The checksum of what follows it, by another way than the one that made it: one bit at a time."""
    (sent,) = commands_in(bytearray(encode_request(5, wire.send(b"body", 17))))
    assert (sent.kind, number_in(sent.fields, 2), sent.payload[:2]) == (wire.SEND, 5, b"\x0e\x01")
    crc = 0xFFFFFFFF
    for byte in sent.payload[6:]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    assert int.from_bytes(sent.payload[2:6], "big") == crc ^ 0xFFFFFFFF
    assert body_of(sent.payload) == b"body"


def test_answers_find_their_requests():
    codec = Wire()
    codec.encode(4, wire.HELLO)
    came = codec.feed(
        command(wire.CONNECTED, (1, "Pulsar"))
        + command(wire.PRODUCER_SUCCESS, (1, 5), (2, "p"))
        + command(wire.SEND_RECEIPT, (1, 0), (2, 6), (3, message_id(7, 8)))
        + command(31, (1, 0))
        + command(wire.ERROR, (1, 7), (2, 6), (3, "moved"))
    )
    assert [number for number, _ in came] == [4, 5, 6, 7]
    assert id_in(came[2][1].fields, 3) == MessageId(7, 8)
    assert wire.error_in(came[3][1]).text == "6 ServiceNotReady: moved"
    assert wire.error_in(came[2][1]) is None


def test_a_send_with_a_number_of_its_own_is_answered_under_it():
    codec = Wire()
    codec.encode(3, wire.send(b"body", 17, sequence=0))
    frame = codec.encode(8, wire.send(b"body", 17, sequence=1))
    (sent,) = commands_in(bytearray(frame))
    assert number_in(sent.fields, 2) == 1
    came = codec.feed(
        command(wire.SEND_RECEIPT, (1, 0), (2, 0), (3, message_id(7, 8)))
        + command(wire.SEND_ERROR, (1, 0), (2, 8), (3, 2), (4, "why"))
        + command(wire.SEND_RECEIPT, (1, 0), (2, 1), (3, message_id(7, 9)))
    )
    assert [number for number, _ in came] == [-1, -1, 8], "answers to earlier ones are nobody's"


def test_offsets_ascend_as_message_ids_do():
    ids = [MessageId(0, 0), MessageId(0, 7), MessageId(1, 0), MessageId(12, 345), MessageId(12, PER_LEDGER - 1)]
    offsets = [offset_of(one) for one in ids]
    assert (offsets, offsets[3]) == (sorted(offsets), 120_000_345)


@pytest.mark.parametrize("where", [MessageId(-1, -1), MessageId(3, -1), MessageId(3, PER_LEDGER)])
def test_what_has_no_offset_is_malformed(where):
    with pytest.raises(Malformed):
        offset_of(where)


@pytest.mark.parametrize(
    ("offset", "where"),
    [(0, EARLIEST), (1, MessageId(0, 1)), (120_000_345, MessageId(12, 345)), (120_000_000, MessageId(12, 0))],
)
def test_a_reader_is_set_at_an_offset(offset, where):
    assert place_of(offset) == where
