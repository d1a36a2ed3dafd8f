"""The runner's clock, stages and ways out, with faults that are kept in memory; real ones are in tests/e2e_netns."""

import threading

import msgspec
import pytest
from leading import leads
from runner_bench import BRIEF_S, LASTS, LONG, SHORT_S, Bench, Kept, Together, stages

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import ChaosError, DeployError
from nemesis import runner
from nemesis.faults.fault import Fault as Injectable
from nemesis.faults.fault import Outcomes, check_fault, on_each
from nemesis.plan.sequence import Step
from nemesis.runner import lead_s


def fail():
    raise DeployError("the host is gone")


@pytest.fixture
def kept():
    class Mine(Kept):
        in_force: set[str] = set()  # noqa: RUF012 - a class of this test alone
        calls: list[str] = []  # noqa: RUF012
        on_act = on_verify = on_still = on_heal = staticmethod(lambda: None)

    return Mine


def test_a_fault_lives_through_its_stages_at_its_times(kept, tmp_path):
    with Bench(kept, tmp_path, rows=2) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"] * 2
    assert [event.id for event in events] == [1] * 4 + [2] * 4
    assert {event.name for event in events} == {"leader-kill"}
    assert all(event.targets == ("b2",) and event.description == "leader b2, killed" for event in events)
    assert [event.evidence.proven for event in events if event.evidence] == [True] * 6
    assert [event.time_ns for event in events] == sorted(event.time_ns for event in events)
    for row, (inject, _, heal, _) in zip(bench.plan, (events[:4], events[4:]), strict=True):
        assert inject.time_ns >= bench.origin_ns + row.at_s * NS_PER_S
        assert heal.time_ns >= bench.origin_ns + (row.at_s + row.duration_s) * NS_PER_S
    assert kept.calls == ["act", "still", "heal"] * 2
    assert bench.nemesis.unhealed() == ()


def left(bench):
    """The bench's plan, whose faults are never healed."""
    bench.nemesis._plan = bench.plan = tuple(msgspec.structs.replace(row, heals=False) for row in bench.plan)
    return bench


def test_a_fault_that_never_heals_outlives_its_row_and_is_looked_at_again_when_all_is_over(kept, tmp_path):
    with left(Bench(kept, tmp_path)) as bench:
        bench.finish()
        bench.nemesis.heal_all(but_left=True)
        assert stages(bench.events()) == ["inject", "active"]
        assert kept.in_force == {"b2"} == bench.nemesis.left_in_force()
        bench.nemesis.end_left()
        events = bench.events()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert [event.evidence.summary for event in events[1:]] == ["taken", "still taken", "free"]
    assert not any(event.identity.heals for event in events)
    assert kept.in_force == set() == bench.nemesis.left_in_force()
    assert bench.nemesis.unhealed() == ()


def test_a_fault_that_was_left_and_did_not_last_is_told(kept, tmp_path):
    kept.lasts = False
    with left(Bench(kept, tmp_path)) as bench:
        bench.finish()
        bench.nemesis.end_left()
        events = bench.events()
    assert stages(events) == ["inject", "active", "heal", "broke", "healed"]
    assert events[3].note == "did not last: still taken"


def test_a_fault_that_was_left_is_healed_on_every_way_out(kept, tmp_path):
    with left(Bench(kept, tmp_path)) as bench:
        bench.finish()
        bench.nemesis.heal_all()
    assert kept.in_force == set()
    assert bench.events()[2].evidence is None, "nobody looked whether it had lasted"


def test_an_interrupt_heals_a_fault_that_would_never_heal(kept, tmp_path):
    with left(Bench(kept, tmp_path, **LONG, rows=3)) as bench:
        bench.await_stage("active")
        bench.stop.set()
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert events[2].note.startswith("stopped ")
    assert kept.in_force == set() == bench.nemesis.left_in_force()


def test_what_could_not_be_done_is_not_left(kept, tmp_path):
    kept.on_act = staticmethod(fail)
    with left(Bench(kept, tmp_path)) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "broke", "heal", "healed"]
    assert kept.in_force == set() == bench.nemesis.left_in_force()


def test_the_active_event_is_stamped_when_acting_ended_not_when_it_was_looked_at(kept, tmp_path):
    gate = threading.Event()
    kept.on_verify = staticmethod(lambda: gate.wait(20) and None)
    with Bench(kept, tmp_path, **LONG, rows=3) as bench:
        bench.await_stage("inject")
        before_ns = now_ns()
        gate.set()
        bench.await_stage("active")
        bench.stop.set()
        events = bench.finish()
    assert events[1].stage == "active"
    assert events[1].time_ns <= before_ns
    assert events[1].evidence.proven


def test_a_look_that_takes_too_long_does_not_delay_the_healing(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LEAST_WINDOW_S", SHORT_S)  # so that a row of this length is not short
    gate = threading.Event()
    kept.on_verify = staticmethod(lambda: gate.wait(20) and None)
    kept.on_heal = staticmethod(gate.set)
    with Bench(kept, tmp_path) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert not events[1].evidence.proven
    assert "not looked at" in events[1].evidence.summary
    assert events[2].evidence is None, "no second look while the first one runs"
    assert events[3].evidence.proven


def test_a_short_row_is_healed_once_it_was_looked_at(kept, tmp_path):
    def look():
        threading.Event().wait(2 * BRIEF_S)
        kept.calls.append("looked")

    kept.on_verify = staticmethod(look)
    with Bench(kept, tmp_path, duration_s=BRIEF_S, time_limit_s=0.1 + BRIEF_S) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert kept.calls == ["act", "looked", "still", "heal"]
    assert all(event.evidence.proven for event in events[1:])


def test_a_short_row_does_not_wait_for_ever_for_a_look(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE_S", BRIEF_S)
    gate = threading.Event()
    kept.on_verify = staticmethod(lambda: gate.wait(20) and None)
    kept.on_heal = staticmethod(gate.set)
    with Bench(kept, tmp_path, duration_s=BRIEF_S, time_limit_s=0.1 + BRIEF_S) as bench:
        events = bench.finish()
    assert not events[1].evidence.proven
    assert "not looked at" in events[1].evidence.summary


def test_a_short_row_begins_late_and_keeps_its_length(kept, tmp_path):
    asked: list[int] = []

    def leadership():
        asked.append(now_ns())
        return leads(master="b2" if asked[-1] > asked[0] + 2 * BRIEF_S * NS_PER_S else None)

    with Bench(kept, tmp_path, duration_s=BRIEF_S, time_limit_s=0.1 + BRIEF_S, leadership=leadership) as bench:
        inject, _, heal, _ = bench.finish()
    assert inject.time_ns > bench.origin_ns + (0.1 + 2 * BRIEF_S) * NS_PER_S
    # The row's end is set between the answer who leads and its first event.
    assert heal.time_ns >= asked[-1] + BRIEF_S * NS_PER_S


def test_a_row_that_follows_another_hits_whom_that_one_hit(kept, tmp_path):
    seen = [leads(master="b2")]
    kept.on_heal = staticmethod(lambda: seen.__setitem__(0, leads(master="b3")))
    with Bench(kept, tmp_path, rows=2, follow=True, leadership=lambda: seen[0]) as bench:
        events = bench.finish()
    assert [event.targets for event in events] == [("b2",)] * 8


def test_a_row_that_follows_one_that_hit_nobody_is_skipped(kept, tmp_path):
    with Bench(kept, tmp_path, rows=2, follow=True, leadership=leads) as bench:
        events = bench.finish()
    assert [(event.id, event.stage) for event in events] == [(1, "skipped"), (2, "skipped")]
    assert events[1].note == "fault 1 had hit nobody"


def test_no_leader_until_the_rows_end_is_skipped_and_the_next_row_runs(kept, tmp_path):
    seen = [leads()]
    with Bench(kept, tmp_path, rows=2, leadership=lambda: seen[0]) as bench:
        bench.await_stage("skipped")
        seen[0] = leads(master="b3")
        events = bench.finish()
    assert stages(events) == ["skipped", "inject", "active", "heal", "healed"]
    first = bench.plan[0]
    assert events[0].time_ns >= bench.origin_ns + (first.at_s + first.duration_s) * NS_PER_S
    assert "no leader" in events[0].note
    assert events[1].targets == ("b3",)


def test_a_leader_learned_within_the_row_is_hit_until_the_rows_end(kept, tmp_path):
    asked = []

    def leadership():
        asked.append(1)
        return leads(master="b1" if len(asked) > 3 else None)

    with Bench(kept, tmp_path, leadership=leadership, duration_s=2, time_limit_s=2.1) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert events[0].targets == ("b1",)
    row = bench.plan[0]
    assert events[0].time_ns > bench.origin_ns + row.at_s * NS_PER_S
    assert events[2].time_ns >= bench.origin_ns + (row.at_s + row.duration_s) * NS_PER_S


def test_rows_that_overlap_are_in_force_together_and_each_ends_by_itself(kept, tmp_path):
    short = Step(nemesis="leader-kill@controller", at=0.1, duration=SHORT_S)
    with Together(kept, tmp_path, LASTS, short) as bench:
        bench.await_stage("healed")
        assert kept.in_force == {"b2"}
        assert bench.nemesis.unhealed() == (1,)
        bench.stop.set()
        events = bench.finish()
    by_row = {row: stages(event for event in events if event.id == row) for row in (1, 2)}
    assert by_row == {row: ["inject", "active", "heal", "healed"] for row in (1, 2)}
    assert kept.in_force == set()


def test_a_fault_of_nodes_waits_for_a_free_target_and_says_whom_it_waited_for(kept, tmp_path):
    with Together(kept, tmp_path, LASTS, Step(nemesis="leader-kill", at=0.2, duration=SHORT_S)) as bench:
        bench.await_stage("skipped")
        bench.stop.set()
        events = bench.finish()
    (skipped,) = (event for event in events if event.id == 2)
    assert skipped.note == "no target was free until the row's end: b2 under another fault"


@pytest.mark.parametrize(
    "word", ["act", "verify", "verify_still", "heal", "verify_healed", "name", "verb", "help", "hits", "needs"]
)
def test_a_fault_without_undo_or_proof_or_its_words_cannot_be_registered(word):
    body = {name: value for name, value in vars(Kept).items() if name != word and not name.startswith("__")}
    with pytest.raises(TypeError, match=f"Half cannot be registered as a fault: it has no {word}$"):
        check_fault(type("Half", (Injectable,), body))
    check_fault(Kept)


@pytest.mark.parametrize(
    ("duration_s", "watches_s", "before_s"), [(4, 0, 1), (60, 0, 2), (5, 1, 2.5), (60, 1, 3), (10, 30, 5)]
)
def test_the_last_look_has_the_time_that_it_takes(duration_s, watches_s, before_s):
    assert lead_s(duration_s, watches_s) == before_s


def test_a_last_look_that_watches_is_begun_by_how_long_it_watches(kept, tmp_path, monkeypatch):
    asked, real = [], runner.lead_s
    monkeypatch.setattr(runner, "lead_s", lambda *given: asked.append(given) or real(*given))
    kept.last_look_s = lambda _self: 0.25
    with Bench(kept, tmp_path) as bench:
        bench.finish()
    assert asked == [(SHORT_S, 0.25)]


def test_on_each_does_all_at_once_and_names_every_failure():
    barrier = threading.Barrier(3)

    def act(name):
        barrier.wait(20)
        if name != "b":
            raise ChaosError(f"no {name}")
        return name.upper()

    outcomes = on_each(["a", "b", "c"], act, "this", 30)
    assert outcomes.good() == {"b": "B"}
    assert outcomes.bad() == {"a": "no a", "c": "no c"}
    with pytest.raises(ChaosError, match="trying: a: no a; c: no c"):
        outcomes.check("trying")
    assert Outcomes({"a": 1}).check("trying") == {"a": 1}


def test_a_node_that_could_not_be_looked_at_is_not_as_wanted_whatever_was_looked_for():
    looks = Outcomes({"a": 7, "b": DeployError("host b is gone"), "c": 8})
    assert looks.facts(lambda name, seen: (seen == 7, f"{name} has {seen}")) == {
        "a": (True, "a has 7"),
        "b": (False, "could not be looked at: host b is gone"),
        "c": (False, "c has 8"),
    }


def test_on_each_does_not_wait_for_ever():
    gate = threading.Event()
    outcomes = on_each(["a", "b"], lambda name: name if name == "a" else gate.wait(60), "an answer", 0.2)
    gate.set()
    assert outcomes.good() == {"a": "a"}
    assert outcomes.bad() == {"b": "waited 0.2 s for an answer"}


def test_a_row_that_waits_begins_when_another_leads(kept, tmp_path):
    led = {"by": "b1"}
    times = {"when": "role-change@brokers", "within_s": 20.0, "time_limit_s": 21.1}
    with Bench(kept, tmp_path, leadership=lambda: leads(master=led["by"]), **times) as bench:
        while now_ns() < bench.origin_ns + 0.5 * NS_PER_S:
            threading.Event().wait(0.01)
        assert bench.events() == []
        changed_ns = now_ns()
        led["by"] = "b3"
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert events[0].targets == ("b3",)
    assert changed_ns <= events[0].time_ns
    assert events[2].time_ns >= changed_ns + SHORT_S * NS_PER_S
    (note,) = bench.notes()
    assert note.startswith("fault 1 (leader-kill) begins, for role-change@brokers has come: b3 leads brokers")


def test_a_row_whose_occasion_does_not_come_is_skipped(kept, tmp_path):
    with Bench(kept, tmp_path, when="role-change", within_s=0.3, time_limit_s=2.0) as bench:
        (event,) = bench.finish()
    assert (event.stage, event.note) == ("skipped", "waited 0.3 s in vain for role-change")
    assert event.time_ns >= bench.origin_ns + 0.4 * NS_PER_S
    assert kept.calls == []


def test_who_says_stop_ends_the_wait(kept, tmp_path):
    with Bench(kept, tmp_path, when="role-change", within_s=60.0, time_limit_s=62.0) as bench:
        bench.stop.set()
        assert bench.finish() == []
    assert kept.calls == []
