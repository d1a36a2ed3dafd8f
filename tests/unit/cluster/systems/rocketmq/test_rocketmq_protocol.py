"""Frames and stored messages against bytes that a real broker sent (5.5.0)."""

import pytest
from rocketmq_wire import encode_answer

from chaos.basics.rand import run_hash
from chaos.core.client import Definite
from chaos.models.log.payload import decode
from chaos.models.log.words import Record, Value
from cluster.systems.rocketmq.client import parse_pull
from cluster.systems.rocketmq.protocol import (
    Answer,
    Code,
    FrameBuffer,
    ProtocolError,
    Request,
    decode_messages,
    encode_properties,
    encode_request,
)

RUN = "h2-g0s11ihn"
# A pull of two messages of 40 bytes in queue 0.
PULLED = bytes.fromhex(
    "000002fd000000f57b22636f6465223a302c226578744669656c6473223a7b2273756767657374576869636842726f6b65724964223a2230"
    "222c2267726f7570537973466c6167223a2230222c226e657874426567696e4f6666736574223a2232222c226d61784f6666736574223a22"
    "32222c226d696e4f6666736574223a2230222c22746f706963537973466c6167223a2230227d2c22666c6167223a312c226c616e67756167"
    "65223a224a415641222c226f7061717565223a332c2272656d61726b223a22464f554e44222c2273657269616c697a655479706543757272"
    "656e74525043223a224a534f4e222c2276657273696f6e223a3531337d00000102daa320a7328c23af000000000000000000000000000000"
    "000000000000000000000000000000000000000000c61200110000ce7c000001a1fda390abc612001000002a9f0000000000000000000000"
    "000000002843485331aaa166f6ce3df9b1143bd1d3000000000000000500000000000000002e2e2e2e2e2e2e2e056368616f73007a4d5347"
    "5f524547494f4e0144656661756c74526567696f6e02554e49515f4b45590143363132303031303030313834453045324632413639334241"
    "3839323030303002434c5553544552016368616f732d636c7573746572024b45595301353a30025741495401747275650254524143455f4f"
    "4e01747275650200000102daa320a75060dc51000000000000000000000000000000010000000000000102000000000000000000000000c6"
    "1200110000ce7c000001a1fda39268c612001000002a9f0000000000000000000000000000002843485331bdda72b5ce3df9b1143bd1d300"
    "0000000000000500000000000000012e2e2e2e2e2e2e2e056368616f73007a4d53475f524547494f4e0144656661756c74526567696f6e02"
    "554e49515f4b455901433631323030313030303138344530453246324136393342414135373030303102434c5553544552016368616f732d"
    "636c7573746572024b45595301353a31025741495401747275650254524143455f4f4e017472756502"
)
MAX_OFFSET_REQUEST = (
    b'\x00\x00\x00\xa3\x00\x00\x00\x9d{"code":30,"opaque":7,"extFields":{"topic":"chaos","queueId":"2","order":"false"},'
    b'"flag":0,"language":"OTHER","version":477,"serializeTypeCurrentRPC":"JSON"}xy'
)


def pulled():
    (answer,) = FrameBuffer().feed(PULLED)
    return answer


def records_of(answer, key, run):
    records = []
    parse_pull(answer, key, run, records)
    return records


def test_a_request_is_these_bytes():
    fields = {"topic": "chaos", "queueId": 2, "order": False}
    assert encode_request(Request.GET_MAX_OFFSET, 7, fields, b"xy") == MAX_OFFSET_REQUEST


def test_a_real_pull_answer():
    answer = pulled()
    assert (answer.code, answer.opaque, answer.response, answer.remark) == (0, 3, True, "FOUND")
    first, second = decode_messages(answer.body)
    assert (first.topic, first.queue, first.offset, first.position, first.intact) == ("chaos", 0, 0, 0, True)
    assert (second.offset, second.position) == (1, 0x102)
    assert first.properties["KEYS"] == "5:0"
    assert first.properties["CLUSTER"] == "chaos-cluster"
    assert [decode(message.body, 0, run_hash(RUN)) for message in (first, second)] == [Value(5, 0), Value(5, 1)]


def test_a_real_pull_answer_as_records():
    records = []
    done = parse_pull(pulled(), 0, run_hash(RUN), records)
    assert (done.next_offset, done.min_offset, done.max_offset) == (2, 0, 2)
    assert records == [Record(0, Value(5, 0)), Record(1, Value(5, 1))]


@pytest.mark.parametrize("cut", [1, 0x101])
def test_what_precedes_a_torn_message_was_given(cut):
    answer, records = pulled(), []
    with pytest.raises(ProtocolError):
        parse_pull(answer._replace(body=answer.body[:-cut]), 0, run_hash(RUN), records)
    assert records == [Record(0, Value(5, 0))]


def test_messages_beside_a_refusal_were_given():
    records = []
    with pytest.raises(Definite):
        parse_pull(pulled()._replace(fields={}), 0, run_hash(RUN), records)
    assert [record.offset for record in records] == [0, 1]


def test_messages_under_a_code_that_has_none_were_given():
    records = []
    done = parse_pull(pulled()._replace(code=Code.PULL_NOT_FOUND), 0, run_hash(RUN), records)
    assert (done.code, len(records)) == (Code.PULL_NOT_FOUND, 2)


def test_a_message_of_another_run_or_queue_is_a_record_without_a_value():
    assert records_of(pulled(), 0, run_hash("another")) == [Record(0, None), Record(1, None)]
    assert records_of(pulled(), 1, run_hash(RUN)) == [Record(0, None), Record(1, None)]


@pytest.mark.parametrize("offset", [0x8 + 0xF5 + 8, 0x8 + 0xF5 + 100])  # the stored CRC, the body
def test_damage_that_the_broker_did_not_notice(offset):
    data = bytearray(PULLED)
    data[offset] ^= 1
    (answer,) = FrameBuffer().feed(bytes(data))
    assert not next(decode_messages(answer.body)).intact
    assert records_of(answer, 0, run_hash(RUN)) == [Record(0, None), Record(1, Value(5, 1))]


@pytest.mark.parametrize("cut", [1, 7, 100, 0x101, 0x103])
def test_a_cut_off_message_is_refused_whole(cut):
    with pytest.raises(ProtocolError):
        list(decode_messages(pulled().body[:-cut]))


def test_an_unknown_magic_number_is_refused():
    body = bytearray(pulled().body)
    body[7] ^= 0xFF
    with pytest.raises(ProtocolError, match="magic"):
        list(decode_messages(bytes(body)))


def test_lengths_that_do_not_add_up_are_refused():
    body = bytearray(pulled().body)
    body[3] ^= 1
    with pytest.raises(ProtocolError, match="add up"):
        list(decode_messages(bytes(body)))


def test_the_crc_zero_means_not_computed():
    body = bytearray(pulled().body)
    body[8:12] = bytes(4)
    assert next(decode_messages(bytes(body))).intact


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x7f\xff\xff\xff\x00\x00\x00\x02{}", "impossible length"),
        (b"\x00\x00\x00\x01\x00\x00\x00\x02{}", "impossible length"),
        (b"\x00\x00\x00\x06\x01\x00\x00\x02{}", "not JSON"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x09{}", "longer"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x02{]", "does not parse"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x02{}", "does not parse"),
    ],
)
def test_bytes_that_are_no_frame(data, what):
    with pytest.raises(ProtocolError, match=what):
        FrameBuffer().feed(data)


def test_a_question_of_the_server_is_no_response():
    asked = encode_answer(Answer(40, 3, False, "", {}, b""))
    assert [answer.response for answer in FrameBuffer().feed(asked)] == [False]


def test_properties_without_a_separator_are_left_out():
    data = encode_properties({"a": "1"}) + "torn\x02"
    assert data == "a\x011\x02torn\x02"


def test_codes_are_the_brokers():
    assert [Code.SYSTEM_BUSY, Code.FLUSH_SLAVE_TIMEOUT, Code.PULL_OFFSET_MOVED] == [2, 12, 21]
