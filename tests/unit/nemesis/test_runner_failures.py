"""What the runner does when it is stopped, and when acting, looking, healing or observing fails."""

import threading

import pytest
from leading import leads
from runner_bench import LONG, Bench, Kept, stages

from chaos.core.errors import ChaosError


@pytest.fixture
def kept():
    class Mine(Kept):
        in_force: set[str] = set()  # noqa: RUF012 - a class of this test alone
        calls: list[str] = []  # noqa: RUF012
        on_act = on_verify = on_still = on_heal = staticmethod(lambda: None)

    return Mine


def test_stop_heals_at_once_and_says_what_was_not_begun(kept, tmp_path):
    with Bench(kept, tmp_path, rows=3, **LONG) as bench:
        bench.await_stage("active")
        bench.stop.set()
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert "before the row's end" in events[2].note
    assert kept.in_force == set()
    assert bench.notes() == ["stopped: 2 planned fault(s) not begun"]


def test_heal_all_ends_the_schedule_without_touching_the_callers_event(kept, tmp_path):
    with Bench(kept, tmp_path, rows=3, **LONG) as bench:
        bench.await_stage("active")
        bench.nemesis.heal_all()
        assert kept.in_force == set()
        events = bench.finish()
        assert not bench.stop.is_set()
        bench.nemesis.heal_all()
    assert stages(events) == stages(bench.events()) == ["inject", "active", "heal", "healed"]


def test_an_act_that_raises_is_broke_and_healed_at_once(kept, tmp_path):
    def fail():
        raise ChaosError("iptables said no")

    kept.on_act = staticmethod(fail)
    with Bench(kept, tmp_path, **LONG, rows=3) as bench:
        bench.await_stage("healed")
        bench.stop.set()
        events = bench.finish()
    assert stages(events) == ["inject", "broke", "heal", "healed"]
    assert events[1].note == "iptables said no"
    assert kept.in_force == set()


def test_a_look_that_raises_is_unproven(kept, tmp_path):
    def fail():
        raise ValueError("three\nlines\nof it")

    kept.on_verify = staticmethod(fail)
    with Bench(kept, tmp_path, **LONG, rows=3) as bench:
        bench.await_stage("active")
        bench.stop.set()
        events = bench.finish()
    assert not events[1].evidence.proven
    assert events[1].evidence.summary == "could not look: ValueError: three lines of it"
    assert stages(events) == ["inject", "active", "heal", "healed"]


def test_a_fault_that_does_not_last_is_broke(kept, tmp_path):
    kept.lasts = False
    with Bench(kept, tmp_path) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "broke", "healed"]
    assert not events[2].evidence.proven
    assert events[3].note == "did not last: still taken"
    assert events[4].note == "", "what a reader keeps last is why it broke"


def test_a_last_look_that_does_not_end_in_time_has_not_seen_the_fault_last(kept, tmp_path):
    gate = threading.Event()
    kept.on_still = staticmethod(lambda: gate.wait(20) and None)
    kept.on_heal = staticmethod(gate.set)
    with Bench(kept, tmp_path) as bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "broke", "healed"]
    assert not events[2].evidence.proven
    assert events[3].note.startswith("not seen to last: not looked at: the fault ended ")


def test_a_last_look_that_somebody_stops_says_so_and_shows_nothing(kept, tmp_path):
    gate = threading.Event()
    kept.on_heal = staticmethod(gate.set)
    bench = Bench(kept, tmp_path, duration_s=2, time_limit_s=2.1)
    kept.on_still = staticmethod(lambda: bench.stop.set() or (gate.wait(20) and None))
    with bench:
        events = bench.finish()
    assert stages(events) == ["inject", "active", "heal", "healed"]
    assert events[2].evidence is None
    assert events[2].note.startswith("stopped ")


def test_a_heal_that_fails_is_tried_again_by_heal_all(kept, tmp_path):
    failures = [ChaosError("b2: busy"), ChaosError("b2: busy")]

    def fail():
        if failures:
            raise failures.pop()

    kept.on_heal = staticmethod(fail)
    with Bench(kept, tmp_path, **LONG, rows=3) as bench:
        bench.await_stage("active")
        bench.stop.set()
        bench.finish()
        assert bench.nemesis.unhealed() == (1,)
        bench.nemesis.heal_all()
    events = bench.events()
    assert stages(events) == ["inject", "active"] + ["heal", "healed"] * 3
    assert [event.evidence.proven for event in events if event.stage == "healed"] == [False, False, True]
    assert events[3].evidence.summary == "free; healing said: b2: busy"
    assert bench.nemesis.unhealed() == ()


def test_an_observer_that_raises_breaks_its_row_only(kept, tmp_path):
    answers = [ValueError("no observer"), leads(master="b1")]

    def leadership():
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    times = {"duration_s": 2.0, "time_limit_s": 4.2}  # a machine that is short of time begins the second row late
    with Bench(kept, tmp_path, rows=2, leadership=leadership, **times) as bench:
        events = bench.finish()
    assert stages(events) == ["broke", "inject", "active", "heal", "healed"]
    assert events[0].note == "ValueError: no observer"


def test_healing_goes_on_when_the_log_is_closed(kept, tmp_path):
    with Bench(kept, tmp_path, **LONG, rows=3) as bench:
        bench.await_stage("active")
        bench.log.close()
        bench.nemesis.heal_all()
    assert kept.in_force == set()
