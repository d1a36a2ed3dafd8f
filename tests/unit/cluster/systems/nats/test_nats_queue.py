"""What a client asks of a work queue, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from nats_server import NOBODY, Delivery, FakeNats, Status, refused, stored
from scripted import raised_and_given
from system_view import view_of
from test_nats_client import Fixed

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.queues.total_queue import MODEL, STRANGE, F, Message, Taken
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems.nats import streams
from cluster.systems.nats.jetstream import delivery_of
from cluster.systems.nats.queue import QueueClient
from cluster.systems.nats.system import Nats

WORK = {streams.KIND: streams.WORK}
STREAM = f"{view_of(Nats()).mark}-q3"
NEXT = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.takers"
PULL = (NEXT, b'{"batch":1,"expires":500000000}', {})
ACK = f"$JS.ACK.{STREAM}.takers.1.5.5.1700000000000000000.0"
AGAIN = ACK.replace("takers.1", "takers.2")
GIVEN = Delivery(STREAM, b"41", ACK)
EMPTY, CONFIRMED = Status(" 408 Request Timeout"), Status("")


def op(f, argument=None):
    return Invocation(process=17, client=0, f=f, key=3, deadline_ns=0, argument=argument)


ENQUEUE, DEQUEUE = op(F.ENQUEUE, Message(value=41)), op(F.DEQUEUE)


def run(one, answers, **more):
    """What an operation raised and was given, and the requests. ``answers``: by how a subject begins."""

    def answer(subject, *_):
        return next(said for begin, said in answers.items() if subject.startswith(begin))

    async def scenario():
        async with FakeNats(answer) as server:
            view = view_of(Nats(), cluster__streams=streams.WORK)
            client = QueueClient(view, -1, 8, seed=1)
            client._links = {node.name: server.link for node in view.nodes}
            client._route._source = Fixed()
            out, received = await raised_and_given(client, one, **more)
            await client.close()
            return out, received.result, server.asked

    return asyncio.run(scenario())


def test_a_message_is_published():
    assert run(ENQUEUE, {STREAM: stored(9)}) == (None, None, [(STREAM, b"41", {})])


@pytest.mark.parametrize(
    ("answer", "kind"), [(NOBODY, Definite), (refused(10077, "no", 503), Indefinite), (StopIteration, Indefinite)]
)
def test_a_message_that_was_not_stored(answer, kind):
    out, given, asked = run(ENQUEUE, {STREAM: answer})
    assert (out[0], given, len(asked)) == (kind, None, 1)


@pytest.mark.parametrize(
    ("delivery", "taken"),
    [
        (GIVEN, Taken(41)),
        (GIVEN._replace(reply=AGAIN), Taken(41, again=True)),
        (GIVEN._replace(body=b"none of ours"), Taken(STRANGE)),
    ],
)
def test_a_message_is_pulled_and_acknowledged(delivery, taken):
    answers = {NEXT: delivery, "$JS.ACK": CONFIRMED}
    assert run(DEQUEUE, answers) == (None, taken, [PULL, (delivery.reply, b"+ACK", {})])


def test_a_pull_is_over_before_its_operation():
    *_, ((_, body, _),) = run(DEQUEUE, {NEXT: EMPTY}, timeout_ns=600_000_000)
    assert 100_000_000 < msgspec.json.decode(body)["expires"] <= 300_000_000


def test_an_empty_queue_says_so():
    assert run(DEQUEUE, {NEXT: EMPTY}) == (None, Taken(), [PULL])


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (NOBODY, Definite),
        (Status(" 409 Leadership Change"), Definite),
        (Status(" 404 No Messages"), Definite),
        (GIVEN._replace(reply="x"), Indefinite),
        (StopIteration, Indefinite),
    ],
)
def test_who_was_given_no_message_acknowledges_none(answer, kind):
    out, given, asked = run(DEQUEUE, {NEXT: answer})
    assert (out[0], given, asked) == (kind, None, [PULL])


def test_a_pull_that_is_not_answered_is_in_doubt():
    assert run(DEQUEUE, {NEXT: None}, timeout_ns=300_000_000)[:2] == ((Indefinite, NO_ANSWER), None)


@pytest.mark.parametrize(("answer", "kind"), [(NOBODY, Definite), (StopIteration, Indefinite)])
def test_what_was_given_counts_whatever_becomes_of_its_acknowledgement(answer, kind):
    out, given, asked = run(DEQUEUE, {NEXT: GIVEN, "$JS.ACK": answer})
    assert (out[0], given, len(asked)) == (kind, Taken(41), 2)


@pytest.mark.parametrize(
    ("reply", "delivery"),
    [
        (ACK, 1),
        (AGAIN, 2),
        ("$JS.ACK.domain.account.stream.takers.3.5.5.17.0.x", 3),
        ("$JS.ACK.short", None),
        ("", None),
        (ACK.replace("takers.1", "takers.x"), None),
    ],
)
def test_how_often_a_message_was_given(reply, delivery):
    assert delivery_of(reply) == delivery


def test_workloads_of_queues_get_work_queues():
    system = Nats()
    assert system.settings_for(frozenset(F)) == WORK
    assert system.operations(MODEL, WORK) == frozenset(F)
    assert system.operations(MODEL, {}) == frozenset()
    assert system.operations("log", WORK) == frozenset()
    settings = system.resolve(WORK)
    assert [one.name for one in system.subjects(settings, 2)] == ["q0", "q1"]
    made = streams.config("m", 1, settings)
    assert (made["name"], made["subjects"], made["retention"]) == ("m-q1", ["m-q1"], "workqueue")
    assert streams.consumer_config("m-q1")["config"]["ack_wait"] == 5_000_000_000
    promised = system.promises(settings)
    assert (promised.allowed, promised.redelivered_within_s) == ({}, 10.0)
