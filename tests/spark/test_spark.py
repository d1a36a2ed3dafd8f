"""The Spark engine: the same verdicts, rows read in executors only, loud when something is wrong."""

import pickle
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

import coordination_histories
import msgspec
import pop_model
import pytest
from click.testing import CliRunner
from coordination_histories import literal_of, row_of, write_folder
from group_model import model as group_model
from log_model import MUTATIONS, model
from repository import HISTORIES

import chaos.storage.event_files
import chaos.storage.history
import chaos.storage.streams
import checkers.engine.judge
import checkers.history.events
import checkers.history.rows
import checkers.history.shards
import checkers.history.table
from chaos import plugins
from chaos.cli.check import check_command
from chaos.core.clock import Deadline
from chaos.core.errors import ChaosError, HistoryError
from chaos.generate.generator import HistorySpec
from chaos.generate.objects.generator import ObjectGenerator
from chaos.run import judging
from chaos.storage.recorder import OP_SIZE
from chaos.storage.runinfo import read_run
from chaos.testing.history_files import differences, load_history, write_run_folder
from checkers.engine import local_engine
from checkers.engine.installed_checks import FIGURES, OF_LOGS, checks, instance
from spark_checkers import engine, session
from spark_checkers.tasks import Failed, Task, error_of

pytestmark = pytest.mark.spark


def comparable(judged):
    """Everything but how long it took and who did it."""
    checks = tuple(msgspec.structs.replace(row, took_s=0.0) for row in judged.results.checks)
    results = msgspec.structs.replace(judged.results, checks=checks, engine="", engine_note="")
    return msgspec.to_builtins(results), msgspec.to_builtins(judged.series)


@pytest.fixture(scope="module")
def literals():
    out = [load_history(path) for path in sorted(HISTORIES.glob("*.yaml"))]
    for seed in range(24):
        good = model(seed)
        out.append(good)
        mutated = MUTATIONS[seed % len(MUTATIONS)](random.Random(seed), good)
        if mutated is not None:
            out.append(msgspec.structs.replace(mutated[0], name=f"mutated-{seed}"))
    for seed in range(8):
        good = pop_model.model(seed)
        mutated = pop_model.MUTATIONS[seed % len(pop_model.MUTATIONS)](random.Random(seed), good)
        out += [good] if mutated is None else [good, msgspec.structs.replace(mutated[0], name=f"mutated-pop-{seed}")]
    return out + [group_model(seed) for seed in range(8)]


@pytest.fixture(scope="module")
def folders(literals, tmp_path_factory):
    top = tmp_path_factory.mktemp("runs")
    for literal in literals:
        write_run_folder(literal, top / literal.name)
    return [top / literal.name for literal in literals]


@pytest.fixture(scope="module")
def on_spark(folders):
    return engine.judge_each(folders)


def test_every_history_gets_its_verdict_on_spark(literals, on_spark):
    assert len(literals) > 100
    wrong = {
        literal.name: differences(found.results, literal.expect)
        for literal, found in zip(literals, on_spark, strict=True)
        if not literal.name.startswith("m")  # the model's say only that they are valid; mutated ones nothing
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_both_engines_agree_on_everything(folders, on_spark):
    for folder, found in zip(folders, on_spark, strict=True):
        assert comparable(found) == comparable(local_engine.judge_folder(folder)), folder.name


def test_both_engines_agree_on_coordination_and_queues(tmp_path):
    paths = [*coordination_histories.PATHS, *coordination_histories.QUEUES]
    folders = [write_folder(literal_of(path), tmp_path / path.stem) for path in paths]
    found = engine.judge_each(folders)
    assert len(found) > 70
    for path, folder, one in zip(paths, folders, found, strict=True):
        literal = literal_of(path)
        assert comparable(one) == comparable(local_engine.judge_folder(folder)), path.stem
        assert coordination_histories.differences(row_of(one.results, literal["check"]), literal["expect"]) == []
        assert coordination_histories.headline_differences(one.results, literal["expect"]) == []


def test_both_engines_agree_on_what_generators_of_objects_make(tmp_path):
    asked = {}
    for row in plugins.list_group("generators"):
        made = plugins.load("generators", row.name)
        if isinstance(made, ObjectGenerator):
            asked[row.name] = dict.fromkeys(made.planted, 2)
            spec = HistorySpec(
                ops=4000, keys=6, seed=5, anomalies=asked[row.name], options={}, argv=("chaos",), processes=1
            )
            made.write(spec, tmp_path / row.name)
    for name, found in zip(asked, engine.judge_each([tmp_path / name for name in asked]), strict=True):
        assert comparable(found) == comparable(local_engine.judge_folder(tmp_path / name)), name
        assert {one: anomaly.count for one, anomaly in found.results.anomalies.items()} == asked[name], name


def test_the_driver_touches_no_rows(tmp_path, monkeypatch):
    """Every reader and every kernel raises in this process; the executors are other processes."""
    literal = load_history(HISTORIES / "an-old-master-acknowledges-alone.yaml")
    write_run_folder(literal, tmp_path / "run")

    def forbidden(*_args, **_kwargs):
        raise AssertionError("rows were touched in the driver")

    for module, names in (
        (chaos.storage.streams, ("read_records",)),
        (chaos.storage.history, ("read_stream", "materialise_stream", "materialise_events", "all_events")),
        (chaos.storage.event_files, ("read_events",)),
        (
            checkers.history.shards,
            (
                "load_shard",
                "load_timeline",
                "materialise",
                "read_stream",
                "materialise_stream",
                "events_of",
                "tables_of",
                "Table",
                "_facts",
            ),
        ),
        (checkers.history.events, ("events_of", "all_events", "materialise_events", "_texts")),
        (checkers.history.rows, ("Rows", "Table")),
        (checkers.history.table, ("Table", "_end_of", "_footer", "_read_footer")),
        (checkers.engine.judge, ("examine",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, forbidden)
    for examiner in (*checks().values(), *map(instance, FIGURES)):
        monkeypatch.setattr(type(examiner), "examine", forbidden)
    monkeypatch.setattr(checkers.history.table.pq, "ParquetFile", forbidden)
    monkeypatch.setattr(checkers.history.table.pq, "read_table", forbidden)
    with pytest.raises(AssertionError):
        local_engine.judge_folder(tmp_path / "run")
    results = judging.judge(tmp_path / "run", "spark")
    assert not differences(results, literal.expect)
    assert results.engine == "spark"
    assert (tmp_path / "run" / "history" / "operations" / "w0.parquet").exists()


def test_an_altered_history_is_named_and_disturbs_no_other(tmp_path):
    names = ("lost-in-the-middle", "gaps-are-legal")
    for name in names:
        write_run_folder(load_history(HISTORIES / f"{name}.yaml"), tmp_path / name)
    path = tmp_path / names[0] / "history" / "w0.ops"
    data = bytearray(path.read_bytes())
    data[2 * OP_SIZE : 3 * OP_SIZE] = data[OP_SIZE : 2 * OP_SIZE]  # the second record once more in place of the third
    path.write_bytes(data)
    broken, fine = engine.judge_each([tmp_path / name for name in names])
    assert isinstance(broken, HistoryError)
    assert "w0.ops" in str(broken)
    assert fine.results.valid is True
    with pytest.raises(HistoryError, match=r"w0\.ops"):
        local_engine.judge_folder(tmp_path / names[0])


def test_several_paths_are_two_jobs_whatever_their_number(tmp_path, monkeypatch):
    """``chaos check A B C D``: one session, two jobs, answers in the order asked, a bad folder disturbs no other."""
    names = ("gaps-are-legal", "lost-in-the-middle", "an-old-master-acknowledges-alone")
    for name in names:
        write_run_folder(load_history(HISTORIES / f"{name}.yaml"), tmp_path / name)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "run.json").write_text("{}")
    jobs = []
    run = engine._run
    monkeypatch.setattr(engine, "_run", lambda tasks: jobs.append(len(tasks)) or run(tasks))
    paths = [str(tmp_path / names[0]), str(tmp_path / names[1]), str(empty), str(tmp_path / names[2])]
    done = CliRunner().invoke(check_command, [*paths, "--engine", "spark", "--json"], standalone_mode=False)
    assert done.return_value == 1
    rows = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    assert [(row["path"], row["valid"], row["engine"]) for row in rows] == [
        (paths[0], True, "spark"),
        (paths[1], False, "spark"),
        (paths[3], False, "spark"),
    ]
    first = rows[2]["anomalies"]["lost-write"]["examples"][0]
    assert (first["node"], first["value"], first["offset"], first["fault"]) == ("b1", "1:3", 3, 1)
    assert len([line for line in done.stderr.splitlines() if not line.startswith("checking: ")]) == 1
    assert f"{empty}/run.json" in done.stderr
    assert len(jobs) == 2
    assert all((tmp_path / name / "results.json").exists() for name in names)


def test_a_task_that_breaks_is_a_broken_harness(tmp_path):
    (failed,) = engine._run([Task("keys", tmp_path, 0, b"no pickle")])
    assert isinstance(failed, Failed)
    assert not failed.altered
    error = error_of(failed)
    assert type(error) is ChaosError
    assert "broke on Spark" in str(error)


def test_getting_ready_loads_the_checks_of_a_run_into_the_python_workers(tmp_path):
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), tmp_path / "run")
    session.stop()  # whose workers may have loaded them for another test
    session.start_early()
    judging.get_ready(read_run(tmp_path / "run"))
    modules = {plugins.place_of(plugins.CHECKS, name).partition(":")[0] for name in OF_LOGS}
    cores = session.session().sparkContext.defaultParallelism
    loaded = pickle.dumps(partial(eval, "set(__import__('sys').modules)"))
    found = engine._run([Task("modules", tmp_path, number, loaded) for number in range(cores)])
    assert [modules - one for one in found] == [set()] * cores


def test_auto_is_spark_where_its_session_was_begun(tmp_path):
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), tmp_path / "run")
    results = judging.judge(tmp_path / "run", "auto")
    note = "engine spark: its session was started before"
    assert (results.engine, results.engine_note, results.valid) == ("spark", note, True)


def test_auto_is_spark_for_many_rows(tmp_path):
    """In a process without a session; for few rows it starts none."""
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), tmp_path / "run")
    code = (
        "import sys; from pathlib import Path; from chaos.run import judging; judging.FEW_ROWS = int(sys.argv[2]); "
        "r = judging.judge(Path(sys.argv[1]), 'auto'); print(r.engine, '|', r.engine_note)"
    )
    for few, note in ((1, "spark | engine spark: 15 rows"), (16, "local | engine local: ")):
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "run", str(few)],
            capture_output=True,
            text=True,
            timeout=180,
            check=True,
        )
        assert done.stdout.startswith(note)


def test_nothing_is_printed(tmp_path):
    """A whole verdict in a fresh process writes to neither stream, and its JVM is gone with it."""
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), tmp_path / "run")
    code = (
        "import sys; from pathlib import Path; from chaos.run import judging; judging.start_early('spark'); "
        "r = judging.judge(Path(sys.argv[1]), 'spark'); assert r.engine == 'spark' and r.valid is True; "
        "from spark_checkers import session; open(sys.argv[2], 'w').write(str(session._held.gateway.proc.pid))"
    )
    pid = tmp_path / "pid"
    done = subprocess.run(
        [sys.executable, "-W", "default::UserWarning", "-c", code, tmp_path / "run", pid],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    jvm = Path(f"/proc/{pid.read_text()}/cmdline")
    deadline = Deadline("the JVM to end with its process", 30)
    while jvm.exists() and b"java" in jvm.read_bytes():
        deadline.check()
        Deadline("a moment", 0.05).wait()


def test_the_session_is_one():
    assert session.session() is session.session()


def test_some_checks_alone_get_the_rows_of_all(folders):
    """A check that is asked for by name, on both engines; nothing is written."""
    only = {"no-loss", "linearizable-offsets"}
    for folder, results in zip(folders[::7], judging.judge_each(folders[::7], "spark", only), strict=True):
        here = local_engine.judge_folder(folder, only=only).results
        assert [row.name for row in results.checks] == ["assumptions", "final-reads", *sorted(only, reverse=True)]
        assert [msgspec.structs.replace(row, took_s=0.0) for row in results.checks] == [
            msgspec.structs.replace(row, took_s=0.0) for row in here.checks
        ]
        assert (results.valid, results.sentence, results.anomalies) == (here.valid, here.sentence, here.anomalies)
