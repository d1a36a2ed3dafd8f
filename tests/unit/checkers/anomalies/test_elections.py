"""Whether a new leader came from outside of the SyncStateSet that was named last."""

import pytest

from chaos.core.clock import NS_PER_S
from checkers.anomalies.elections import elected_outside
from checkers.history.leadership import InSync, Reign


def reign(node, epoch, start, end):
    return Reign(
        subject="brokers",
        kind="replica",
        node=node,
        epoch=epoch,
        word="master",
        first_ns=round(start * NS_PER_S),
        last_ns=round(end * NS_PER_S),
    )


def named(node, leader, members, number, start, end, subject="brokers"):
    return InSync(
        subject=subject,
        node=node,
        leader=leader,
        epoch=1,
        members=tuple(members.split()),
        number=number,
        first_ns=round(start * NS_PER_S),
        last_ns=round(end * NS_PER_S),
    )


OLD, NEW = reign("b1", 1, 0, 3), reign("b2", 2, 4, 9)
FULL = named("c1", "b1", "b1 b2 b3", 3, 0, 1)
ALONE = named("c1", "b1", "b1", 4, 2, 3)
THEN = named("b2", "b2", "b2 b3", 6, 4, 9)


def judged(*said, reigns=(OLD, NEW), of=NEW):
    found = elected_outside(reigns, said, of)
    return found and (found.before.node, found.last.node, found.last.members, found.last.last_ns / NS_PER_S)


def test_a_leader_that_the_set_named_last_does_not_have():
    assert judged(FULL, ALONE, THEN) == ("b1", "c1", ("b1",), 3.0)


def test_the_newest_number_counts_whoever_said_it_last():
    own = named("b1", "b1", "b1 b2 b3", 3, 0, 4)
    assert judged(own, ALONE, THEN) == ("b1", "c1", ("b1",), 3.0)


def test_a_set_that_is_still_named_under_the_new_leader_counts_until_it_was_heard():
    assert judged(FULL, named("b1", "b1", "b1", 4, 2, 8), THEN) == ("b1", "b1", ("b1",), 4.0)


@pytest.mark.parametrize(
    "said",
    [
        [FULL, THEN],
        [ALONE, named("c1", "b1", "b1 b2", 5, 3, 3.5), THEN],
    ],
    ids=["never shrank", "grew again"],
)
def test_an_election_inside_the_set_says_nothing(said):
    assert judged(*said) is None


@pytest.mark.parametrize(
    "said",
    [
        [],
        [THEN],
        [ALONE],
        [named("c1", "b1", "b1", -1, 2, 3), THEN],
        [named("c1", "b1", "", 4, 2, 3), THEN],
        [named("c1", "b1", "b1", 4, 2, 3, subject="others"), THEN],
        [ALONE, named("c2", "b1", "b1 b2", 4, 2, 3), THEN],
        [named("c1", "b1", "b1", 4, 0, 1.9), THEN],
        [ALONE, named("b2", "b2", "b2 b3", 7, 4, 9)],
    ],
    ids=[
        "nothing was said",
        "nothing before",
        "nothing after",
        "without a number",
        "of nobody",
        "of another subject",
        "in two ways",
        "long before",
        "changes that nobody heard",
    ],
)
def test_a_set_that_is_not_known_says_nothing(said):
    assert judged(*said) is None


@pytest.mark.parametrize(
    ("reigns", "of"),
    [
        ((NEW,), NEW),
        ((reign("b1", 0, 0, 3), NEW), NEW),
        ((OLD, reign("b3", 1, 1, 2), NEW), NEW),
        ((OLD, NEW, reign("b3", 2, 4, 5)), NEW),
        ((OLD, reign("b1", 2, 4, 9)), reign("b1", 2, 4, 9)),
    ],
    ids=["the first leader", "an epoch between", "two before", "two now", "the same one again"],
)
def test_leaders_that_are_not_known_say_nothing(reigns, of):
    then = named(of.node, of.node, "b2 b3", 6, 4, 9)
    assert judged(ALONE, then, reigns=reigns, of=of) is None
