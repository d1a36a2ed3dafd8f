"""How brokers replicate: one short story per rule, and what goes wrong in it when the rule is bent."""

import pytest
from minimq_stories import answer_of, answer_to, produce, ready, role_of
from minimq_world import BROKERS, CONTROLLER, TOPIC

from cluster.systems.minimq.consensus import metadata
from cluster.systems.minimq.protocol.broker_messages import (
    Fetch,
    GetOffsets,
    GetReplica,
    Offsets,
    Poll,
    Produced,
    Rejected,
    ReplicaStatus,
)
from cluster.systems.minimq.protocol.io import Message
from cluster.systems.minimq.protocol.messages import Accepted, Answer, Indefinite
from cluster.systems.minimq.replication import broker_rules

# ---------------------------------------------------------------- a master that is cut off


def test_a_master_that_is_cut_off_stalls_and_says_that_nobody_knows():
    world = ready()
    world.isolate("b1")
    request_id = world.ask("b1", produce(b"a"))
    world.calm(100)
    assert role_of(world, "b1") == "master"
    assert answer_of(world, request_id) == Indefinite(reason="deadline")
    status = answer_to(world, "b1", GetReplica())
    assert isinstance(status, ReplicaStatus)
    assert (status.role, status.end, status.confirmed, status.sync_state_set) == ("master", 1, 0, BROKERS)
    assert isinstance(answer_to(world, world.controller.group.master, produce(b"b")), Produced)
    world.check_recovers()


def test_a_master_cut_from_its_followers_only_goes_on_when_the_controllers_agree():
    world = ready(min_in_sync=1)
    world.cut("b1", "b2")
    world.cut("b1", "b3")
    request_id = world.ask("b1", produce(b"a"))
    world.calm(30)
    assert answer_of(world, request_id) is None
    world.calm(20)
    assert world.controller.group.sync_state_set == ("b1",)
    assert answer_of(world, request_id) == Produced(offset=0, epoch=1)
    world.check_recovers()


def test_a_master_that_hears_of_a_later_epoch_ends_at_once():
    world = ready()
    request_id = world.ask("b1", produce(b"a"))
    fetch = Fetch(epoch=2, end=0, last_epoch=0, held=0, round=0, confirmed=0)
    world.tell("b1", Message(sender="b2", body=fetch))
    assert role_of(world, "b1") == "none"
    assert answer_of(world, request_id) == Indefinite(reason="stepped-down")
    assert answer_to(world, "b1", produce(b"b"), rounds=0) == Rejected(reason="not-master")


def test_an_isolated_master_does_not_answer_strong_reads(monkeypatch):
    def story():
        world = ready()
        world.isolate("b1")
        world.calm(60)
        assert isinstance(answer_to(world, world.controller.group.master, produce(b"a")), Produced)
        return answer_to(world, "b1", GetOffsets(topic=TOPIC, queue=0), rounds=70)

    assert story() == Indefinite(reason="deadline")
    monkeypatch.setattr(
        broker_rules, "may_answer_strongly", lambda confirmed, takeover_end, *_: confirmed >= takeover_end
    )
    with pytest.raises(AssertionError, match="before what was acknowledged"):
        story()


def test_a_new_master_answers_strong_reads_once_it_knows_what_was_confirmed(monkeypatch):
    def story():
        world = ready()
        assert isinstance(answer_to(world, "b1", produce(b"a")), Produced)
        world.network.clear()
        world.nodes["b2"].core.replica.confirmed = 0  # as if the last answers had been lost
        world.crash("b1", 0)
        world.crash("b3", 0)
        world.calm(40)
        assert (world.controller.group.master, world.controller.group.sync_state_set) == ("b2", ("b2",))
        return world, world.ask("b2", GetOffsets(topic=TOPIC, queue=0))

    world, request_id = story()
    assert answer_of(world, request_id) is None
    world.restart("b3")
    world.calm(20)
    assert answer_of(world, request_id) == Offsets(least=0, end=1, epoch=2)
    monkeypatch.setattr(broker_rules, "may_answer_strongly", lambda *_: True)
    with pytest.raises(AssertionError, match="before what was acknowledged"):
        story()


# ---------------------------------------------------------------- the SyncStateSet


def test_a_follower_that_is_asked_for_counts_before_the_controllers_answer(monkeypatch):
    def story():
        """b3 comes back; the controllers take it in, but the master never hears so; b3 is elected."""
        world = ready()
        world.isolate("b3")
        world.calm(60)
        world.heal()
        world.calm(8)
        for _ in range(40):
            world.calm(1)
            if "b3" in world.controller.group.sync_state_set:
                break
        assert world.nodes["b1"].core.epoch == 1
        known = answer_to(world, "b1", GetReplica(), rounds=0)
        assert "b3" not in known.sync_state_set
        world.cut("b1", CONTROLLER)
        world.cut("b2", CONTROLLER)
        world.cut("b1", "b3")
        world.cut("b2", "b3")
        request_id = world.ask("b1", produce(b"a"))
        world.controller.prefer = 0
        world.calm(50)
        assert world.controller.group.master == "b3"
        return answer_of(world, request_id)

    assert story() is None
    monkeypatch.setattr(broker_rules, "counted_members", lambda agreed, proposed: frozenset(agreed))
    with pytest.raises(AssertionError, match="which may be elected, has it not"):
        story()


@pytest.mark.parametrize("bent", [False, True])
def test_only_a_follower_that_holds_all_is_asked_for(monkeypatch, bent):
    world = ready()
    world.isolate("b3")
    world.calm(60)
    for n in range(3):
        assert isinstance(answer_to(world, "b1", produce(b"%d" % n)), Produced)
    if bent:
        monkeypatch.setattr(broker_rules, "has_caught_up", lambda *_: True)
    world.crash("b1", 0)
    world.heal()
    world.calm(30, stalled=("b3",))
    assert world.controller.group.master == "b2"
    world.calm(20, stalled=("b3",))
    assert len(world.nodes["b3"].durable) == 0
    assert ("b3" in world.controller.group.sync_state_set) == bent


def test_a_request_for_a_member_that_is_gone_again_is_made_void():
    """The follower that was asked for dies before it is taken in: the master stops counting it."""
    world = ready()
    world.isolate("b3")
    world.calm(60)
    world.heal()
    master = world.nodes["b1"].core
    for _ in range(60):
        world.calm(1)
        if "b3" in master._place._counted:
            break
    assert "b3" in master._place._counted
    world.network = [each for each in world.network if each[1] != CONTROLLER]  # the request is lost
    world.crash("b3", 0)
    request_id = world.ask("b1", produce(b"a"))
    world.calm(60)
    assert answer_of(world, request_id) == Produced(offset=0, epoch=1)


# ---------------------------------------------------------------- rejoining


def diverged():
    """b1 wrote alone what nobody confirmed, then b2 or b3 became master and went on."""
    world = ready()
    assert isinstance(answer_to(world, "b1", produce(b"a")), Produced)
    world.isolate("b1")
    for body in (b"x", b"y", b"z"):
        world.ask("b1", produce(body))
    world.calm(60)
    assert isinstance(answer_to(world, world.controller.group.master, produce(b"b")), Produced)
    world.heal()
    return world


def test_what_nobody_confirmed_is_cut_when_its_master_comes_back():
    world = diverged()
    assert world.nodes["b1"].core.replica.log.end == 4
    world.calm(20)
    log = world.nodes["b1"].core.replica.log
    assert [record.body for record in log.slice(0, 10, 1000)] == [b"a", b"b"]
    assert log.epochs == [(1, 0), (2, 1)]
    assert [record.body for record in world.nodes["b1"].durable] == [b"a", b"b"]
    world.check_recovers()


def test_it_is_cut_after_a_restart_too():
    world = diverged()
    world.crash("b1", 9)
    world.restart("b1")
    world.calm(30)
    assert [record.body for record in world.nodes["b1"].durable] == [b"a", b"b"]


def test_without_truncation_the_replicas_fork(monkeypatch):
    monkeypatch.setattr(broker_rules, "truncation_point", lambda *_: None)
    world = diverged()
    with pytest.raises(AssertionError):
        world.check_recovers()


def test_a_master_that_restarts_quickly_starts_another_epoch():
    world = ready()
    answer_to(world, "b1", produce(b"a"))
    world.crash("b1", 0)
    world.restart("b1")
    world.calm(30)
    assert world.controller.group.epoch == 2
    assert answer_to(world, world.controller.group.master, produce(b"b")) == Produced(offset=1, epoch=2)
    world.check_recovers()


def test_metadata_of_a_former_life_is_not_believed():
    world = ready()
    old = world.nodes["b2"].core._metadata
    world.crash("b2", 0)
    world.restart("b2")
    late = Answer(number=1, answer=Accepted(metadata=old))
    world.tell("b2", Message(sender=CONTROLLER, body=late))
    assert role_of(world, "b2") == "none"
    world.calm(10)
    assert role_of(world, "b2") == "follower"


# ---------------------------------------------------------------- modes that promise less


def test_asynchronous_replication_acknowledges_what_the_master_holds():
    world = ready(sync_replication=False)
    world.cut("b1", "b2")
    world.cut("b1", "b3")
    world.judge_kept = lambda *_: None
    request_id = world.ask("b1", produce(b"a"))
    assert answer_of(world, request_id) is None, "not flushed yet"
    world.flush("b1", 1)
    assert answer_of(world, request_id) == Produced(offset=0, epoch=1)
    assert answer_to(world, "b1", Poll(topic=TOPIC, queue=0, offset=0, records_max=1), rounds=0).records == ()


def test_asynchronous_flush_acknowledges_what_is_in_memory_everywhere():
    world = ready(sync_flush=False)
    world.judge_kept = lambda *_: None
    request_id = world.ask("b1", produce(b"a"))
    world.calm(4, stalled=BROKERS)
    assert answer_of(world, request_id) == Produced(offset=0, epoch=1)


def test_synchronous_flush_waits_for_every_disk():
    world = ready()
    request_id = world.ask("b1", produce(b"a"))
    world.calm(8, stalled=("b3",))
    assert answer_of(world, request_id) is None
    world.calm(4)
    assert answer_of(world, request_id) == Produced(offset=0, epoch=1)


# ---------------------------------------------------------------- elections


def test_who_was_not_in_sync_is_not_elected(monkeypatch):
    def story():
        world = ready()
        world.isolate("b3")
        world.calm(60)
        assert isinstance(answer_to(world, "b1", produce(b"a")), Produced)
        world.crash("b1", 0)
        world.crash("b2", 0)
        world.heal()
        world.calm(60)
        world.check()
        return world

    assert story().masters() == []
    monkeypatch.setattr(metadata, "eligible_masters", lambda group, alive, **_: tuple(sorted(alive)))
    with pytest.raises(AssertionError, match="was told of offset 0; the master of 2 has it not"):
        story()
