"""What a client asks of a bucket to change and to read keys of a space, and what it makes of the answers."""

import pytest
from nats_server import held, refused, stored
from test_nats_client import GET, KEYS, NOTHING, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.kv import MODEL, NOT_TOLD, Answer, Change, Changes, F, Held, Keys
from cluster.systems.nats.system import Nats

KEY = f"{KEYS}.kv.3.5"
PUT = op(F.PUT, Changes(changes=(Change(5, 40),)))
COMPARE = op(F.COMPARE_PUT, Changes(changes=(Change(5, 40, 9),)))
DELETE = op(F.DELETE, Changes(changes=(Change(5),)))
READ = op(F.GET, Keys(first=5))
LAST = "Nats-Expected-Last-Subject-Sequence"


@pytest.mark.parametrize(
    ("one", "body", "headers", "answer"),
    [
        (PUT, b"40", {}, Answer(revision=17, effects=1)),
        (COMPARE, b"40", {LAST: "9"}, Answer(revision=17, effects=1)),
        (DELETE, b"", {"KV-Operation": "DEL"}, Answer(revision=17, effects=NOT_TOLD)),
    ],
)
def test_a_change_is_one_message_whose_number_is_its_revision(one, body, headers, answer):
    assert run(one, {KEY: stored(17)}) == (None, answer, [(KEY, body, headers)])


def test_a_comparison_that_does_not_hold_tells_nothing_of_the_key():
    out, result, _ = run(COMPARE, {KEY: refused(10071, "wrong last sequence: 12")})
    assert (out[0], result) == (Definite, None)


@pytest.mark.parametrize(
    ("message", "answer"),
    [(held(12, b"40"), Answer(held=[Held(5, 40, 12)])), (held(12, b""), Answer()), (NOTHING, Answer())],
)
def test_a_read_names_the_revision_of_its_key(message, answer):
    out, result, asked = run(READ, {GET: message})
    assert (out, result) == (None, answer)
    assert len(asked) == 1


def test_what_nobody_writes_is_no_answer():
    out, result, _ = run(READ, {GET: held(12, b"x")})
    assert (out[0], result) == (Definite, None)


@pytest.mark.parametrize("one", [PUT, COMPARE, DELETE])
def test_a_change_without_an_answer_is_in_doubt(one):
    out, result, _ = run(one, {KEY: StopIteration})
    assert (out[0], result) == (Indefinite, None)


def test_nothing_reads_several_keys_at_one_moment():
    words = Nats().operations(MODEL, {})
    assert words == {F.PUT, F.DELETE, F.GET, F.COMPARE_PUT}
