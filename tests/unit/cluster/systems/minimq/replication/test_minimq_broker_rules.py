"""The decisions of a broker, row by row."""

import pytest

from cluster.systems.minimq.consensus.controller_rules import is_alive
from cluster.systems.minimq.protocol.broker_messages import Divergence, Poll, Read
from cluster.systems.minimq.protocol.io import Send
from cluster.systems.minimq.protocol.messages import Accepted, Answer, GetMetadata, Metadata, Refused
from cluster.systems.minimq.replication import broker_rules as rules
from cluster.systems.minimq.replication.controller_link import ControllerLink
from cluster.systems.minimq.replication.waits import Acknowledgements
from cluster.systems.minimq.storage.commit_log import QueueKey, commit_record, data_record, is_intact

EPOCHS = [(1, 0), (3, 10), (6, 20)]
END = 25


@pytest.mark.parametrize(
    ("epoch", "end", "where"),
    [
        (0, 0, None),
        (1, 4, None),
        (1, 10, None),
        (1, 11, Divergence(epoch=1, end=10)),
        (2, 5, Divergence(epoch=1, end=10)),
        (3, 20, None),
        (3, 21, Divergence(epoch=3, end=20)),
        (5, 15, Divergence(epoch=3, end=20)),
        (6, 25, None),
        (6, 26, Divergence(epoch=6, end=25)),
        (9, 3, Divergence(epoch=6, end=25)),
    ],
)
def test_where_logs_part(epoch, end, where):
    assert rules.truncation_point(EPOCHS, END, epoch, end) == where


@pytest.mark.parametrize(
    ("epochs", "end", "divergence", "cut"),
    [
        ([(1, 0)], 14, Divergence(epoch=1, end=10), 10),
        ([(1, 0), (2, 5)], 8, Divergence(epoch=1, end=10), 5),
        ([(1, 0), (2, 5)], 30, Divergence(epoch=1, end=3), 3),
        ([(4, 0)], 8, Divergence(epoch=3, end=20), 0),
        ([(4, 0)], 8, Divergence(epoch=0, end=0), 0),
    ],
)
def test_where_a_follower_cuts(epochs, end, divergence, cut):
    assert rules.truncated_end(epochs, end, divergence) == cut


def test_against_an_empty_log_everything_parts():
    assert rules.truncation_point([], 0, 2, 3) == Divergence(epoch=0, end=0)
    assert rules.truncation_point([], 0, 0, 0) is None


def test_confirmed_is_the_least_that_every_counted_member_holds_and_never_steps_back():
    held = {"b1": 9, "b2": 5, "b3": 1}
    assert rules.confirmed_by(held, {"b1", "b2"}, 0) == 5
    assert rules.confirmed_by(held, {"b1", "b2", "b3"}, 0) == 1
    assert rules.confirmed_by(held, {"b1", "b2", "b3"}, 4) == 4
    assert rules.confirmed_by(held, {"b1", "b4"}, 2) == 2
    assert rules.confirmed_by(held, set(), 2) == 2


def test_who_counts():
    assert rules.counted_members(["b1", "b2"], []) == {"b1", "b2"}
    assert rules.counted_members(["b1", "b2"], ["b1"]) == {"b1", "b2"}
    assert rules.counted_members(["b1"], ["b1", "b3"]) == {"b1", "b3"}


def test_what_an_acknowledgement_rests_on():
    assert rules.may_acknowledge(4, 5, 5, sync_replication=True)
    assert not rules.may_acknowledge(5, 5, 9, sync_replication=True)
    assert rules.may_acknowledge(5, 5, 9, sync_replication=False)
    assert not rules.may_acknowledge(9, 5, 9, sync_replication=False)
    assert rules.held_end(9, 5, sync_flush=True) == 5
    assert rules.held_end(9, 5, sync_flush=False) == 9
    assert rules.enough_in_sync(["b1", "b2"], 2)
    assert not rules.enough_in_sync(["b1"], 2)


def test_what_a_strong_read_rests_on():
    assert rules.may_answer_strongly(5, 5, {}, [], 3)
    assert rules.may_answer_strongly(5, 5, {"b2": 3, "b3": 2}, ["b2"], 3)
    assert not rules.may_answer_strongly(5, 5, {"b2": 3, "b3": 2}, ["b2", "b3"], 3)
    assert not rules.may_answer_strongly(5, 5, {}, ["b2"], 1)
    assert not rules.may_answer_strongly(4, 5, {"b2": 3}, ["b2"], 3)


def test_who_may_join_and_who_must_leave():
    assert rules.has_caught_up(7, 5, 7)
    assert not rules.has_caught_up(6, 5, 7)
    assert not rules.has_caught_up(7, 8, 0)
    assert rules.is_in_time(1000, 3000, 2000)
    assert not rules.is_in_time(999, 3000, 2000)


def test_sequences():
    assert [rules.judge_sequence(2, sequence) for sequence in (0, 1, 2, 3)] == ["repeat", "repeat", "append", "gap"]


def test_a_record_whose_body_was_changed_is_not_intact():
    record = data_record(1, QueueKey("t", 0), 0, b"body", "", -1)
    assert is_intact(record)
    changed = type(record)(**{name: getattr(record, name) for name in record.__struct_fields__} | {"body": b"bodx"})
    assert not is_intact(changed)


def test_acknowledgements_go_out_by_position_and_expire_by_time():
    waits = Acknowledgements()
    for index, deadline_ms in ((3, 10), (1, 30), (2, 20), (2, 5)):
        waits.add(index, f"r{index}-{deadline_ms}", deadline_ms, Metadata())
    assert waits.expire(5) == ["r2-5"]
    assert [wait.request_id for wait in waits.take(lambda index: index < 3)] == ["r1-30", "r2-20"]
    assert len(waits) == 1
    assert waits.clear() == ["r3-10"]
    assert len(waits) == 0


def asked(link):
    send = link.ask(GetMetadata())
    assert isinstance(send, Send)
    return send.to


def test_a_silent_controller_is_left_and_a_hint_is_followed():
    link = ControllerLink(["c1", "c2", "c3"])
    assert asked(link) == "c1"
    link.look()
    assert asked(link) == "c1"
    link.look()
    assert asked(link) == "c2", "c1 said nothing for a whole period"
    answer = Answer(number=1, answer=Accepted(metadata=Metadata(version=5)))
    assert link.on_answer("c2", answer) == Metadata(version=5)
    link.look()
    assert asked(link) == "c2"
    refused = Answer(number=2, answer=Refused(reason="not-leader", leader="c3"))
    assert link.on_answer("c2", refused) is None
    assert asked(link) == "c3"
    assert link.on_answer("c2", refused) is None
    assert asked(link) == "c3"
    for leader in (None, "c9"):
        refused = Answer(number=3, answer=Refused(reason="not-leader", leader=leader))
        assert link.on_answer("c3", refused) is None
    link.look()
    link.look()
    assert asked(link) == "c1", "who is not leader and knows none is as good as silent"


def test_only_a_later_epoch_deposes_and_any_other_master_ends_a_place():
    assert [rules.deposes(heard, 3) for heard in (2, 3, 4)] == [False, False, True]
    assert not rules.is_other_place((3, "b1"), (3, "b1"))
    assert rules.is_other_place((3, None), (3, "b1"))
    assert rules.is_other_place((4, "b1"), (3, "b1"))


def test_a_takeover_and_a_batch_keep_everything():
    records = (data_record(1, QueueKey("t", 0), 0, b"one", "", -1), data_record(2, QueueKey("t", 0), 1, b"two", "", -1))
    assert rules.kept_at_takeover(7) == 7
    assert rules.batch_to_append(records) == records


def test_only_polls_are_weak_and_a_wait_is_for_what_was_asked():
    poll = Poll(topic="t", queue=0, offset=4, records_max=1)
    assert rules.weak_read(poll) is poll
    assert rules.weak_read(Read(topic="t", queue=0, offset=4, records_max=1)) is None
    assert rules.awaited_offset(4) == 4


def test_a_group_goes_on_at_its_last_commit_whoever_took_it():
    assert rules.group_goes_on_at(None) is None
    assert rules.group_goes_on_at(commit_record(1, QueueKey("t", 0), "g", 9)) == 9


def test_a_silent_broker_is_alive_until_its_time_is_over():
    assert [is_alive(1000, now_ms, 500) for now_ms in (1000, 1499, 1500)] == [True, True, False]
