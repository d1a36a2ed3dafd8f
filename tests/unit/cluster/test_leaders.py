"""Who leads each subject, from what nodes said last, and whether it has settled."""

import pytest
from leading import said

from chaos.core.clock import NS_PER_S
from chaos.core.events import Claim, Observation
from chaos.storage.runinfo import Subject
from cluster.leaders import LeadKeeper, incomplete, leads_of, missing_to_settle, not_ready, subjects_of, why_unsettled

NODES = ("b1", "b2", "b3")
GROUP = Subject(name="brokers", nodes=NODES)
CONTROLLER = Subject(name="controller", kind="controller", nodes=("c1", "c2", "c3"))
LED = (GROUP, CONTROLLER)
ALONE = (GROUP,)


def silent(node, error="x"):
    return Observation(time_ns=2, asked_ns=1, node=node, alive=False, error=error)


def latest(*observations):
    return {seen.node: seen for seen in observations}


def found(subjects, *observations):
    lead = leads_of(latest(*observations), subjects)["brokers"]
    return lead.leader, lead.epoch, lead.members


def test_the_active_controller_says_who_leads():
    seen = (
        said(1, "c1", "leader", 3, master="b1", members=("b1", "b2")),
        said(1, "c2", "leader", 4, master="b2", members=("b2", "b3")),
        silent("c3"),
        said(1, "b1", "master", 1),
        said(1, "b2", "master", 2),
    )
    assert found(LED, *seen) == ("b2", 2, ("b2", "b3"))
    assert leads_of(latest(*seen), LED)["controller"].leader == "c2"


def test_without_a_controller_the_newest_claim_counts():
    assert found(LED, said(1, "b1", "master", 5), said(1, "b2", "master", 2)) == ("b1", 5, ("b1",))


def test_a_classic_master_names_who_is_with_it():
    seen = (said(1, "b1", "master", 1, members=("b1", "b3")), said(1, "b2", "slave"), said(1, "b3", "slave"))
    assert found(ALONE, *seen) == ("b1", 1, ("b1", "b3"))
    assert not_ready(latest(*seen), ALONE) == "not in sync with brokers: b2"


def test_followers_say_whom_they_follow():
    seen = latest(said(1, "b1", "slave", master="b2"), said(1, "b2", "master", 4), said(1, "b3", "slave", master="b1"))
    assert found(ALONE, *seen.values()) == ("b2", 4, ("b1", "b2"))
    assert not_ready(seen, ALONE) == "not in sync with brokers: b3"
    assert not_ready(seen | {"b3": said(1, "b3", "slave", master="b2")}, ALONE) is None
    assert not_ready(seen | {"b2": said(1, "b2", "slave")}, ALONE) == "nobody leads brokers"
    assert not_ready(seen | {"n1": silent("n1")}, ALONE) == "n1 does not answer: x"


@pytest.mark.parametrize("seen", [(), (said(1, "b1", "slave"),), (said(1, "b1", "slave", master="b2"),)])
def test_nobody_leads(seen):
    assert found(ALONE, *seen)[0] is None


READY = latest(
    said(1, "n1"),
    said(1, "c1", "leader", 1, master="b3", members=NODES),
    said(1, "c2", "follower"),
    said(1, "c3", "follower"),
)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (said(1, "c2", "follower"), None),
        (silent("n1", "connect: refused"), "n1 does not answer: connect: refused"),
        (said(1, "c1", "follower"), "nobody leads brokers"),
        (said(1, "c2", "leader", 1), "2 nodes lead controller instead of one"),
        (said(1, "c1", "leader", 1), "nobody leads brokers"),
        (said(1, "c1", "leader", 1, master="b3", members=("b3",)), "not in sync with brokers: b1, b2"),
    ],
)
def test_ready(change, missing):
    assert not_ready(READY | {change.node: change}, LED) == missing


# ---------------------------------------------------------------- since when, and until it has settled


def at(seconds):
    return round(seconds * NS_PER_S)


def test_it_has_settled_once_nothing_has_changed_for_long_enough():
    keeper = LeadKeeper(ALONE)
    seen = (said(1, "b1", "master", 1, members=NODES),)
    assert why_unsettled(keeper.leads((), at(1)), at(1)) == "nobody leads brokers"
    keeper.leads(seen, at(10))
    again = (said(2, "b1", "master", 1, members=NODES),)
    assert (
        why_unsettled(keeper.leads(again, at(12)), at(12)) == "brokers changed its leader, epoch or members 2.0 s ago"
    )
    assert why_unsettled(keeper.leads(again, at(16.5)), at(16.5)) is None
    smaller = (said(3, "b1", "master", 1, members=("b1",)),)
    assert why_unsettled(keeper.leads(smaller, at(17)), at(17)) is not None
    assert incomplete(keeper.leads(smaller, at(17)), ALONE) == "not in sync with brokers: b2, b3"


class Leaderless:
    """A system in which every node stands alone."""


class ItsOwnIdea:
    """A system that knows better when it has settled."""

    def settled(self, leads, now_ns):
        return f"{len(leads)} subjects at {now_ns}"


def test_a_system_without_leaders_has_always_settled():
    assert subjects_of(Leaderless(), {}, 4) == ()
    seen = tuple(Observation(time_ns=1, asked_ns=1, node=node, alive=True) for node in NODES)
    leads = LeadKeeper(()).leads(seen, at(1))
    assert leads == {}
    assert missing_to_settle(Leaderless(), leads, at(1)) is None
    assert not_ready(latest(*seen), ()) is None


def test_a_system_may_say_itself_when_it_has_settled():
    assert missing_to_settle(ItsOwnIdea(), {}, 7) == "0 subjects at 7"


def test_a_thousand_subjects_each_with_a_leader_of_its_own():
    subjects = tuple(Subject(name=f"partition-{i}", keys=(i,)) for i in range(1000))
    seen = []
    for place, node in enumerate(NODES):
        own = (Claim(subject=f"partition-{i}", leader=node, epoch=i + 1) for i in range(place, 1000, 3))
        seen.append(Observation(time_ns=1, asked_ns=1, node=node, alive=True, claims=tuple(own)))
    leads = LeadKeeper(subjects).leads(tuple(seen), at(1))
    assert [leads[f"partition-{i}"].leader for i in range(4)] == ["b1", "b2", "b3", "b1"]
    assert why_unsettled(leads, at(10)) is None


def test_what_nobody_named_before_counts_too():
    seen = Observation(time_ns=1, asked_ns=1, node="b1", alive=True, claims=(Claim(subject="late", leader="b1"),))
    assert leads_of(latest(seen), ())["late"].leader == "b1"
