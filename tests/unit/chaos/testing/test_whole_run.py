"""Whole runs on a fake system: valid without a bug, invalid with one, under faults that are proven and healed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError, UsageError
from chaos.storage.runinfo import Promises, read_run
from chaos.testing import (
    FakeSystem,
    Outcome,
    answer_from_the_past,
    do_twice,
    lose_acknowledged,
    lose_answers,
    refuse_and_do,
    run,
)
from cluster.cleanup import run_records

pytestmark = pytest.mark.broad


def of_run(run_id: str) -> list[int]:
    """The processes of this machine that a run has started."""
    mark = f"{run_records.RUN}={run_id}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def assert_nothing_found(done: Outcome) -> None:
    """The run is valid; on a machine that is too busy to keep the load's times it may say only that."""
    errors = {name for name, one in done.results.anomalies.items() if not one.allowed}
    assert errors <= {"dispatch-lag"}, done.results.reason
    assert (done.exit_code, done.results.valid) == ((2, "unknown") if errors else (0, True)), done.results.reason


@pytest.mark.parametrize("workload", ["register", "set", "counter"])
def test_without_a_bug_a_run_is_valid_whatever_became_of_unanswered_changes(workload, tmp_path):
    done = run(tmp_path, FakeSystem(bug=lose_answers(5)), workload=workload)
    assert_nothing_found(done)
    assert (done.check(workload).valid, done.check(workload).anomalies) == (True, {})
    assert done.results.counts["info"] > 10
    info = read_run(done.folder)
    assert (info.status, info.backend, info.workload) == ("checked", "fake", workload)
    assert done.results.sentence in (done.folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("workload", "bug", "anomaly"),
    [
        ("set", lose_acknowledged(), "lost-write"),
        ("set", answer_from_the_past(2), "stale-read"),
        ("set", do_twice(), "duplicate"),
        ("register", answer_from_the_past(2), "nonlinearizable"),
        ("counter", refuse_and_do(), "out-of-bounds"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_bug_is_found(workload, bug, anomaly, tmp_path):
    done = run(tmp_path, FakeSystem(bug=bug), workload=workload, reports=())
    assert (done.exit_code, done.results.valid) == (1, False)
    assert anomaly in done.check(workload).anomalies


def test_a_bug_of_ones_own_takes_a_few_lines(tmp_path):
    def forgets_key_1(step, held, op):
        after, answer = step(held, op)
        return (held, answer) if op.key == 1 else (after, answer)

    done = run(tmp_path, FakeSystem(bug=forgets_key_1), workload="set", reports=())
    examples = done.check("set").anomalies["lost-write"].examples
    assert {example.key for example in examples} == {1}


def test_a_log_is_read_whole_twice(tmp_path):
    done = run(tmp_path, workload="queue", reports=())
    assert_nothing_found(done)
    assert done.check("no-loss").valid is True
    assert done.results.counts["drain ok"] == 4


@pytest.mark.parametrize(
    ("nemesis", "proof"),
    [("random-kill", "gone after"), ("random-suspend", "every thread in /proc state T"), ("leader-kill", "gone after")],
)
def test_a_fault_of_processes_is_done_proven_felt_and_healed(nemesis, proof, tmp_path):
    times = {"time_limit_s": 1.0, "fault_duration_s": 0.7, "op_timeout_s": 0.3}
    done = run(tmp_path, FakeSystem(leads=True), nemesis=nemesis, reports=(), **times)
    (fault,) = done.results.faults
    assert (fault.name, fault.proven, fault.healed, fault.skipped) == (nemesis, True, True, False)
    assert proof in fault.evidence
    assert_nothing_found(done)
    error = "connection refused" if nemesis.endswith("kill") else "no answer before the deadline"
    assert error in "".join(path.read_bytes().decode(errors="replace") for path in done.folder.glob("history/w*"))
    assert of_run(done.folder.name) == []


def test_what_a_system_promises_is_looked_at(tmp_path):
    promises = Promises(recovers_within_s=5.0)
    done = run(tmp_path, FakeSystem(promises=promises), nemesis="random-kill", recovery_s=1.0, reports=())
    assert done.check("recovery").valid is True, done.check("recovery").reason


def test_a_fault_that_these_hosts_cannot_do_is_refused_in_one_line(tmp_path):
    with pytest.raises(ChaosError, match="random-partition: hosts of tests share one network"):
        run(tmp_path, nemesis="random-partition")
    with pytest.raises(TypeError, match="no_such_option"):
        run(tmp_path, no_such_option=1)
    with pytest.raises(UsageError, match="the fake system has no settings"):
        run(tmp_path, pairs=("a=1",))


def test_a_run_that_does_not_come_up_raises_what_it_said(tmp_path):
    class Mute(FakeSystem):
        def operations(self, model, settings):
            return frozenset()

    with pytest.raises(UsageError, match="fake has no clients for the model register"):
        run(tmp_path, Mute())


def test_who_interrupts_a_cluster_that_does_not_come_up_gets_no_second_one(tmp_path):
    class Broken(FakeSystem):
        asked = 0

        def launch(self, node, home, artefacts, view):
            self.asked += 1
            if self.asked == 1:
                os.kill(os.getpid(), signal.SIGINT)
            return replace(super().launch(node, home, artefacts, view), argv=("no-such-server",))

    with pytest.raises(ChaosError, match="interrupted before the load began") as said:
        run(tmp_path, Broken())
    assert "deploying again" not in str(said.value)
    events = (tmp_path / "current" / "history" / "run.events").read_text()
    assert '"deployed-again"' not in events
    assert of_run((tmp_path / "current").resolve().name) == []


def test_another_check_judges_beside_those_of_the_workload_and_is_kept(tmp_path):
    done = run(tmp_path, workload="set", checks=("counter", "final-reads"), reports=())
    info = json.loads((done.folder / "run.json").read_text())
    assert info["checks"][-2:] == ["counter", "final-reads"]
    assert done.results.declined["counter"] == "it is a run of the model set"
    assert done.check("final-reads").examined == "2 queues"


def test_nothing_is_left_of_a_run_whose_process_was_killed(tmp_path):
    code = f"from pathlib import Path; from chaos.testing import run; run(Path({str(tmp_path)!r}), time_limit_s=60.0)"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "CHAOS_CACHE": str(tmp_path / "cache")})
    try:
        begun = Deadline("the run to begin", 30)
        while not ((tmp_path / "current").exists() and len(of_run((tmp_path / "current").resolve().name)) >= 3):
            begun.check()
            Deadline("a moment", 0.05).wait()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    gone = Deadline("its processes to be ended", 30)
    while of_run((tmp_path / "current").resolve().name):
        gone.check()
        Deadline("a moment", 0.05).wait()
