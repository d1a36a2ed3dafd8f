"""What a client asks for each operation, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from kafka_broker import (
    FETCH,
    INIT,
    METADATA,
    OFFSETS,
    PRODUCE,
    FakeBroker,
    metadata,
    offset,
    producer,
    pulled,
    stored,
)
from kafka_client_run import COPY, DRAIN, POLL, READ, RUN, SEND, VALUE, VIEW, at, op, run
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record, Value
from cluster.systems.kafka.client import KafkaClient
from cluster.systems.kafka.records import batches
from cluster.systems.kafka.system import Kafka


def test_a_send_is_one_request_and_its_answer_names_the_offset():
    seen = []

    def answer(reader):
        assert (reader.maybe_text(), reader.int16()) == (None, -1), "all replicas in sync"
        assert 0 < reader.int32() <= 5000
        ((topic, ((key, data),)),) = reader.array(
            lambda: (reader.text(), reader.array(lambda: (reader.int32(), reader.blob())))
        )
        seen.append((topic, key, payload.decode(batches(data, 0).records[0].body, key, RUN)))
        return stored()

    assert run([SEND], {PRODUCE: answer}) == ([("b1", Placed(7))], [PRODUCE])
    assert seen == [(VIEW.mark, 3, VALUE)]


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (stored(6, -1), (Definite, "NOT_LEADER_OR_FOLLOWER")),
        (stored(6, 7), (Indefinite, "NOT_LEADER_OR_FOLLOWER")),
        (stored(19, -1), (Definite, "NOT_ENOUGH_REPLICAS")),
        (stored(7, 7), (Indefinite, "REQUEST_TIMED_OUT")),
        (stored(0, -1), (Indefinite, "acknowledged without an offset")),
        (b"\0\0", (Indefinite, "malformed answer: an answer that ends too soon")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_what_a_broker_says_to_a_send(answer, out):
    assert run([SEND], {PRODUCE: answer}) == ([out], [PRODUCE]), "and nothing is sent again"


def test_a_send_that_waits_for_nobody_has_no_answer():
    async def scenario():
        def answer(api, reader):
            if api == METADATA:
                return metadata(dict.fromkeys(range(4), (1, 4, (1,), (1,))))
            assert (reader.maybe_text(), reader.int16()) == (None, 0)
            return None

        async with FakeBroker(answer) as broker:
            client = KafkaClient(view_of(Kafka(), client__acks="0"), -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, broker.link)
            client._route._source.brokers = {"b1": broker.link}
            received = Received()
            await client.invoke(msgspec.structs.replace(SEND, deadline_ns=now_ns() + 5 * NS_PER_S), received)
            async with asyncio.timeout(10):
                while PRODUCE not in broker.asked:
                    broker.arrived.clear()
                    await broker.arrived.wait()
            await client.close()
            return received.node, received.result, broker.asked.count(PRODUCE)

    assert asyncio.run(scenario()) == ("b1", None, 1)


def test_a_poll_is_one_request():
    def answer(reader):
        assert reader.take(4) == b"\xff\xff\xff\xff"
        assert reader.int32() == 250
        return pulled(at(3) + at(4) + at(6, Value(2, 1)), high=9)

    given = Given([Record(4, VALUE), Record(6, Value(2, 1))], 7, 0, 9)
    poll = op(F.POLL, ReadFrom(offset=4, wait_ms=250))
    assert run([poll], {FETCH: answer}) == ([("b1", given)], [FETCH])
    assert run([POLL], {FETCH: pulled()})[0] == [("b1", Given([], 4, 0, 10))], "nothing new"
    assert run([POLL], {FETCH: pulled(error=1)})[0] == [(Definite, "OFFSET_OUT_OF_RANGE")]


def test_a_message_that_is_not_ours_is_none():
    given = run([POLL], {FETCH: pulled(at(4, key=2) + at(5))})[0][0][1]
    assert given.records == [Record(4, None), Record(5, VALUE)]


def fetches(*pages):
    """Answers to fetches one after the other; each must name the epoch."""
    left = list(pages)

    def answer(reader):
        reader.take(4 * 4 + 1 + 8 + 4)
        reader.text()
        reader.take(4 + 4)
        epochs.append(reader.int32())
        return left.pop(0)

    epochs = []
    answer.epochs = epochs
    return answer


def test_a_strong_read_goes_on_to_the_last_offset_in_one_epoch():
    pages = fetches(pulled(at(4), high=5), pulled(at(5), high=8))
    out, asked = run([READ], {OFFSETS: offset(6), FETCH: pages})
    assert out == [("b1", Given([Record(4, VALUE), Record(5, VALUE)], 6, 0, 6))]
    assert asked == [OFFSETS, FETCH, FETCH]
    assert pages.epochs == [4, 4], "of the leader that named the last offset"


def test_a_drain_begins_at_the_first_offset():
    out, asked = run([DRAIN], {OFFSETS: offset(6), FETCH: pulled(at(6), high=7)})
    assert out == [("b1", Given([], 6, 6, 6))], "all was removed"
    assert asked == [OFFSETS, OFFSETS]


@pytest.mark.parametrize(
    ("answers", "out"),
    [
        ({OFFSETS: offset(6, error=6)}, (Definite, "NOT_LEADER_OR_FOLLOWER")),
        ({OFFSETS: offset(6, error=78)}, (Definite, "OFFSET_NOT_AVAILABLE")),
        ({OFFSETS: offset(6), FETCH: pulled(error=74)}, (Definite, "FENCED_LEADER_EPOCH")),
        ({OFFSETS: offset(6), FETCH: pulled()}, (Definite, "read stopped below the last offset, at 4 of 6")),
        ({OFFSETS: offset(6, key=2)}, (Definite, "malformed answer: offsets of another partition")),
        ({OFFSETS: StopIteration}, (Indefinite, "closed")),
    ],
)
def test_a_strong_read_that_was_refused_or_cut_off(answers, out):
    assert run([READ], answers)[0] == [out]


def test_what_was_read_before_a_strong_read_failed_is_kept():
    async def scenario():
        def answer(api, _):
            if api == METADATA:
                return metadata(dict.fromkeys(range(4), (1, 4, (1,), (1,))))
            return offset(6) if api == OFFSETS else pages.pop(0)

        pages = [pulled(at(4)), pulled(error=6)]
        async with FakeBroker(answer) as broker:
            client = KafkaClient(VIEW, -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, broker.link)
            client._route._source.brokers = {"b1": broker.link}
            received = Received()
            with pytest.raises(Definite, match="NOT_LEADER"):
                await client.invoke(msgspec.structs.replace(READ, deadline_ns=now_ns() + 5 * NS_PER_S), received)
            await client.close()
            return received.result.records

    assert asyncio.run(scenario()) == [Record(4, VALUE)]


def test_a_copy_is_read_to_what_its_replica_knows_to_be_replicated():
    who = []

    def first(reader):
        who.append(reader.int32())
        return offset(4)

    pages = fetches(pulled(at(4), high=6), pulled(at(5), high=6))
    out, asked = run([COPY], {OFFSETS: first, FETCH: pages})
    assert out == [("b2", Given([Record(4, VALUE), Record(5, VALUE)], 6, 4, 6))]
    assert (who, asked, pages.epochs) == ([-2], [OFFSETS, FETCH, FETCH], [-1, -1])


@pytest.mark.parametrize("one", [SEND, POLL, READ, DRAIN, COPY], ids=lambda one: one.f.word)
def test_what_stays_unanswered_ends_at_its_deadline_after_one_attempt(one):
    ((kind, said),), asked = run([one], {}, within_s=2)
    assert (kind, said, len(asked)) == (Indefinite, "no answer before the deadline", 1)


def test_sends_do_not_wait_behind_polls():
    async def scenario():
        def answer(api, _):
            if api == METADATA:
                return metadata(dict.fromkeys(range(4), (1, 4, (1,), (1,))))
            return stored() if api == PRODUCE else None

        async with FakeBroker(answer) as broker:
            client = KafkaClient(VIEW, -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, broker.link)
            client._route._source.brokers = {"b1": broker.link}
            deadline_ns = now_ns() + 5 * NS_PER_S
            poll = asyncio.create_task(
                client.invoke(msgspec.structs.replace(POLL, deadline_ns=deadline_ns), Received())
            )
            received = Received()
            await client.invoke(msgspec.structs.replace(SEND, deadline_ns=deadline_ns), received)
            poll.cancel()
            await asyncio.gather(poll, return_exceptions=True)
            ways = {use for use, _ in broker.link._ways}
            await client.close()
            return received.result, ways

    assert asyncio.run(scenario()) == (Placed(7), {"route", "read", "send"})


def test_pinned_clients_stay_on_one_replica_of_each_partition():
    clients = [KafkaClient(VIEW, number, 8, seed=1) for number in (4, 5, 6, 7)]
    assert [client._pinned for client in clients] == [
        [None] * 4,
        ["b1", "b2", "b3", "b1"],
        ["b2", "b3", "b1", "b2"],
        ["b3", "b1", "b2", "b3"],
    ]


def numbered(name, sequence):
    return op(F.SEND, Send(value=VALUE, producer=name, producer_sequence=sequence))


def sent_under(reader):
    """The producer's number, epoch and first sequence number in a request to send."""
    reader.maybe_text()
    reader.take(2 + 4 + 4)
    reader.text()
    reader.take(4 + 4)
    data = reader.blob()
    return tuple(int.from_bytes(data[start:end], "big") for start, end in ((43, 51), (51, 53), (53, 57)))


def test_a_producer_gets_a_number_once_and_every_attempt_has_that_of_its_message():
    seen, numbers = [], iter([41, 42])

    def answer(reader):
        seen.append(sent_under(reader))
        return stored()

    ops = [numbered("a", 0), numbered("a", 0), numbered("a", 1), numbered("b", 0)]
    out, asked = run(ops, {INIT: lambda _: producer(next(numbers), 2), PRODUCE: answer})
    assert out == [("b1", Placed(7))] * 4
    assert seen == [(41, 2, 0), (41, 2, 0), (41, 2, 1), (42, 2, 0)]
    assert asked == [INIT, PRODUCE, PRODUCE, PRODUCE, INIT, PRODUCE]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (producer(-1, -1, error=14), "no number for the producer: COORDINATOR_LOAD_IN_PROGRESS"),
        (b"", "no number for the producer: an answer that ends too soon"),
        (None, "no number for the producer: no answer before the deadline"),
    ],
)
def test_without_a_number_nothing_is_sent(answer, said):
    assert run([numbered("a", 0)], {INIT: answer}, within_s=2) == ([(Definite, said)], [INIT])
