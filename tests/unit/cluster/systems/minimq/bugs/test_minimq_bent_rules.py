"""What a switch does to a core, bug by bug: first what is right, then what the bug makes of it, and what it notes."""

import msgspec
import pytest

from cluster.systems.minimq.bugs import switches
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.consensus import metadata, raft_rules
from cluster.systems.minimq.protocol.broker_messages import (
    CommitDone,
    Committed,
    Divergence,
    FetchCommitted,
    Held,
    Produce,
    Produced,
)
from cluster.systems.minimq.protocol.io import Message, Reply, Truncate
from cluster.systems.minimq.protocol.messages import Group, Metadata, MetadataPush, RegisterBroker, Registered
from cluster.systems.minimq.replication import broker_rules as rules
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.replication.master import Master
from cluster.systems.minimq.replication.replica_state import BrokerSettings
from cluster.systems.minimq.storage.commit_log import QueueKey, commit_record, data_record

KEY = QueueKey("chaos", 0)
BROKERS = ("b1", "b2", "b3")
LAG_MS = BrokerSettings().lag_max_ms
EPOCHS = [(1, 0), (3, 10), (6, 20)]


@pytest.fixture
def bend(monkeypatch):
    def bend(name, core=None):
        notes = Notes(name)
        notes.core = core
        for replacement in switches.replacements(notes, switches.Switch(name)):
            monkeypatch.setattr(replacement.owner, replacement.name, replacement.function)
        return notes

    return bend


def record(sequence, epoch=1, producer="p"):
    return data_record(epoch, KEY, sequence, b"body", producer, sequence)


def broker(*records):
    made = Broker("b1", ("c1",), "000001", BrokerSettings(), records)
    made.replica.epoch = 1
    return made


def group(epoch=1, master="b1", members=BROKERS):
    brokers = tuple(Registered(broker=name, incarnation="000001") for name in BROKERS)
    return Group(brokers=brokers, master=master, epoch=epoch, sync_state_set=members, sss_epoch=1)


def noted(notes):
    return [msgspec.json.decode(text) for text in notes.take()]


def replies(core):
    return [effect.body for effect in core.replica.take() if isinstance(effect, Reply)]


# ---------------------------------------------------------------- membership


def counted_after_silence(core):
    """Whom a master counts that has heard of nobody for too long and has asked that both followers leave."""
    master = Master(core.replica, group())
    core.replica.now_ms = LAG_MS + 1
    asked = master.wanted_change()
    assert asked is not None
    assert asked.new_set == ("b1",)
    return master._counted


def test_shrink_before_agreed_counts_the_smaller_set_before_the_controllers_agree(bend):
    assert counted_after_silence(broker()) == set(BROKERS)
    core = broker()
    notes = bend("shrink-before-agreed", core)
    assert counted_after_silence(core) == {"b1"}
    assert noted(notes)[0]["counted"] == ["b1"]


def test_shrink_before_agreed_does_nothing_while_no_change_is_asked_for(bend):
    core = broker()
    notes = bend("shrink-before-agreed", core)
    assert rules.counted_members(BROKERS, ()) == set(BROKERS)
    assert noted(notes) == []


def committed_with(*matched):
    return raft_rules.committed_by(matched, 2, 3, lambda _index: 2)


def test_quorum_of_half_lets_one_of_three_decide(bend):
    assert [raft_rules.quorum_of(count) for count in (1, 3, 5)] == [1, 2, 3]
    assert committed_with(0, 0, 7) == 3
    notes = bend("quorum-of-half", broker())
    assert [raft_rules.quorum_of(count) for count in (1, 3, 5)] == [1, 1, 2]
    assert committed_with(0, 7, 7) == 7
    assert noted(notes) == [], "a majority has it"
    assert committed_with(0, 0, 7) == 7
    assert [(note["index"], note["held_by"]) for note in noted(notes)] == [(7, 1)]


# ---------------------------------------------------------------- truncation


def test_truncate_off_by_one_leaves_a_follower_one_record_of_its_tail(bend):
    assert rules.truncation_point(EPOCHS, 25, 3, 24) == Divergence(epoch=3, end=20)
    bend("truncate-off-by-one", broker())
    parted = rules.truncation_point(EPOCHS, 25, 3, 24)
    assert parted == Divergence(epoch=3, end=21)
    assert rules.truncated_end([(1, 0), (3, 10)], 24, parted) == 21
    assert rules.truncation_point(EPOCHS, 25, 3, 21) is None
    assert rules.truncation_point(EPOCHS, 25, 3, 20) is None
    assert rules.truncation_point(EPOCHS, 25, 5, 15) == Divergence(epoch=3, end=20), "another epoch is cut as ever"


def cut_on_disk(core):
    """What reaches the disk when a broker becomes master of a new epoch and cuts its log at its second record."""
    pushed = MetadataPush(metadata=Metadata(version=9, topics={"chaos": 1}, group=group(epoch=2)))
    effects = core.handle(Message(sender="c1", body=pushed), 0)
    assert core.role == "master"
    assert core.replica.log.end == 1
    (cut,) = [effect for effect in effects if isinstance(effect, Truncate)]
    return cut


def test_truncate_in_memory_cuts_nothing_from_the_disk(bend, monkeypatch):
    monkeypatch.setattr(rules, "kept_at_takeover", lambda _end: 1)
    honest = cut_on_disk(broker(record(0), record(1), record(2)))
    assert honest.start == 1
    notes = bend("truncate-in-memory")
    bent = cut_on_disk(broker(record(0), record(1), record(2)))
    assert bent.token == honest.token
    assert bent.start > 1 << 40, "no log is so long"
    assert noted(notes)[0]["kept_from"] == 1


# ---------------------------------------------------------------- recovery


def start_with(count):
    core = broker(*(record(sequence) for sequence in range(count)))
    core.start(0)
    return core.replica.log.end


def test_recover_to_checkpoint_forgets_what_came_after_the_checkpoint(bend):
    assert start_with(130) == 130
    notes = bend("recover-to-checkpoint")
    assert [start_with(count) for count in (130, 128, 3)] == [128, 128, 0]
    assert [note["kept_to"] for note in noted(notes)] == [128, 0]


def master_after(command):
    after, refused = metadata.applied(Metadata(version=1, group=group(epoch=4)), 2, command)
    assert refused is None
    return after.group.master, after.group.epoch


def test_same_epoch_after_restart_keeps_the_master_that_registers_again(bend):
    again = RegisterBroker(broker="b1", incarnation="000002")
    assert master_after(again) == (None, 4)
    notes = bend("same-epoch-after-restart")
    assert master_after(again) == ("b1", 4)
    assert noted(notes) == [{"bug": "same-epoch-after-restart", "master": "b1", "master_epoch": 4}]
    assert master_after(RegisterBroker(broker="b2", incarnation="000002")) == ("b1", 4)
    assert noted(notes) == []


# ---------------------------------------------------------------- leases


def may_answer(asked_round):
    return rules.may_answer_strongly(5, 5, {"b2": 1}, {"b2"}, asked_round)


def test_lease_too_long_lets_a_master_answer_alone_for_five_seconds(bend):
    core = broker()
    notes = bend("lease-too-long", core)
    assert not may_answer(2), "nobody has agreed yet"
    assert may_answer(1)
    core.replica.now_ms = 4999
    assert may_answer(2)
    assert noted(notes)[0]["lease_left_ms"] == 1
    core.replica.now_ms = 5000
    assert not may_answer(2)
    assert may_answer(1)
    core.replica.epoch = 2
    assert not may_answer(2), "a lease is one of its epoch"


def test_lease_by_wall_clock_goes_on_when_the_clock_is_set_back(bend):
    wall_s = [1000.0]
    core = broker()
    bend("lease-by-wall-clock", core).wall_ns = lambda: round(wall_s[0] * 1e9)
    assert may_answer(1)
    wall_s[0] += 0.999
    assert may_answer(2)
    wall_s[0] += 0.001
    assert not may_answer(2)
    core.replica.now_ms += 60_000
    wall_s[0] -= 60
    assert may_answer(2)


# ---------------------------------------------------------------- idempotence


def answers_to(core, master, sequence, replicate_to=None):
    """What a producer hears of its message, once b2 and b3 hold so much."""
    master.produce("r", Produce(topic="chaos", queue=0, body=b"body", producer="p", sequence=sequence))
    if replicate_to is not None:
        core.replica.on_written(1 << 30)
        for name in ("b2", "b3"):
            master.on_held(name, Held(epoch=core.epoch, held=replicate_to, round=0))
    master.settle()
    return replies(core)


def test_forget_producers_appends_again_what_an_earlier_master_took(bend):
    core = broker(record(0, epoch=1), record(1, epoch=1))
    core.replica.epoch = 2
    (answer,) = answers_to(core, Master(core.replica, group(epoch=2)), 1, 2)
    assert answer == Produced(offset=1, epoch=1, repeated=True)

    core = broker(record(0, epoch=1), record(1, epoch=1))
    core.replica.epoch = 2
    notes = bend("forget-producers", core)
    master = Master(core.replica, group(epoch=2))
    assert answers_to(core, master, 1, 3) == [Produced(offset=2, epoch=2)]
    assert len(noted(notes)) == 1
    assert answers_to(core, master, 1, 3) == [Produced(offset=2, epoch=2, repeated=True)], "its own it does know"
    assert answers_to(core, master, 2, 4) == [Produced(offset=3, epoch=2)]
    assert noted(notes) == []


def cut_two_and_produce_the_next():
    core = broker(record(0), record(1), record(2))
    core.replica.truncate(1)
    return answers_to(core, Master(core.replica, group()), 1, 2), core.replica.log.end


def test_count_cut_sequences_takes_a_new_message_for_a_repeat(bend):
    assert cut_two_and_produce_the_next() == ([Produced(offset=1, epoch=1)], 2)
    notes = bend("count-cut-sequences", broker())
    answers, end = cut_two_and_produce_the_next()
    assert answers == [Produced(offset=0, epoch=1, repeated=True)]
    assert end == 1, "acknowledged, and nowhere"
    assert {note["offset"] for note in noted(notes)} == {1, 2}


def test_ack_repeat_at_once_acknowledges_what_only_the_master_has(bend):
    core = broker(record(0))
    assert answers_to(core, Master(core.replica, group()), 0) == []
    notes = bend("ack-repeat-at-once", core)
    assert answers_to(core, Master(core.replica, group()), 0) == [Produced(offset=0, epoch=1, repeated=True)]
    assert noted(notes)[0]["offset"] == 0
    assert answers_to(core, Master(core.replica, group()), 1) == [], "a new message waits as ever"


# ---------------------------------------------------------------- committed offsets


def test_stale_committed_offset_is_told_without_any_follower(bend):
    asked = FetchCommitted(group="g", topic="chaos", queue=0)
    core = broker(commit_record(1, KEY, "g", 7))
    core.replica.confirm(1)
    master = Master(core.replica, group())
    master.strong_read("r", asked)
    master.settle()
    assert replies(core) == []
    notes = bend("stale-committed-offset", core)
    master.strong_read("r", asked)
    assert replies(core) == [Committed(offset=7, epoch=1)]
    assert noted(notes)[0]["group"] == "g"
    assert CommitDone not in map(type, replies(core))
