"""The controllers' state machine: each rule, and what holds after any commands."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.systems.minimq.consensus.metadata import applied, eligible_masters, may_alter
from cluster.systems.minimq.protocol.messages import (
    AlterSyncStateSet,
    CreateTopic,
    ElectMaster,
    Group,
    Metadata,
    NoOp,
    RegisterBroker,
    Registered,
)

NAMES = ("b1", "b2", "b3")
GROUP = Group(
    brokers=tuple(Registered(broker=name, incarnation="1") for name in NAMES),
    master="b1",
    epoch=4,
    sync_state_set=("b1", "b2"),
    sss_epoch=7,
)
STATE = Metadata(version=10, topics={"t": 3}, group=GROUP)


def alter(**changed):
    fields = {"master": "b1", "epoch": 4, "new_set": ("b1", "b3"), "sss_epoch": 7} | changed
    return AlterSyncStateSet(**fields)


def elect(master, members, after_epoch=4, *, unclean=False):
    return ElectMaster(master=master, after_epoch=after_epoch, sync_state_set=members, unclean=unclean)


def test_masters_come_from_the_living_members_of_the_sync_state_set():
    assert eligible_masters(GROUP, {"b2", "b3"}, unclean=False) == ("b2",)
    assert eligible_masters(GROUP, {"b3"}, unclean=False) == ()
    assert eligible_masters(GROUP, {"b3"}, unclean=True) == ("b3",)
    assert eligible_masters(GROUP, {"b2", "b3"}, unclean=True) == ("b2",)


def test_the_first_master_is_any_living_broker():
    first = msgspec.structs.replace(GROUP, epoch=0, master=None, sync_state_set=())
    assert eligible_masters(first, {"b3"}, unclean=False) == ("b3",)


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({}, None),
        ({"master": "b2"}, "not-master"),
        ({"epoch": 3}, "stale-epoch"),
        ({"sss_epoch": 6}, "stale-epoch"),
        ({"new_set": ("b2", "b3")}, "bad-set"),
        ({"new_set": ("b1", "b9")}, "bad-set"),
        ({"new_set": ()}, "bad-set"),
    ],
)
def test_who_may_alter_the_sync_state_set(changed, refused):
    assert may_alter(GROUP, alter(**changed)) == refused
    after, said = applied(STATE, 11, alter(**changed))
    assert said == refused
    assert (after is STATE) == (refused is not None)


def test_an_altered_set_has_a_new_number():
    after, _ = applied(STATE, 11, alter())
    assert (after.version, after.group.sync_state_set, after.group.sss_epoch) == (11, ("b1", "b3"), 8)
    assert after.group.epoch == 4


def test_an_election_raises_the_epoch_and_keeps_the_living_members():
    after, refused = applied(STATE, 11, elect("b2", ("b2",)))
    assert refused is None
    assert (after.group.master, after.group.epoch) == ("b2", 5)
    assert (after.group.sync_state_set, after.group.sss_epoch) == (("b2",), 8)


def test_an_election_decided_in_another_state_is_void():
    assert applied(STATE, 11, elect("b2", ("b2",), after_epoch=3)) == (STATE, "stale-epoch")
    shrunk, _ = applied(STATE, 11, alter(new_set=("b1",)))
    assert applied(shrunk, 12, elect("b2", ("b1", "b2"))) == (shrunk, "not-master")


def test_members_that_have_left_do_not_return_by_an_election():
    after, _ = applied(STATE, 11, elect("b2", ("b1", "b2", "b3")))
    assert after.group.sync_state_set == ("b1", "b2")


def test_an_unclean_master_is_alone():
    assert applied(STATE, 11, elect("b3", ()))[1] == "not-master"
    after, refused = applied(STATE, 11, elect("b3", (), unclean=True))
    assert refused is None
    assert (after.group.master, after.group.sync_state_set) == ("b3", ("b3",))


def test_the_new_life_of_a_master_is_not_master():
    after, _ = applied(STATE, 11, RegisterBroker(broker="b1", incarnation="2"))
    assert (after.group.master, after.group.epoch, after.group.sync_state_set) == (None, 4, ("b1", "b2"))
    again, refused = applied(after, 12, RegisterBroker(broker="b1", incarnation="2"))
    assert (again, refused) == (after, None)
    assert applied(after, 12, RegisterBroker(broker="b1", incarnation="1")) == (after, "unknown-broker")


def test_the_new_life_of_a_follower_deposes_nobody():
    after, _ = applied(STATE, 11, RegisterBroker(broker="b2", incarnation="2"))
    assert (after.group.master, after.version) == ("b1", 11)


def test_topics():
    after, _ = applied(STATE, 11, CreateTopic(topic="u", queues=2))
    assert after.topics == {"t": 3, "u": 2}
    assert STATE.topics == {"t": 3}
    assert applied(after, 12, CreateTopic(topic="u", queues=2)) == (after, None)
    assert applied(after, 12, CreateTopic(topic="u", queues=3)) == (after, "topic-exists")
    assert applied(after, 12, CreateTopic(topic="", queues=3)) == (after, "bad-topic")
    assert applied(after, 12, CreateTopic(topic="v", queues=0)) == (after, "bad-topic")


SOME = st.sampled_from(NAMES)
SETS = st.lists(SOME, unique=True).map(tuple)
SMALL = st.integers(0, 6)
COMMANDS = st.one_of(
    st.just(NoOp()),
    st.builds(RegisterBroker, broker=SOME, incarnation=st.sampled_from("123")),
    st.builds(AlterSyncStateSet, master=SOME, epoch=SMALL, new_set=SETS, sss_epoch=SMALL),
    st.builds(ElectMaster, master=SOME, after_epoch=SMALL, sync_state_set=SETS),
)


@given(st.lists(COMMANDS, max_size=40))
def test_after_any_commands(commands):
    state = Metadata()
    for index, command in enumerate(commands, start=1):
        before, (state, refused) = state.group, applied(state, index, command)
        group = state.group
        assert refused is None or group is before
        if group.epoch != before.epoch:
            assert group.epoch == before.epoch + 1
            assert before.epoch == 0 or group.master in before.sync_state_set
            assert before.epoch == 0 or set(group.sync_state_set) <= set(before.sync_state_set)
        elif group.master != before.master:
            assert group.master is None
        if group.sync_state_set != before.sync_state_set:
            assert group.sss_epoch == before.sss_epoch + 1
        assert set(group.sync_state_set) <= {each.broker for each in group.brokers}
        assert group.master is None or group.master in group.sync_state_set
        assert group.epoch == 0 or group.sync_state_set
