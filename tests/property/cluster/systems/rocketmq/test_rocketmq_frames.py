"""Round trips of frames and messages, however the network slices them."""

from hypothesis import given
from hypothesis import strategies as st
from rocketmq_wire import encode_answer, encode_messages

from cluster.systems.rocketmq.protocol import (
    Answer,
    FrameBuffer,
    Message,
    ProtocolError,
    decode_messages,
    decode_properties,
    encode_properties,
)

texts = st.text(max_size=30)
answers = st.builds(
    Answer,
    code=st.integers(0, 60000),
    opaque=st.integers(0, 2**31 - 1),
    response=st.booleans(),
    remark=texts,
    fields=st.dictionaries(texts, texts, max_size=4),
    body=st.binary(max_size=300),
)
words = st.text(st.characters(blacklist_characters="\x01\x02", blacklist_categories=["Cs"]), max_size=12)
messages = st.builds(
    Message,
    topic=words,
    queue=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**62),
    position=st.integers(0, 2**62),
    body=st.binary(max_size=200),
    intact=st.booleans(),
    properties=st.dictionaries(words, words, max_size=4),
    reconsumed=st.integers(0, 2**31 - 1),
)


@given(st.lists(answers, max_size=4), st.lists(st.integers(1, 200), max_size=40))
def test_frames_survive_any_slicing(sent, cuts):
    data = b"".join(map(encode_answer, sent))
    buffer, received, position = FrameBuffer(), [], 0
    for cut in [*cuts, len(data)]:
        received += buffer.feed(data[position : position + cut])
        position += cut
    assert received == sent


@given(st.lists(messages, max_size=4))
def test_messages_round_trip(stored):
    assert list(decode_messages(encode_messages(stored))) == stored


@given(st.lists(messages, min_size=1, max_size=3), st.data())
def test_a_changed_byte_is_noticed_or_changes_no_message_silently(stored, data):
    """Whatever one byte becomes, decoding ends in messages or in ProtocolError, never in anything else."""
    encoded = bytearray(encode_messages(stored))
    position = data.draw(st.integers(0, len(encoded) - 1))
    encoded[position] = data.draw(st.integers(0, 255))
    try:
        found = list(decode_messages(bytes(encoded)))
    except ProtocolError:
        return
    for before, after in zip(stored, found, strict=False):
        assert after.body == before.body or not after.intact or not before.intact


@given(st.dictionaries(words, words, max_size=6))
def test_properties_round_trip(properties):
    assert decode_properties(encode_properties(properties)) == properties
