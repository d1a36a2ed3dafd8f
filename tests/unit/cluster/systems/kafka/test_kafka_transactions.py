"""What a transaction of one message asks for, by what was decided, and what becomes of it when something goes wrong."""

import asyncio

import msgspec
import pytest
from kafka_broker import (
    ADD,
    COORDINATOR,
    END,
    FETCH,
    INIT,
    METADATA,
    OFFSETS,
    PRODUCE,
    FakeBroker,
    committed,
    coordinator,
    ended,
    metadata,
    offset,
    producer,
    pulled,
    stored,
)
from system_view import view_of

from chaos.basics.rand import run_hash
from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Transact
from chaos.models.log.transaction import Decision
from chaos.models.log.words import F, Value
from cluster.systems.kafka.client import KafkaClient
from cluster.systems.kafka.records import Producer, batch
from cluster.systems.kafka.system import Kafka

VIEW = view_of(Kafka(), client__isolation="read_committed")
BEGIN = [COORDINATOR, INIT, ADD]
GOOD = {
    COORDINATOR: coordinator(1),
    INIT: producer(41, 2),
    ADD: committed(),
    PRODUCE: stored(),
    END: ended(),
}


def transact(decision):
    argument = Transact(value=Value(1, 5), decision=decision)
    return Invocation(process=17, client=0, f=F.TRANSACT, key=3, deadline_ns=0, argument=argument)


def run(ops, answers, within_s=5.0):
    """What each operation raised, the requests other than for the route, and whether each end was a commit."""

    async def scenario():
        ends = []

        def answer(api, reader):
            if api == METADATA:
                return metadata(dict.fromkeys(range(4), (1, 4, (1, 2, 3), (1, 2, 3))))
            if api == END:
                assert (reader.text(), reader.int64(), reader.int16()) == (f"{VIEW.mark}-0-1", 41, 2)
                ends.append(reader.flag())
            said = answers.get(api)
            return said.pop(0) if isinstance(said, list) else said

        async with FakeBroker(answer) as broker:
            client = KafkaClient(VIEW, 0, 8, seed=1)
            client._links = dict.fromkeys(client._links, broker.link)
            client._route._source.brokers = {"b1": broker.link}
            out = []
            for one in ops:
                try:
                    deadline_ns = now_ns() + int(within_s * NS_PER_S)
                    await client.invoke(msgspec.structs.replace(one, deadline_ns=deadline_ns), Received())
                    out.append(None)
                except (Definite, Indefinite) as error:
                    out.append((type(error), str(error)))
            await client.close()
            return out, [api for api in broker.asked if api != METADATA], ends

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("decision", "behind", "ends"),
    [
        (Decision.COMMIT, [END], [True]),
        (Decision.COMMIT_WHEN_ASKED, [END], [True]),
        (Decision.ROLLBACK, [END], [False]),
        (Decision.NEVER, [], []),
    ],
)
def test_a_transaction_ends_as_was_decided(decision, behind, ends):
    assert run([transact(decision)], GOOD) == ([None], [*BEGIN, PRODUCE, *behind], ends)


def test_a_name_is_used_again_behind_a_good_end_and_its_messages_are_numbered():
    out, asked, _ = run([transact(Decision.COMMIT), transact(Decision.ROLLBACK)], GOOD)
    assert (out, asked) == ([None, None], [*BEGIN, PRODUCE, END, ADD, PRODUCE, END])
    _, asked, _ = run([transact(Decision.NEVER), transact(Decision.COMMIT)], GOOD)
    assert asked == [*BEGIN, PRODUCE, *BEGIN, PRODUCE, END], "what is left open is not used again"


@pytest.mark.parametrize("code", [47, 90])
def test_whoever_was_taken_over_may_not_commit(code):
    out, asked, ends = run([transact(Decision.ROLLBACK_WHEN_ASKED)], {**GOOD, END: ended(code)})
    assert (out, asked, ends) == ([None], [*BEGIN, PRODUCE, INIT, END], [True])


def test_a_name_is_taken_over_once_what_was_open_is_aborted():
    numbers = [producer(41, 2), producer(-1, -1, error=51), producer(-1, -1, error=51), producer(41, 4)]
    out, asked, _ = run([transact(Decision.ROLLBACK_WHEN_ASKED)], {**GOOD, INIT: numbers, END: ended(90)})
    assert (out, asked) == ([None], [*BEGIN, PRODUCE, INIT, INIT, INIT, END])
    for last in (producer(-1, -1, error=16), b""):
        out, asked, _ = run([transact(Decision.ROLLBACK_WHEN_ASKED)], {**GOOD, INIT: [producer(41, 2), last]})
        assert out[0][0] is Indefinite
        assert END not in asked, "it may not be taken over, so its commit would be a commit"


def test_a_commit_of_one_that_was_taken_over_leaves_it_in_doubt():
    ((found,), _, _) = run([transact(Decision.ROLLBACK_WHEN_ASKED)], GOOD)
    assert found == (Indefinite, "sent, and then: a producer whose name was taken over has committed")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({COORDINATOR: coordinator(-1, error=15)}, "no transaction: COORDINATOR_NOT_AVAILABLE"),
        ({INIT: producer(-1, -1, error=51)}, "no transaction: CONCURRENT_TRANSACTIONS"),
        ({INIT: b""}, "no transaction: malformed answer: an answer that ends too soon"),
        ({ADD: committed(51)}, "no transaction: CONCURRENT_TRANSACTIONS"),
        ({ADD: None}, "no transaction: no answer before the deadline"),
    ],
)
def test_before_the_message_is_sent_all_that_goes_wrong_is_certain(answers, said):
    out, asked, _ = run([transact(Decision.COMMIT)], {**GOOD, **answers}, within_s=2)
    assert out == [(Definite, said)]
    assert PRODUCE not in asked


def test_a_message_that_was_refused_ends_its_transaction():
    refused = {**GOOD, PRODUCE: stored(6, -1)}
    out, asked, ends = run([transact(Decision.COMMIT)], refused)
    assert (out, asked, ends) == ([(Definite, "NOT_LEADER_OR_FOLLOWER")], [*BEGIN, PRODUCE, END], [False])


@pytest.mark.parametrize("decision", [Decision.COMMIT, Decision.ROLLBACK, Decision.COMMIT_WHEN_ASKED])
def test_an_end_that_is_not_acknowledged_leaves_it_in_doubt(decision):
    ((found,), _, _) = run([transact(decision)], {**GOOD, END: ended(16)})
    assert found == (Indefinite, "sent, and then: NOT_COORDINATOR")
    ((found,), asked, _) = run([transact(decision)], {**GOOD, END: None}, within_s=2)
    assert (found, asked.count(END)) == ((Indefinite, "sent, and then: no answer before the deadline"), 1)


def test_readers_ask_for_what_is_committed_and_are_shown_it_up_to_an_open_transaction():
    async def scenario():
        run_number = run_hash(VIEW.run_id)

        def message(place, sequence, sender):
            body = payload.encode(Value(1, sequence), 3, run_number)
            return place.to_bytes(8, "big") + batch(body, 1, sender)[8:]

        def answer(api, reader):
            if api == METADATA:
                return metadata(dict.fromkeys(range(4), (1, 4, (1,), (1,))))
            if api == OFFSETS:
                assert (reader.int32(), reader.int8()) == (-1, 1)
                return offset(2)
            reader.take(16)
            assert reader.int8() == 1
            sender = Producer(9, 1, 0, transactional=True)
            data = message(0, 5, sender) + message(1, 6, Producer())
            return pulled(data, high=7, stable=2, aborted=((9, 0),))

        async with FakeBroker(answer) as broker:
            client = KafkaClient(VIEW, -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, broker.link)
            client._route._source.brokers = {"b1": broker.link}
            received = Received()
            drain = Invocation(process=1, client=0, f=F.DRAIN, key=3, deadline_ns=now_ns() + 5 * NS_PER_S)
            answers = [2, 0]

            def first_and_last(api, reader):
                return offset(answers.pop(0)) if api == OFFSETS else answer(api, reader)

            broker.answer = first_and_last
            await client.invoke(drain, received)
            await client.close()
            return received.result, broker.asked.count(FETCH)

    result, fetches = asyncio.run(scenario())
    assert [(record.offset, record.value.sequence) for record in result.records] == [(1, 6)]
    assert (result.next_offset, result.max_offset, fetches) == (2, 2, 1)
