"""From where clients watch, when a space was watched whole, and a whole run on a fake."""

import pytest
from final_steps import performed

from chaos.core.errors import UsageError
from chaos.core.op import Completion, Type
from chaos.models.coordination.watch import DELETED, Event, Events, F, Followed, FromNow, Written
from chaos.storage.runinfo import Promises
from chaos.testing import FakeSystem, run
from chaos.workload.base import Arrival, LoadSpec, check_suited, mix_of
from chaos.workload.final import FinalSpec, Part
from chaos.workload.objects.watch import AHEAD, AHEAD_EVERY, ENTRIES, LISTEN_MS, WatchLoad, WatchWorkload

SPEC = LoadSpec(keys=3, clients=2, seed=1, body_bytes=8, op_timeout_s=1.0, operations=frozenset(F))
OK, FAIL = Type.OK, Type.FAIL


def told(*revisions):
    return Events([Event(batch=0, revision=one, entry=0, value=one) for one in revisions])


def asked_from(load, *answers):
    """The revisions from which client 1 watches space 2 when each watch is answered so."""
    out = []
    for kind, result in answers:
        op = load.invocation(Arrival(0, F.SUBSCRIBE, 1, 2), 7, 100)
        assert load.invocation(Arrival(0, F.SUBSCRIBE, 1, 2), 7, 100) is None, "it watches"
        assert load.invocation(Arrival(0, F.WRITE, 1, 2), 7, 100) is not None, "writes wait for nobody"
        out.append(op.argument.revision)
        load.learn(op, Completion(type=kind, result=result))
    return out


def test_a_watch_goes_on_where_the_last_one_got_to_however_it_ended():
    load = WatchLoad(SPEC, WatchWorkload.mix)
    answers = [(OK, told(3, 4)), (FAIL, told(6)), (FAIL, told()), (Type.NOT_SENT, None), (OK, told())]
    assert asked_from(load, *answers) == [1, 5, 7, 7, 7]


def test_a_watch_of_what_is_compacted_goes_on_at_the_oldest_revision():
    load, gone = WatchLoad(SPEC, WatchWorkload.mix), Events(oldest=9)
    assert asked_from(load, (OK, told(3)), (FAIL, gone), (OK, told(12)), (FAIL, gone)) == [1, 4, 9, 13]


def test_some_watches_ask_for_the_future_and_do_not_move_on():
    load = WatchLoad(SPEC, WatchWorkload.mix)
    wrote = load.invocation(Arrival(0, F.WRITE, 0, 2), 7, 100)
    load.learn(wrote, Completion(type=OK, result=Written(revision=50, effects=1)))
    load.learn(wrote, Completion(type=OK, result=Written(revision=60, effects=0)))
    answers = [*[(OK, told(4))] * (AHEAD_EVERY - 1), (OK, told(80)), (OK, told())]
    assert asked_from(load, *answers)[-2:] == [50 + AHEAD, 5]
    assert load.notes() == {2: 50}


def test_no_value_is_written_twice():
    load, seen = WatchLoad(SPEC, WatchWorkload.mix), []
    for number in range(200):
        changes = load.invocation(Arrival(0, F.WRITE, number % 2, 0), 7, 100).argument.changes
        entries = [one.entry for one in changes]
        assert len(set(entries)) == len(entries)
        assert set(entries) <= set(range(ENTRIES))
        seen += [one.value for one in changes if one.value != DELETED]
    assert len(set(seen)) == len(seen) > 200


def test_a_put_changes_one_entry():
    load = WatchLoad(SPEC, WatchWorkload.mix)
    sizes = {len(load.invocation(Arrival(0, F.PUT, 0, 0), 7, 100).argument.changes) for _ in range(30)}
    assert sizes == {1}


def test_systems_are_asked_for_the_writes_that_they_know():
    mix = WatchWorkload.mix
    assert mix_of(WatchWorkload(), frozenset({F.PUT, F.SUBSCRIBE})) == {
        F.PUT: mix[F.PUT],
        F.SUBSCRIBE: mix[F.SUBSCRIBE],
    }
    assert mix_of(WatchWorkload(), frozenset({F.WRITE, F.SUBSCRIBE}))[F.WRITE] == mix[F.WRITE]


FOLLOWING = frozenset({F.PUT, F.FOLLOW})


def test_where_no_watch_begins_at_a_revision_clients_follow_from_now_on():
    load = WatchLoad(SPEC, mix_of(WatchWorkload(), FOLLOWING))
    first = load.invocation(Arrival(0, F.FOLLOW, 1, 2), 7, 100)
    assert first.argument == FromNow(listen_ms=LISTEN_MS)
    assert load.invocation(Arrival(0, F.FOLLOW, 1, 2), 7, 100) is None, "it follows"
    load.learn(first, Completion(type=FAIL, result=Followed(told(5).events, since=4)))
    assert load.invocation(Arrival(0, F.FOLLOW, 1, 2), 7, 100).argument == first.argument


def test_what_nobody_followed_is_not_asked_for_at_the_end():
    spec = FinalSpec(keys=2, op_timeout_s=1.0, operations=FOLLOWING, promises=Promises())
    assert WatchWorkload().final(spec) == ()


@pytest.mark.parametrize("operations", [FOLLOWING, frozenset({F.WRITE, F.SUBSCRIBE})])
def test_one_of_the_two_ways_to_watch_is_enough(operations):
    check_suited(WatchWorkload(), "x", operations, idempotent_sends=False)


def test_a_system_without_watches_is_refused():
    with pytest.raises(UsageError, match="clients of x make no subscribe or follow; take another workload"):
        check_suited(WatchWorkload(), "x", frozenset({F.PUT}), idempotent_sends=False)


def last_watches():
    spec = FinalSpec(keys=2, op_timeout_s=1.0, operations=frozenset(F), promises=Promises())
    (phase,) = WatchWorkload().final(spec)
    assert phase.parts() == (Part(0), Part(1))
    return phase


def test_at_the_end_a_space_is_watched_until_all_that_was_acknowledged_was_told():
    answers = iter([(OK, told(2, 3)), (FAIL, told(5)), (OK, told(7))])
    why, asked = performed(
        last_watches(), Part(0), lambda *_: Completion(type=(one := next(answers))[0], result=one[1]), notes=(4, 7)
    )
    assert (why, [one.revision for _, _, one in asked]) == ("", [1, 4, 6])


def test_at_the_end_a_space_whose_beginning_is_compacted_is_watched_from_the_oldest_revision():
    answers = iter([(FAIL, Events(oldest=5)), (OK, told(5, 7))])
    why, asked = performed(
        last_watches(), Part(0), lambda *_: Completion(type=(one := next(answers))[0], result=one[1]), notes=(7,)
    )
    assert (why, [one.revision for _, _, one in asked]) == ("", [1, 5])


def test_a_space_of_which_all_is_compacted_is_watched_once_more():
    answers = iter([(FAIL, Events(oldest=9)), (OK, told())])
    why, asked = performed(
        last_watches(), Part(0), lambda *_: Completion(type=(one := next(answers))[0], result=one[1]), notes=(7,)
    )
    assert (why, [one.revision for _, _, one in asked]) == ("", [1, 9])


def test_a_space_that_is_not_told_whole_is_not_complete():
    answer = Completion(type=OK, result=told(3))
    why, _ = performed(last_watches(), Part(0), lambda *_: answer, notes=(4,), limit_s=3.0)
    assert why == "told revisions up to 3, 4 was acknowledged"


def step(held, op):
    """A correct store of one space: revision, entries and all events."""
    revision, entries, events = held or (1, {}, [])
    if op.f is F.SUBSCRIBE:
        return held, Events([one for one in events if one.revision >= op.argument.revision], batches=1)
    if op.f is F.FOLLOW:
        return held, Followed(since=revision + 1)  # it ends at once
    entries, events, effects = dict(entries), list(events), 0
    for place, one in enumerate(op.argument.changes):
        if one.value == DELETED and one.entry not in entries:
            continue
        before = entries.pop(one.entry, (0, DELETED))
        if one.value != DELETED:
            entries[one.entry] = (revision + 1, one.value)
        effects |= 1 << place
        events.append(
            Event(
                batch=revision,
                revision=revision + 1,
                entry=one.entry,
                value=one.value,
                previous_revision=before[0],
                previous_value=before[1],
            )
        )
    revision += bool(effects)
    return (revision, entries, events), Written(revision=revision, effects=effects)


def skip_some(step, held, op):
    """A bug: watches are not told of every fifth revision."""
    after, answer = step(held, op)
    if op.f is F.SUBSCRIBE:
        answer = Events([one for one in answer.events if one.revision % 5], batches=1)
    return after, answer


@pytest.mark.broad
@pytest.mark.parametrize("bug", [None, skip_some])
def test_a_whole_run_on_a_fake(bug, tmp_path):
    done = run(tmp_path, FakeSystem(objects={"watch": step}, bug=bug), workload="watch", reports=())
    row = done.check("watch")
    assert (row.valid, set(row.anomalies)) == (bug is None, set() if bug is None else {"watch-skipped"}), row
