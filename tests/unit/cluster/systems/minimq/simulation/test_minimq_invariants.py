"""What the invariants see of cores that disagree, and that they see nothing in those that do not."""

from random import Random

import pytest

from chaos.testing import simulate
from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.consensus.raft_log import Stored
from cluster.systems.minimq.protocol.broker_messages import Record
from cluster.systems.minimq.protocol.io import Message
from cluster.systems.minimq.protocol.messages import Entry, Group, Metadata, MetadataPush, NoOp, Registered
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.replication.replica_state import BrokerSettings
from cluster.systems.minimq.simulation.invariants import Invariants

NAMES = ("c1", "c2", "c3")
NEMESIS = "all-kill@controller"


def controller(name, *terms, commit=0):
    entries = tuple(Entry(index=index, term=term, command=NoOp()) for index, term in enumerate(terms, 1))
    stored = Stored(term=max(terms, default=0), entries=entries)
    made = Controller(name=name, controllers=NAMES, stored=stored, rng=Random(1))
    made.raft.commit = commit
    return made


def test_cores_that_agree_are_fine():
    kept = Invariants()
    assert [kept.look(controller(name, 1, 1, 2, commit=3)) for name in NAMES] == [None] * 3


def test_two_leaders_of_a_term_are_seen():
    kept = Invariants()
    for name in ("c1", "c2"):
        core = controller(name, 1)
        core.raft.role = "leader"
        seen = kept.look(core)
    assert seen == "c2 and c1 lead term 1"


def test_a_core_that_has_changed_since_it_was_looked_at_is_looked_at_again():
    kept = Invariants()
    first, second = controller("c1", 1, 1, commit=1), controller("c2", 1, 2, commit=1)
    first.raft.role = "leader"
    assert [kept.look(core) for core in (first, second, first, second)] == [None] * 4
    second.raft.role, second.raft.term = "leader", 1
    assert kept.look(second) == "c2 and c1 lead term 1"
    second.raft.role = "follower"
    first.raft.commit = 2
    assert kept.look(first) is None
    second.raft.commit = 2
    assert "committed" in kept.look(second)


def test_two_entries_at_a_committed_place_are_seen_in_a_later_life_too():
    kept = Invariants()
    assert kept.look(controller("c1", 1, 1, commit=2)) is None
    assert kept.look(controller("c1", 1, 2, commit=1)) is None, "what is not committed may differ"
    assert "committed" in kept.look(controller("c1", 1, 2, commit=2))


def test_confirmed_records_that_differ_are_seen():
    def broker(name, body):
        record = Record(epoch=1, kind=0, topic="t", queue=0, offset=0, writer="", sequence=-1, crc=0, body=body)
        made = Broker(name, NAMES, "1", records=[record])
        made.replica.confirmed = 1
        return made

    kept = Invariants()
    assert kept.look(broker("b1", b"x")) is None
    assert kept.look(broker("b2", b"x")) is None
    assert kept.look(broker("b3", b"y")) == "b3 confirmed another record at 0 than a broker before it"


def test_a_leader_without_what_was_committed_in_an_earlier_term_is_seen():
    kept = Invariants()
    assert kept.look(controller("c1", 1, 1, commit=2)) is None
    late = controller("c2", 1)
    late.raft.role = "leader"
    assert kept.look(late) is None, "it was elected in the term in which the entry was committed"
    late.raft.term = 2
    assert kept.look(late) == "c2 leads term 2 without the entry 2 that was committed"


def record(body, epoch=1):
    return Record(epoch=epoch, kind=0, topic="t", queue=0, offset=0, writer="", sequence=-1, crc=0, body=body)


def broker(name, *bodies, epoch=1, members=(), role_of=None, **settings):
    made = Broker(name, NAMES, "1", BrokerSettings(**settings), records=[record(body) for body in bodies])
    group = Group(
        brokers=(Registered(broker=name, incarnation="1"),), master=role_of, epoch=epoch, sync_state_set=members
    )
    made.handle(Message(sender="c1", body=MetadataPush(metadata=Metadata(version=1, group=group))), 0)
    return made


def test_a_master_without_what_was_confirmed_in_an_earlier_epoch_is_seen():
    for settings, wanted in (
        ({}, "b2 is master of epoch 2 without the record 1 that was confirmed"),
        ({"sync_flush": False}, None),
    ):
        kept = Invariants()
        first = broker("b1", b"x", b"y", role_of="b1")
        first.replica.confirmed = 2
        assert kept.look(first) is None
        assert kept.look(broker("b3", b"x", role_of="b3", epoch=1)) == "b3 and b1 are masters of brokers in epoch 1"
        assert kept.look(broker("b2", b"x", role_of="b2", epoch=2, **settings)) == wanted


def test_a_member_of_the_set_in_sync_that_does_not_hold_what_is_confirmed_is_seen():
    kept = Invariants()
    member, other = broker("b2", b"x", role_of="b1"), broker("b3", role_of="b1")
    master = broker("b1", b"x", b"y", role_of="b1", members=("b1", "b2"))
    master.replica.confirmed = 1
    assert [kept.look(core) for core in (member, other, master)] == [None] * 3
    master.replica.confirmed = 2
    assert kept.look(master) == "b2, in sync with b1, holds 1 of 2 confirmed records"


def test_a_member_has_to_hold_what_earlier_masters_confirmed_and_not_what_later_ones_did():
    kept = Invariants()
    kept.look(broker("b2", b"x", role_of="b3"))
    first = broker("b1", b"x", b"y", role_of="b1")
    first.replica.confirmed = 2
    assert kept.look(first) is None
    later = broker("b3", b"x", b"y", role_of="b3", epoch=2, members=("b2", "b3"))
    assert kept.look(later) == "b2, in sync with b3, holds 1 of 2 confirmed records"
    later.replica.confirmed = 2
    kept.look(broker("b2", b"x", b"y", role_of="b3", epoch=2))
    assert kept.look(later) is None


def test_a_broker_that_counts_more_than_it_has_is_seen():
    kept, core = Invariants(), broker("b1", b"x", b"y")
    assert kept.look(core) is None
    core.replica.log.truncate(1)
    assert kept.look(core) == "b1 counts records up to 2 and has 1"


@pytest.mark.broad
def test_a_run_tells_of_them_once_and_only_with_a_bug(tmp_path):
    bent = simulate(tmp_path, bug="forget-vote", nemesis=NEMESIS, time_limit_s=30.0, reports=())
    said = [line for line in bent.lines if line.startswith("broken")]
    assert said
    assert len(said) == len(set(said)) <= 5
    clean = simulate(tmp_path, nemesis=NEMESIS, time_limit_s=30.0, reports=())
    assert not [line for line in clean.lines if line.startswith("broken")]


def test_behind_a_place_that_differs_the_others_are_looked_at_all_the_same():
    kept = Invariants()
    assert kept.look(controller("c1", 1, 1, commit=1)) is None
    assert "committed" in kept.look(controller("c2", 2, 2, 2, 2, commit=3))
    assert kept.look(controller("c3", 1, 2, 2, 2, 2, commit=4)) is None
