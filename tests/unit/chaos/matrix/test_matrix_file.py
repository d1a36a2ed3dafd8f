"""A matrix without a run: its file, its jobs, what shrinking makes of them, and what is left to do."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import HISTORIES

from chaos.core.errors import HistoryError, UsageError
from chaos.core.matrix_results import CellRow, append_row, current, read_rows, worst_exit
from chaos.core.strict_yaml import parse
from chaos.core.verdict import FaultResult, Rto
from chaos.matrix.jobs import SIMULATED_BESIDE_LOAD_S, Attempt, expected_s, pending_jobs, should_retry
from chaos.matrix.model import jobs_of, load_s, plan_of, select_jobs, shrunk, to_options
from chaos.matrix.read import matrix_of, read_matrix, shipped_matrices
from chaos.matrix.run_jobs import clock, judge_again
from chaos.options.config_file import Config
from chaos.testing.history_files import load_history, write_run_folder
from nemesis.plan.sequence import Step, Steps, round_s
from reports.across.figures import recoveries

TEXT = """\
name: small
about: two by two
seed: 7
repeats: 2
base:
  system: minimq
  time-limit: 40
  settings: {minInSyncReplicas: 1}
axes:
  nemesis: [leader-kill, random-loss@broker+controller]
  storage:
  - {name: one, rate: 50}
  - {name: two, rate: 80, settings: {replication: async}}
exclude:
- {nemesis: leader-kill, storage: [two]}
"""


def matrix(text=TEXT):
    return matrix_of(parse(text, "small.yaml"))


def row(job, verdict="valid", **changes):
    made = CellRow(
        id=job.planned.id,
        cell=job.planned.cell,
        values=job.planned.values,
        repeat=job.planned.repeat,
        seed=job.planned.seed,
        fingerprint=job.planned.fingerprint,
        argv=("chaos",),
        exit=0,
        verdict=verdict,
        sentence="s",
        reason="",
        anomalies={},
        allowed=(),
        rto={},
        planned=2,
        proven=2,
        healed=2,
        skipped=0,
        lost=0,
        began="",
        took_s=90.0,
        timings_s={},
        run="runs/a/b",
        earlier=(),
        chaos_version="0",
        system="minimq 1",
    )
    return msgspec.structs.replace(made, **changes)


def test_the_cross_product_less_what_is_excluded_each_so_often():
    jobs = jobs_of(matrix())
    assert [job.planned.id for job in jobs] == [
        "leader-kill.one.1",
        "leader-kill.one.2",
        "random-loss@broker+controller.one.1",
        "random-loss@broker+controller.one.2",
        "random-loss@broker+controller.two.1",
        "random-loss@broker+controller.two.2",
    ]
    assert jobs[4].planned.values == {"nemesis": "random-loss@broker+controller", "storage": "two"}
    assert to_options(jobs[4].config) == {
        "system": "minimq",
        "time_limit_s": 40.0,
        "nemesis": "random-loss@broker+controller",
        "rate": 80.0,
        "seed": jobs[4].planned.seed,
        "settings": {"minInSyncReplicas": "1", "replication": "async"},
    }
    assert len({job.planned.seed for job in jobs}) == len({job.planned.fingerprint for job in jobs}) == 6


def test_seeds_follow_from_the_seed_and_the_cell_alone():
    before = {job.planned.id: job.planned for job in jobs_of(matrix())}
    wider = TEXT.replace("[leader-kill,", "[noop, leader-kill,")
    after = {job.planned.id: job.planned for job in jobs_of(matrix(wider))}
    assert all(after[name] == planned for name, planned in before.items())
    other = jobs_of(msgspec.structs.replace(matrix(), seed=8))
    assert {job.planned.seed for job in other}.isdisjoint(planned.seed for planned in before.values())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed: 7", "sede: 7", "small.yaml:3: unknown key 'sede'; did you mean seed?"),
        ("repeats: 2", "repeats: 0", "small.yaml:4: repeats must be at least 1"),
        ("time-limit: 40", "time-limt: 40", "small.yaml:7: unknown key 'time-limt'; did you mean time-limit?"),
        ("rate: 80", "rate: fast", "small.yaml:13: rate must be a number"),
        ("{name: one, rate: 50}", "{rate: 50}", "small.yaml:12: this value of axis storage has no name"),
        ("{name: one, rate: 50}", "one", "small.yaml:12: storage is no option of a run"),
        ("name: two", "name: one", "small.yaml:11: axis storage has two values named one"),
        ("storage: [two]", "storage: [too]", "small.yaml:15: unknown key 'too'; did you mean two?"),
        ("{nemesis: leader-kill, storage", "{nemsis: leader-kill, storage", "did you mean nemesis?"),
        ("name: small", "name: a/b", "letters, digits and - only"),
        ("rate: 80,", "nemesis: noop,", "axes nemesis and storage both decide nemesis"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_place(old, new, says):
    with pytest.raises(UsageError) as error:
        jobs_of(matrix(TEXT.replace(old, new)))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_excluding_everything_is_refused_and_so_is_a_file_without_axes():
    with pytest.raises(UsageError, match="no cell is left"):
        jobs_of(matrix(TEXT + "- {nemesis: [leader-kill, random-loss@broker+controller]}\n"))
    with pytest.raises(UsageError, match="no axes"):
        matrix("name: x\n")
    with pytest.raises(UsageError, match="shipped: every-system, kafka-unsafe, pulsar-unsafe, rocketmq-raft"):
        read_matrix("no-such-thing")


def test_a_value_of_an_axis_may_be_a_sequence_that_overlaps():
    text = TEXT.replace(
        "[leader-kill, random-loss@broker+controller]",
        "[leader-kill, {name: both, nemesis: [{at: 1, nemesis: leader-kill, duration: 5}]}]",
    )
    found = {job.planned.cell: job.config.values for job in jobs_of(matrix(text))}
    assert found["both.one"]["sequence"] == Steps(steps=(Step(nemesis="leader-kill", at=1, duration=5),))
    (step,) = to_options(Config(values=found["both.one"]))["nemesis"]["steps"]
    assert step == {"nemesis": "leader-kill", "duration": 5.0, "at": 1.0}


TIMES = st.integers(1, 200).map(float)


NEMESES = st.sampled_from(
    [
        ("random-loss", 10),
        ("noop", 10),
        ("major-suspend@broker,random-partition", 10),
        ("leader-kill", 20),
        ("random-loss, all-kill@controller", 20),
        ("minor-restart", 20),
        ("all", 20),
    ]
)


@given(TIMES, TIMES, TIMES, st.integers(1, 40), st.floats(0.001, 0.999), NEMESES)
def test_shrinking_has_its_floors_and_leaves_two_faults(interval_s, duration_s, recovery_s, faults, scale, nemesis):
    limit_s = faults * (interval_s + duration_s)
    floors = {"fault_interval_s": nemesis[1], "fault_duration_s": 10, "recovery_s": 10}
    before = {
        "nemesis": nemesis[0],
        "fault_interval_s": interval_s,
        "fault_duration_s": duration_s,
        "recovery_s": recovery_s,
        "time_limit_s": limit_s,
    }
    after = shrunk(Config(values=before), scale).values
    for name, floor_s in floors.items():
        assert min(before[name], floor_s) <= after[name] <= before[name]
        assert after[name] == pytest.approx(max(min(before[name], floor_s), before[name] * scale))
    many = after["time_limit_s"] / (after["fault_interval_s"] + after["fault_duration_s"])
    assert round(many, 6) == max(2, round(faults * scale))


def test_a_sequence_shrinks_as_a_whole():
    steps = Steps(
        steps=(Step(nemesis="leader-suspend", at=60, duration=60), Step(nemesis="random-loss", at=90, duration=60)),
        repeat=20,
    )
    short = shrunk(Config(values={"nemesis": "sequence", "sequence": steps, "time_limit_s": 3600.0}), 0.05).values
    assert [(step.at, step.duration) for step in short["sequence"].steps] == [(10, 10), (15, 10)]
    assert short["time_limit_s"] == round_s(short["sequence"].steps) == 25


def test_what_is_killed_has_time_to_come_back_in_a_shrunk_sequence():
    steps = Steps(
        steps=(
            Step(nemesis="leader-kill@broker", at=60, duration=60),
            Step(nemesis="random-loss", at=180, duration=60),
        ),
        repeat=15,
    )
    short = shrunk(Config(values={"nemesis": "sequence", "sequence": steps, "time_limit_s": 3600.0}), 0.05).values
    assert [(step.at, step.duration) for step in short["sequence"].steps] == [(20, 20), (60, 20)]


def test_the_shipped_matrix_is_the_papers():
    assert "rocketmq-raft" in shipped_matrices()
    jobs = jobs_of(read_matrix("rocketmq-raft"))
    assert len(jobs) == 12 * 2 * 2 * 5
    assert {len(job.planned.values) for job in jobs} == {3}
    faults = [int(job.config.values["time_limit_s"] // 120) for job in jobs]
    assert sum(faults) >= 7200
    short = jobs_of(msgspec.structs.replace(read_matrix("rocketmq-raft"), repeats=1), 0.05)
    assert len(short) == 48
    longer = {job.planned.values["scenario"]: load_s(job.config) for job in short if load_s(job.config) > 50}
    assert longer == {"broker-kill": 70.0, "controller-kill": 70.0, "both-kill": 90.0}, (
        "what is killed has ten seconds more to come back"
    )


def test_the_matrix_of_systems_has_each_of_its_workloads_under_each_fault():
    jobs = jobs_of(read_matrix("systems"))
    ran = {(job.config.values["system"], job.config.values["workload"]) for job in jobs}
    assert {("minimq", "group"), ("rocketmq", "queue"), ("zookeeper", "counter"), ("nats", "set")} <= ran
    assert len(jobs) == 4 * len({job.planned.values["target"] for job in jobs})


def test_only_takes_parts_of_names_and_wildcards():
    jobs = jobs_of(matrix())
    assert {job.planned.cell for job in select_jobs(jobs, "loss")} == {
        "random-loss@broker+controller.one",
        "random-loss@broker+controller.two",
    }
    assert [job.planned.id for job in select_jobs(jobs, "leader-*.2")] == ["leader-kill.one.2"]
    assert select_jobs(jobs, None) == jobs
    with pytest.raises(UsageError, match="--only tow: no cell is named so"):
        select_jobs(jobs, "tow")


def test_what_has_a_row_of_its_own_is_done_and_nothing_else():
    jobs = jobs_of(matrix())
    plan = plan_of(matrix(), jobs, 1.0)
    rows = [row(jobs[0]), row(jobs[1], fingerprint="another"), row(jobs[0], "invalid")]
    done = current(plan.jobs, rows)
    assert done == {jobs[0].planned.id: rows[2]}, "the newest counts"
    assert pending_jobs(jobs, done) == jobs[1:]
    assert pending_jobs(jobs, {jobs[0].planned.id: row(jobs[0], "broke")}) == jobs, "what broke is tried again"
    for verdict, open_ in (("unknown", True), ("invalid", False), ("valid", False)):
        found = pending_jobs(jobs, {jobs[0].planned.id: row(jobs[0], verdict)}, unknown=True)
        assert (jobs[0] in found) is open_, "only what has no verdict may get another one"


def test_rows_are_appended_and_a_torn_one_is_done_again(tmp_path):
    jobs = jobs_of(matrix())
    append_row(tmp_path, row(jobs[0]))
    path = tmp_path / "cells.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert read_rows(tmp_path) == [row(jobs[0])]
    append_row(tmp_path, row(jobs[1], "unknown"))
    assert read_rows(tmp_path) == [row(jobs[0]), row(jobs[1], "unknown")]
    path.write_bytes(b"{}\n" + whole)
    with pytest.raises(HistoryError, match=r"cells.jsonl:1: "):
        read_rows(tmp_path)
    assert read_rows(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [((), 0), (("valid",), 0), (("valid", "unknown"), 2), (("unknown", "invalid"), 1), (("invalid", "broke"), 255)],
)
def test_the_worst_decides_the_exit_code(verdicts, code):
    jobs = jobs_of(matrix())
    rows = [row(job, verdict) for job, verdict in zip(jobs, verdicts, strict=False)]
    assert worst_exit(rows) == code
    assert worst_exit(rows, interrupted=True) == (1 if "invalid" in verdicts else 130)


def attempt(code):
    return Attempt(exit=code, folder=None, began="", took_s=1, said="")


def test_what_broke_is_tried_once_more_and_nothing_else():
    assert should_retry(attempt(255), 1)
    assert not should_retry(attempt(255), 2)
    assert not any(should_retry(attempt(code), 1) for code in (0, 1, 2, 254))


def test_the_forecast_learns_what_runs_take_beside_their_load():
    jobs = jobs_of(matrix())
    first = jobs[0].planned.id
    assert expected_s(jobs, {})[first] == load_s(jobs[0].config) + 50
    taken = zip(jobs, (10, 20, 90), strict=False)
    done = {job.planned.id: row(job, took_s=load_s(job.config) + own_s) for job, own_s in taken}
    assert expected_s(jobs, done)[first] == load_s(jobs[0].config) + 20
    assert clock(3900) == "1 h 05 min"
    assert clock(100) == "2 min"


def simulated(job):
    config = msgspec.structs.replace(job.config, values={**job.config.values, "backend": "sim"})
    return msgspec.structs.replace(job, config=config)


def test_the_forecast_of_simulated_runs_knows_that_their_time_is_not_ours():
    jobs = [simulated(job) for job in jobs_of(matrix())]
    first = jobs[0].planned.id
    assert expected_s(jobs, {})[first] < load_s(jobs[0].config) / 5
    load = expected_s(jobs, {})[first] - SIMULATED_BESIDE_LOAD_S
    done = {jobs[1].planned.id: row(jobs[1], took_s=load_s(jobs[1].config) / 40 + 30)}
    assert expected_s(jobs, done)[first] == pytest.approx(load + 30)


def fault(number, *rtos, skipped=False):
    return FaultResult(
        id=number,
        name="leader-kill",
        targets=(),
        description="",
        proven=True,
        healed=True,
        skipped=skipped,
        inject_ns=None if skipped else 1,
        active_ns=None,
        heal_ns=None,
        healed_ns=None,
        rto=rtos,
    )


def test_recoveries_are_those_over_all_queues_of_faults_that_were_done():
    faults = [
        fault(1, Rto(f="send", seconds=1.5), Rto(f="send", seconds=9, key=3), Rto(f="poll", seconds=None)),
        fault(2, Rto(f="send", seconds=7, recovered=False), Rto(f="poll", seconds=0.2)),
        fault(3, skipped=True),
    ]
    assert recoveries(faults) == {"send": (1.5, "never"), "poll": (None, 0.2)}


def test_stored_runs_are_judged_again_and_only_what_changed_gets_a_new_row(tmp_path):
    made = matrix_of(parse(TEXT.replace("time-limit: 40", "time-limit: 40\n  engine: local"), "small.yaml"))
    jobs = jobs_of(made)
    (tmp_path / "matrix.json").write_bytes(msgspec.json.encode(plan_of(made, jobs, 1.0)))
    for job, name in zip(jobs, ("gaps-are-legal", "epoch-steps-back"), strict=False):
        run = f"runs/{name}/1"
        write_run_folder(load_history(HISTORIES / f"{name}.yaml"), tmp_path / run)
        append_row(tmp_path, row(job, "valid", run=run))
    said = []
    assert judge_again(jobs, tmp_path, said.append) == 1
    ids = [job.planned for job in jobs]
    first, second = current(ids, read_rows(tmp_path)).values()
    assert (first.verdict, second.verdict, second.exit, dict(second.anomalies)) == (
        "valid",
        "invalid",
        1,
        {"epoch-regression": 1},
    )
    assert said[1].startswith(f"invalid  {second.id}, was valid: ")
    count = len(read_rows(tmp_path))
    assert judge_again(jobs, tmp_path, said.append) == 1
    assert len(read_rows(tmp_path)) == count, "nothing changed, so nothing was written"
    assert "epoch-steps-back" in (tmp_path / "index.html").read_text()


def test_only_what_is_asked_for_is_judged_again_and_a_folder_without_a_matrix_stays_as_it_is(tmp_path):
    made = matrix_of(parse(TEXT.replace("time-limit: 40", "time-limit: 40\n  engine: local"), "small.yaml"))
    jobs = jobs_of(made)
    with pytest.raises(HistoryError, match=r"no matrix.json"):
        judge_again(jobs, tmp_path, print)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "matrix.json").write_bytes(msgspec.json.encode(plan_of(made, jobs, 1.0)))
    for job in jobs[:2]:
        run = f"runs/{job.planned.id}/1"
        write_run_folder(load_history(HISTORIES / "epoch-steps-back.yaml"), tmp_path / run)
        append_row(tmp_path, row(job, "valid", run=run))
    assert judge_again(jobs[1:2], tmp_path, print) == 1
    ids = [job.planned for job in jobs]
    assert [one.verdict for one in current(ids, read_rows(tmp_path)).values()] == ["valid", "invalid"]
