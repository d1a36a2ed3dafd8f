"""What clients get from brokers: one short story per promise."""

from minimq_stories import answer_of, answer_to, produce, ready
from minimq_world import BROKERS, TOPIC, World

from cluster.systems.minimq.protocol.broker_messages import (
    Commit,
    CommitDone,
    Committed,
    FetchCommitted,
    GetOffsets,
    GetReplica,
    Offsets,
    Poll,
    Polled,
    Produce,
    Produced,
    Read,
    Rejected,
)
from cluster.systems.minimq.protocol.messages import Answer, Indefinite

GROUP = "g"


# ---------------------------------------------------------------- the plain way


def test_a_message_is_acknowledged_read_and_survives_its_master():
    world = ready()
    assert answer_to(world, "b1", produce(b"a")) == Produced(offset=0, epoch=1)
    assert answer_to(world, "b1", produce(b"b")) == Produced(offset=1, epoch=1)
    assert answer_to(world, "b1", produce(b"c", queue=1)) == Produced(offset=0, epoch=1)
    world.crash("b1", 0)
    world.calm(60)
    master = world.controller.group.master
    assert master != "b1"
    polled = answer_to(world, master, Poll(topic=TOPIC, queue=0, offset=0, records_max=10))
    assert [(record.offset, record.body, record.epoch) for record in polled.records] == [(0, b"a", 1), (1, b"b", 1)]
    assert answer_to(world, master, produce(b"d")) == Produced(offset=2, epoch=2)
    world.check_recovers()


def test_reads_are_bounded_by_count_and_say_where_the_queue_ends():
    world = ready()
    for body in (b"a", b"b", b"c"):
        answer_to(world, "b1", produce(body))
    for request in (Poll, Read):
        answer = answer_to(world, "b1", request(topic=TOPIC, queue=0, offset=1, records_max=1))
        assert [record.body for record in answer.records] == [b"b"]
        assert answer.end == 3
    assert answer_to(world, "b1", GetOffsets(topic=TOPIC, queue=0)) == Offsets(least=0, end=3, epoch=1)
    assert answer_to(world, "b1", GetOffsets(topic=TOPIC, queue=1)) == Offsets(least=0, end=0, epoch=1)
    beyond = answer_to(world, "b1", Poll(topic=TOPIC, queue=0, offset=9, records_max=1))
    assert beyond == Polled(records=(), end=3, epoch=1)


def test_a_group_goes_on_where_it_committed_also_after_a_failover():
    world = ready()
    fetch = FetchCommitted(group=GROUP, topic=TOPIC, queue=0)
    assert answer_to(world, "b1", fetch) == Committed(offset=None, epoch=1)
    for offset in (4, 7):
        assert answer_to(world, "b1", Commit(group=GROUP, topic=TOPIC, queue=0, offset=offset)) == CommitDone(epoch=1)
    assert answer_to(world, "b1", fetch) == Committed(offset=7, epoch=1)
    world.crash("b1", 0)
    world.calm(60)
    assert answer_to(world, world.controller.group.master, fetch) == Committed(offset=7, epoch=2)
    other = FetchCommitted(group=GROUP, topic=TOPIC, queue=1)
    assert answer_to(world, world.controller.group.master, other) == Committed(offset=None, epoch=2)


def test_a_long_poll_ends_with_the_first_confirmed_record_or_when_its_time_is_over():
    world = ready()
    poll = Poll(topic=TOPIC, queue=0, offset=0, records_max=10, wait_ms=1000)
    waiting = {name: world.ask(name, poll) for name in BROKERS}
    world.calm(10)
    assert set(waiting.values()) <= set(world.open)
    world.ask("b1", produce(b"a"))
    assert set(waiting.values()) <= set(world.open), "not confirmed yet"
    world.calm(10)
    assert all([record.body for record in answer_of(world, each).records] == [b"a"] for each in waiting.values())
    late = world.ask("b2", Poll(topic=TOPIC, queue=0, offset=1, records_max=10, wait_ms=1000))
    world.calm(30)
    assert answer_of(world, late) == Polled(records=(), end=1, epoch=1)


# ---------------------------------------------------------------- refusals are definite


def test_what_is_refused_was_never_appended():
    world = ready()
    assert answer_to(world, "b2", produce(b"a")) == Rejected(reason="not-master", master="b1")
    assert answer_to(world, "b2", GetOffsets(topic=TOPIC, queue=0)) == Rejected(reason="not-master", master="b1")
    assert answer_to(world, "b1", produce(b"a", queue=2)).reason == "unknown-queue"
    assert answer_to(world, "b1", produce(b"a", queue=-1)).reason == "unknown-queue"
    assert answer_to(world, "b1", Produce(topic="?", queue=0, body=b"a")).reason == "unknown-queue"
    assert answer_to(world, "b1", produce(b"a" * (1 << 21))).reason == "too-large"
    assert answer_to(world, "b1", produce(b"a", sequence=0)).reason == "bad-request"
    assert answer_to(world, "b1", Commit(group="", topic=TOPIC, queue=0, offset=0)).reason == "bad-request"
    assert answer_to(world, "b1", Commit(group="g", topic=TOPIC, queue=0, offset=-1)).reason == "bad-request"
    assert answer_to(world, "b1", Poll(topic=TOPIC, queue=0, offset=-1, records_max=1)).reason == "bad-request"
    assert answer_to(world, "b1", Read(topic=TOPIC, queue=0, offset=-1, records_max=1)).reason == "bad-request"
    assert answer_to(world, "b1", Answer(number=1, answer=Indefinite(reason="deadline"))).reason == "bad-request"
    assert all(node.core.replica.log.end == 0 for node in world.nodes.values())


def test_a_broker_without_a_place_refuses():
    world = World()
    assert answer_to(world, "b1", produce(b"a"), rounds=0) == Rejected(reason="not-master")
    assert answer_to(world, "b1", Poll(topic=TOPIC, queue=0, offset=0, records_max=1), rounds=0).reason == "not-master"
    status = answer_to(world, "b1", GetReplica(), rounds=0)
    assert (status.role, status.epoch, status.end) == ("none", 0, 0)


def test_too_few_in_sync_refuses_before_the_append_but_reads_go_on():
    world = ready()
    assert isinstance(answer_to(world, "b1", produce(b"a")), Produced)
    world.crash("b2", 0)
    world.crash("b3", 0)
    world.calm(60)
    assert world.controller.group.sync_state_set == ("b1",)
    assert answer_to(world, "b1", produce(b"b")) == Rejected(reason="too-few-in-sync", master="b1")
    assert answer_to(world, "b1", GetOffsets(topic=TOPIC, queue=0)) == Offsets(least=0, end=1, epoch=1)
    world.restart("b2")
    world.calm(20)
    assert answer_to(world, "b1", produce(b"c")) == Produced(offset=1, epoch=1)


def test_nothing_is_confirmed_while_too_few_are_in_sync():
    world = ready()
    world.crash("b2", 0)
    world.crash("b3", 0)
    request_id = world.ask("b1", produce(b"a"))
    world.calm(100)
    assert world.controller.group.sync_state_set == ("b1",)
    assert answer_of(world, request_id) == Indefinite(reason="deadline")
    assert world.nodes["b1"].core.replica.confirmed == 0


# ---------------------------------------------------------------- idempotent producers


def test_a_repeated_message_is_answered_with_its_first_offset_by_a_later_master_too():
    world = ready()
    messages = [produce(b"%d" % n, producer="p", sequence=n) for n in range(3)]
    assert [answer_to(world, "b1", message).offset for message in messages] == [0, 1, 2]
    assert answer_to(world, "b1", messages[1]) == Produced(offset=1, epoch=1, repeated=True)
    assert answer_to(world, "b1", produce(b"9", producer="p", sequence=9)).reason == "out-of-sequence"
    assert answer_to(world, "b1", produce(b"x", queue=1, producer="p", sequence=0)).offset == 0
    world.crash("b1", 0)
    world.calm(60)
    master = world.controller.group.master
    assert answer_to(world, master, messages[2]) == Produced(offset=2, epoch=1, repeated=True)
    assert answer_to(world, master, produce(b"3", producer="p", sequence=3)).offset == 3


def test_a_repeated_message_is_acknowledged_no_sooner_than_the_first():
    world = ready()
    first = world.ask("b1", produce(b"a", producer="p", sequence=0))
    again = world.ask("b1", produce(b"a", producer="p", sequence=0))
    assert answer_of(world, again) is None
    world.calm(4)
    assert answer_of(world, first) == Produced(offset=0, epoch=1)
    assert answer_of(world, again) == Produced(offset=0, epoch=1, repeated=True)
