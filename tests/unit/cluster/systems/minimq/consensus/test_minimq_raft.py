"""Raft's rules one by one: what a voter says, when it may say it, and what a restart finds."""

from random import Random

import pytest

from cluster.systems.minimq.consensus.raft import Committed, Raft, ReadReady
from cluster.systems.minimq.consensus.raft_log import Log, Stored, recover
from cluster.systems.minimq.consensus.raft_rules import committed_by, is_up_to_date, may_vote, quorum_of
from cluster.systems.minimq.protocol.io import Message, Send, SetTimer, Timer, Truncate, Write, Written
from cluster.systems.minimq.protocol.messages import (
    AppendAnswer,
    AppendEntries,
    CreateTopic,
    Entry,
    HardState,
    NoOp,
    PreVote,
    PreVoteAnswer,
    RequestVote,
    VoteAnswer,
)


def entry(index, term):
    return Entry(index=index, term=term, command=NoOp())


def raft(term=0, voted_for=None, terms=()):
    entries = tuple(entry(index + 1, each) for index, each in enumerate(terms))
    core = Raft(
        name="a", peers=["b", "c"], stored=Stored(term=term, voted_for=voted_for, entries=entries), rng=Random(1)
    )
    core.start(0)
    return core


def tell(core, sender, body, now_ms=0):
    return core.handle(Message(sender=sender, body=body), now_ms)


def sent(effects):
    return [(each.to, each.body) for each in effects if isinstance(each, Send)]


def durable(core, effects, now_ms=0):
    tokens = [each.token for each in effects if isinstance(each, Write | Truncate)]
    return core.handle(Written(token=max(tokens)), now_ms)


def leader(terms=(), term=0):
    """A leader of the term after, whose own entries are not durable yet; with what it said when it became one."""
    core = raft(term=term, terms=terms)
    core.handle(Timer(name="raft-election"), 1000)
    effects = tell(core, "b", PreVoteAnswer(term=term + 1, granted=True), 1000)
    durable(core, effects, 1000)
    effects = tell(core, "b", VoteAnswer(term=term + 1, granted=True), 1000)
    assert core.role == "leader"
    return core, effects


def append(term, prev=(0, 0), entries=(), commit=0, round_=0):
    return AppendEntries(
        term=term, prev_term=prev[0], prev_index=prev[1], entries=tuple(entries), commit=commit, round=round_
    )


def matched(term, index, round_=0):
    return AppendAnswer(term=term, matched=True, index=index, round=round_)


# ---------------------------------------------------------------- the rules


@pytest.mark.parametrize(("count", "quorum"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_quorum(count, quorum):
    assert quorum_of(count) == quorum


def test_a_log_is_judged_by_its_last_term_before_its_length():
    assert is_up_to_date((3, 1), (2, 9))
    assert not is_up_to_date((2, 9), (3, 1))
    assert is_up_to_date((2, 4), (2, 4))
    assert not is_up_to_date((2, 3), (2, 4))


def test_one_vote_per_term_which_may_be_repeated():
    assert may_vote(None, "b")
    assert may_vote("b", "b")
    assert not may_vote("c", "b")


def test_only_entries_of_the_own_term_are_committed_by_counting():
    terms = Log([entry(1, 1), entry(2, 2), entry(3, 4)])
    assert committed_by([3, 2, 0], 4, 0, terms.term_at) == 0  # figure 8 (c): entry 2 is on a majority
    assert committed_by([3, 3, 0], 4, 0, terms.term_at) == 3  # figure 8 (e)
    assert committed_by([3, 3, 0], 4, 3, terms.term_at) == 3


def test_commit_never_steps_back():
    assert committed_by([3, 1, 0], 1, 2, Log([entry(1, 1), entry(2, 1), entry(3, 1)]).term_at) == 2


# ---------------------------------------------------------------- the log and its recovery


def test_recovery_replays_writes_and_truncations_in_order():
    records = [
        HardState(term=1, voted_for="b"),
        entry(1, 1),
        entry(2, 1),
        HardState(term=2, voted_for=None),
        Truncate(token=5, start=2),
        entry(2, 2),
    ]
    assert recover(records) == Stored(term=2, voted_for=None, entries=(entry(1, 1), entry(2, 2)))
    assert recover(records[:5]) == Stored(term=2, voted_for=None, entries=(entry(1, 1),))
    assert recover([]) == Stored()


def test_a_gap_in_the_records_is_an_error():
    with pytest.raises(ValueError, match="entry 3 cannot follow entry 1"):
        recover([entry(1, 1), entry(3, 1)])


def test_terms_around_the_log():
    log = Log([entry(1, 1), entry(2, 3), entry(3, 3)])
    assert [log.term_at(index) for index in range(5)] == [0, 1, 3, 3, -1]
    assert log.first_of_term_at(3) == 2
    assert log.first_of_term_at(1) == 1
    assert log.last == (3, 3)


# ---------------------------------------------------------------- durability before words


def test_a_vote_leaves_only_when_it_is_durable():
    core = raft()
    effects = tell(core, "b", RequestVote(term=1, last_index=0, last_term=0))
    assert sent(effects) == []
    assert HardState(term=1, voted_for="b") in [each.record for each in effects if isinstance(each, Write)]
    assert sent(durable(core, effects)) == [("b", VoteAnswer(term=1, granted=True))]


def test_entries_are_answered_only_when_durable():
    core = raft(term=1)
    effects = tell(core, "b", append(1, entries=[entry(1, 1)]))
    assert sent(effects) == []
    assert sent(durable(core, effects)) == [("b", matched(1, 1))]


def test_a_vote_is_asked_for_only_when_the_own_one_is_durable():
    core = raft()
    core.handle(Timer(name="raft-election"), 1000)
    effects = tell(core, "b", PreVoteAnswer(term=1, granted=True))
    assert (core.role, core.term, sent(effects)) == ("candidate", 1, [])
    assert [to for to, _ in sent(durable(core, effects))] == ["b", "c"]


def test_a_leader_counts_itself_only_when_durable():
    core, effects = leader()
    tell(core, "b", matched(1, 1))
    assert core.commit == 0
    outputs = durable(core, effects)
    assert core.commit == 1
    assert Committed(entry=entry(1, 1)) in outputs


# ---------------------------------------------------------------- votes


def test_no_second_vote_in_a_term_even_after_a_restart():
    core = raft(term=1, voted_for="b")
    assert sent(tell(core, "c", RequestVote(term=1, last_index=9, last_term=1))) == [
        ("c", VoteAnswer(term=1, granted=False))
    ]
    assert sent(tell(core, "b", RequestVote(term=1, last_index=9, last_term=1))) == [
        ("b", VoteAnswer(term=1, granted=True))
    ]


def test_no_vote_for_a_log_that_misses_something():
    core = raft(term=2, terms=[1, 2])
    effects = tell(core, "b", RequestVote(term=3, last_index=5, last_term=1))
    assert sent(durable(core, effects)) == [("b", VoteAnswer(term=3, granted=False))]
    assert core.voted_for is None


def test_a_pre_vote_changes_nothing_and_is_refused_while_a_leader_lives():
    core = raft(term=1)
    tell(core, "b", append(1), now_ms=1000)
    ask = PreVote(term=2, last_index=0, last_term=0)
    assert sent(tell(core, "c", ask, now_ms=1400)) == [("c", PreVoteAnswer(term=1, granted=False))]
    assert sent(tell(core, "c", ask, now_ms=1500)) == [("c", PreVoteAnswer(term=2, granted=True))]
    assert (core.term, core.voted_for) == (1, None)


def test_a_pre_vote_in_the_own_term_only_where_the_vote_is_free():
    ask = PreVote(term=1, last_index=0, last_term=0)
    assert sent(tell(raft(term=1), "c", ask)) == [("c", PreVoteAnswer(term=1, granted=True))]
    assert sent(tell(raft(term=1, voted_for="b"), "c", ask)) == [("c", PreVoteAnswer(term=1, granted=False))]


def test_a_cut_off_node_does_not_raise_its_term():
    core = raft()
    for i in range(10):
        core.handle(Timer(name="raft-election"), 1000 * i)
    assert (core.role, core.term) == ("precandidate", 0)


def test_election_time_outs_are_drawn_between_once_and_twice_the_least():
    core = raft()
    delays = [
        each.delay_ms
        for i in range(50)
        for each in core.handle(Timer(name="raft-election"), i)
        if isinstance(each, SetTimer)
    ]
    assert len(set(delays)) > 10
    assert 500 <= min(delays) <= max(delays) <= 1000


# ---------------------------------------------------------------- replication


def test_a_conflict_is_cut_and_a_late_message_is_not():
    core = raft(term=2, terms=[1, 1, 1])
    effects = tell(core, "b", append(2, prev=(1, 1), entries=[entry(2, 2)]))
    assert [each.start for each in effects if isinstance(each, Truncate)] == [2]
    durable(core, effects)
    effects = tell(core, "b", append(2, prev=(2, 2), entries=[entry(3, 2)]))
    durable(core, effects)
    late = tell(core, "b", append(2, prev=(1, 1), entries=[entry(2, 2)]))
    assert [each for each in late if isinstance(each, Truncate | Write)] == []
    assert core.log.last == (2, 3)


def test_a_mismatch_names_where_to_try_next():
    core = raft(term=3, terms=[1, 2, 2])
    assert sent(tell(core, "b", append(3, prev=(3, 7)))) == [
        ("b", AppendAnswer(term=3, matched=False, index=4, round=0))
    ]
    assert sent(tell(core, "b", append(3, prev=(3, 3)))) == [
        ("b", AppendAnswer(term=3, matched=False, index=2, round=0))
    ]


def test_a_follower_commits_no_further_than_it_was_shown():
    core = raft(term=1, terms=[1, 1, 1])  # entries 2 and 3 may be of a former leader, not yet compared
    outputs = tell(core, "b", append(1, prev=(1, 1), commit=3))
    assert core.commit == 1
    assert [each.entry.index for each in outputs if isinstance(each, Committed)] == [1]


def test_an_old_leader_is_told_the_term_and_steps_down():
    core = raft(term=5)
    assert sent(tell(core, "b", append(4))) == [("b", AppendAnswer(term=5, matched=False, index=0, round=0))]
    old, _ = leader()
    tell(old, "b", AppendAnswer(term=5, matched=False, index=0, round=0))
    assert (old.role, old.term) == ("follower", 5)


def test_a_leader_without_a_quorum_steps_down():
    core, _ = leader()
    tell(core, "b", matched(1, 0))
    core.handle(Timer(name="raft-quorum"), 2000)
    assert core.role == "leader"
    core.handle(Timer(name="raft-quorum"), 3000)
    assert (core.role, core.term, core.leader) == ("follower", 1, None)


def test_an_answer_of_an_earlier_term_counts_for_nothing():
    core, effects = leader(terms=[1], term=1)
    durable(core, effects)
    tell(core, "b", matched(1, 2))
    assert core.commit == 0


# ---------------------------------------------------------------- reads


def ready(outputs):
    return [each.id for each in outputs if isinstance(each, ReadReady)]


def test_a_read_waits_for_a_round_that_began_after_it():
    core, effects = leader()
    durable(core, effects)
    tell(core, "b", matched(1, 1, round_=0))
    effects = core.read("r")
    assert ready(effects) == []
    assert ready(tell(core, "b", matched(1, 1, round_=0))) == []  # an answer to what was sent before the read
    assert ready(tell(core, "b", matched(1, 1, round_=1))) == ["r"]


def test_a_read_waits_for_the_first_commit_of_the_term():
    core, effects = leader(terms=[1], term=1)
    core.read("r")
    assert ready(tell(core, "b", AppendAnswer(term=2, matched=False, index=1, round=1))) == []
    durable(core, effects)
    assert ready(tell(core, "b", matched(2, 2, round_=1))) == ["r"]


def test_a_read_of_a_deposed_leader_is_never_ready():
    core, _ = leader()
    core.read("r")
    tell(core, "c", append(2, round_=9))
    assert ready(tell(core, "b", matched(1, 1, round_=9))) == []


def test_a_late_message_of_its_earlier_term_confirms_no_read_of_a_leader():
    """Else a leader that led before would take the refusal for a round of now, however long it has been deposed."""
    follower = raft(term=2)
    [(_, refusal)] = sent(tell(follower, "b", append(1, round_=9)))
    core, effects = leader(terms=[1], term=1)
    durable(core, effects)
    tell(core, "b", matched(2, 2))
    core.read("r")
    assert ready(tell(core, "b", refusal)) == []
    assert ready(tell(core, "b", matched(2, 2, round_=1))) == ["r"]


def test_commands_come_back_in_order_once():
    core, _ = leader()
    effects = core.propose(CreateTopic(topic="t", queues=1))
    durable(core, effects)
    outputs = [*tell(core, "b", matched(1, 2)), *tell(core, "c", matched(1, 2))]
    assert [each.entry.index for each in outputs if isinstance(each, Committed)] == [1, 2]


def test_strangers_are_passed_over():
    core = raft()
    assert tell(core, "x", RequestVote(term=9, last_index=0, last_term=0)) == []
    assert core.term == 0
