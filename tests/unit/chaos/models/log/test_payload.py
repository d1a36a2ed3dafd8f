"""Message bodies: what is ours, whole, and of this run and queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.basics.rand import run_hash
from chaos.core.errors import UsageError
from chaos.models.log.payload import MIN_BYTES, decode, encode
from chaos.models.log.words import Value

RUN = run_hash("20261121T071500Z-7f3a")


@given(
    writer=st.integers(0, 2**32 - 1),
    sequence=st.integers(0, 2**64 - 1),
    key=st.integers(0, 2**31 - 1),
    size=st.integers(0, 5000),
)
def test_round_trip(writer, sequence, key, size):
    body = encode(Value(writer, sequence), key, RUN, size)
    assert len(body) == max(size, MIN_BYTES)
    assert decode(body, key, RUN) == Value(writer, sequence)


@given(position=st.integers(0, 99), bit=st.integers(0, 7))
def test_every_flipped_bit_is_damage(position, bit):
    body = bytearray(encode(Value(3, 4), 1, RUN, 100))
    body[position] ^= 1 << bit
    assert decode(bytes(body), 1, RUN) is None


def test_cut_off_and_prolonged_bodies_are_damage():
    body = encode(Value(3, 4), 1, RUN, 100)
    assert [decode(body[:length], 1, RUN) for length in range(100)] == [None] * 100
    assert decode(body + b".", 1, RUN) is None


def test_another_queue_or_run_is_foreign():
    body = encode(Value(3, 4), 1, RUN)
    assert decode(body, 2, RUN) is None
    assert decode(body, 1, run_hash("another")) is None


def test_the_format_is_fixed():
    assert encode(Value(1, 2), 3, 4, 40).hex() == (
        "43485331a53f0ef2000000000000000400000003000000010000000000000002" + "2e" * 8
    )


def test_a_value_that_does_not_fit():
    with pytest.raises(UsageError, match="does not fit"):
        encode(Value(-1, 0), 0, RUN)
