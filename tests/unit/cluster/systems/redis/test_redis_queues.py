"""What a client sends to enqueue a message, to take one and to acknowledge it, and what it makes of the answers."""

import pytest
from test_redis_client import MARK, READONLY, by, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.queues.total_queue import STRANGE, F, Message, Taken
from cluster.systems.redis.queues import AGAIN_MS, NOT_OUT, TAKE_OF_LIST, TAKE_OF_STREAM

KEY = f"{MARK}/queues/3"
ENQUEUE, DEQUEUE = op(F.ENQUEUE, Message(value=41)), op(F.DEQUEUE)
AGAIN = str(AGAIN_MS)
TAKES = {
    "list": ("EVAL", TAKE_OF_LIST, "3", KEY, f"{KEY}/taken", f"{KEY}/empty", AGAIN),
    "stream": ("EVAL", TAKE_OF_STREAM, "2", KEY, f"{KEY}/empty", AGAIN, "all", "c17"),
}
ACKS = {"list": ("ZREM", f"{KEY}/taken", "7-1"), "stream": ("XACK", KEY, "all", "7-1")}
KINDS = pytest.mark.parametrize("kind", TAKES)


@pytest.mark.parametrize(
    ("kind", "command"), [("list", ("RPUSH", KEY, "41")), ("stream", ("XADD", KEY, "*", "value", "41"))]
)
def test_a_message_is_added_by_one_command(kind, command):
    assert run(ENQUEUE, by(), client__queue=kind) == (None, None, [[command]])


@pytest.mark.parametrize(
    ("answer", "kind"), [(READONLY, Definite), (StopIteration, Indefinite), (ValueError("ERR x"), Indefinite)]
)
def test_a_message_that_was_not_added_or_perhaps(answer, kind):
    assert run(ENQUEUE, lambda _: answer)[0][0] is kind


def test_a_message_that_too_few_replicas_have_is_in_doubt():
    assert run(ENQUEUE, by(WAIT=1), client__wait="2")[0] == (Indefinite, "1 of 2 replicas have confirmed it")


@KINDS
@pytest.mark.parametrize(
    ("reply", "taken"),
    [
        (["7-1", "41", 0], Taken(41)),
        (["7-1", "41", 1], Taken(41, again=True)),
        (["7-1", "none of ours", 0], Taken(STRANGE)),
    ],
)
def test_a_message_is_taken_and_acknowledged(kind, reply, taken):
    out, given, asked = run(DEQUEUE, by(EVAL=reply, ZREM=1, XACK=1), client__queue=kind)
    assert (out, given, asked) == (None, taken, [[TAKES[kind]], [ACKS[kind]]])


@KINDS
def test_an_empty_queue_says_so(kind):
    assert run(DEQUEUE, by(EVAL=[]), client__queue=kind) == (None, Taken(), [[TAKES[kind]]])


def test_an_empty_queue_counts_once_replicas_have_confirmed_it():
    assert run(DEQUEUE, by(EVAL=[], WAIT=2), client__wait="2")[:2] == (None, Taken())
    out, given, _ = run(DEQUEUE, by(EVAL=[], WAIT=1), client__wait="2")
    assert (out, given) == ((Definite, "1 of 2 replicas have confirmed it"), None)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(READONLY, Definite), (StopIteration, Indefinite), ("x", Indefinite), (["7-1", "41"], Indefinite)],
    ids=["replica", "closed", "malformed", "cut off"],
)
def test_who_was_given_nothing_acknowledges_nothing(answer, kind):
    out, given, asked = run(DEQUEUE, lambda _: answer)
    assert (out[0], given, len(asked)) == (kind, None, 1)


@KINDS
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (0, (Definite, NOT_OUT)),
        (READONLY, (Definite, str(READONLY))),
        (ValueError("ERR x"), (Indefinite, "ERR x")),
        (StopIteration, (Indefinite, "connection closed by the server")),
    ],
    ids=["gone", "replica", "error", "closed"],
)
def test_what_was_given_counts_whatever_becomes_of_its_acknowledgement(kind, answer, out):
    replies = {"EVAL": ["7-1", "41", 0], "ZREM": answer, "XACK": answer}
    said, given, _ = run(DEQUEUE, by(**replies), client__queue=kind)
    assert (said, given) == (out, Taken(41))


def test_what_too_few_replicas_know_was_given_is_not_acknowledged():
    out, given, asked = run(DEQUEUE, by(EVAL=["7-1", "41", 0], WAIT=1), client__wait="2")
    assert (out, given) == ((Indefinite, "1 of 2 replicas have confirmed it"), Taken(41))
    assert len(asked) == 1, "it comes again"
