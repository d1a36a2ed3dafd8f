"""Which engine judges, what a check that breaks leads to, and what a verdict leaves in the folder."""

import json
import subprocess
import sys
import threading

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from repository import HISTORIES
from run_folders import as_another_tool_writes_it

from chaos.core.errors import CapabilityError, HistoryError
from chaos.core.series import Series
from chaos.core.verdict import UNKNOWN, Results
from chaos.generate.folder import write
from chaos.generate.plan import plan_of
from chaos.run import judging
from chaos.run.judging import FEW_ROWS
from chaos.testing.history_files import ORIGIN_NS, load_history, write_run_folder
from checkers.engine import local_engine
from checkers.engine.installed_checks import OF_LOGS, check_named
from checkers.history.shards import GROUPS, group_keys
from spark_checkers import engine as on_spark
from spark_checkers import session


def folder_of(name, tmp_path):
    write_run_folder(load_history(HISTORIES / f"{name}.yaml"), tmp_path / name)
    return tmp_path / name


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_auto_without_java_is_local_and_says_so(no_java, monkeypatch, tmp_path):
    monkeypatch.setattr(judging, "FEW_ROWS", 1)
    results = judging.judge(folder_of("gaps-are-legal", tmp_path), "auto")
    assert results.engine == "local"
    assert "no Java" in results.engine_note
    assert "apt-get install" in results.engine_note


def test_spark_without_java_names_the_command(no_java, tmp_path):
    with pytest.raises(CapabilityError, match="apt-get install"):
        judging.judge(folder_of("gaps-are-legal", tmp_path), "spark")


def test_an_old_java_is_not_enough(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_412\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.java() == (str(java), 8)
    assert "Java 8" in (session.obstacle() or "")


@pytest.mark.parametrize("name", OF_LOGS)
def test_a_check_that_breaks_is_loud(name, monkeypatch, tmp_path):
    def broken(*_):
        raise RuntimeError("out of paper")

    check = check_named(name)
    monkeypatch.setattr(type(check), "applies", lambda *_: None)
    monkeypatch.setattr(type(check), "examine" if check.partition == "key" else "conclude", broken)
    results = local_engine.judge(folder_of("gaps-are-legal", tmp_path))
    row = next(row for row in results.checks if row.name == name)
    assert row.valid == UNKNOWN
    assert results.valid == UNKNOWN
    assert "out of paper" in results.reason


def test_a_check_that_breaks_hides_no_anomaly(monkeypatch, tmp_path):
    def broken(*_):
        raise RuntimeError("out of paper")

    monkeypatch.setattr(type(check_named("duplicates")), "conclude", broken)
    results = local_engine.judge(folder_of("lost-in-the-middle", tmp_path))
    assert results.valid is False
    assert "lost-write" in results.anomalies


def test_several_processes_reach_the_verdict_of_one(monkeypatch, tmp_path):
    plan = plan_of(3000, 5, 3, {"lost-write": 2, "duplicate": 1, "stale-tail": 2})
    write(plan, tmp_path / "run", ("chaos", "generate"), 1)
    by_one = local_engine.judge_folder(tmp_path / "run")
    monkeypatch.setattr(local_engine, "SMALL", 0)
    monkeypatch.setattr(local_engine.os, "sched_getaffinity", lambda _: {0, 1})
    by_two = local_engine.judge_folder(tmp_path / "run")
    untimed = [msgspec.structs.replace(row, took_s=0.0) for row in by_one.results.checks]
    assert [msgspec.structs.replace(row, took_s=0.0) for row in by_two.results.checks] == untimed
    assert by_two.results.anomalies == by_one.results.anomalies
    assert by_two.series == by_one.series
    (tmp_path / "run" / "history" / "reads" / "w1.parquet").write_bytes(b"PAR1")
    with pytest.raises(HistoryError, match=r"w1\.parquet"):
        local_engine.judge_folder(tmp_path / "run")


@pytest.mark.parametrize("number", [0, 1, GROUPS - 1, GROUPS, GROUPS + 1, 1000])
def test_groups_hold_every_queue_once_in_order(number):
    groups = group_keys(range(number))
    assert [key for group in groups for key in group] == list(range(number))
    assert len(groups) <= GROUPS
    assert all(groups)


def test_files_of_a_verdict(tmp_path):
    folder = folder_of("an-old-master-acknowledges-alone", tmp_path)
    results = local_engine.judge(folder)
    assert msgspec.json.decode((folder / "results.json").read_bytes(), type=Results) == results
    series = msgspec.json.decode((folder / "series.json").read_bytes(), type=Series)
    assert series.operations == 12
    assert series.acked[-1] == 12
    assert series.read[-1] == 8
    assert sum(series.rate["send"]["ok"]) == 12
    assert len(series.points.t_s) == series.shown == 12
    places = sorted(path.name for path in (folder / "anomalies").iterdir())
    assert places == ["001-lost-write", "002-inconsistent-offsets", "003-nonlinearizable-offset"]
    assert (
        "acknowledged 1:3 at 5.0 s at offset 3 of queue 0"
        in (folder / "anomalies" / "001-lost-write" / "explain.txt").read_text()
    )
    rows = [json.loads(line) for line in (folder / "anomalies" / "001-lost-write" / "ops.jsonl").open()]
    assert rows[0]["value"] == "1:3"
    assert rows[0]["node"] == "b1"
    assert rows[1]["value"] == "2:0"


def test_a_verdict_replaces_the_last_one(tmp_path):
    folder = folder_of("lost-in-the-middle", tmp_path)
    (folder / "anomalies" / "009-old").mkdir(parents=True)
    local_engine.judge(folder)
    assert not (folder / "anomalies" / "009-old").exists()


def test_without_an_ended_drain_nothing_is_valid_at_any_depth(tmp_path):
    folder = folder_of("drain-did-not-end", tmp_path)
    local_engine.judge(folder)

    def answers(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "valid":
                    yield value
                yield from answers(value)
        elif isinstance(node, list):
            for value in node:
                yield from answers(value)

    assert True not in set(answers(json.loads((folder / "results.json").read_bytes())))


def test_tables_are_the_history_once_they_are_made(tmp_path):
    """A record removed from the tables is seen; a stream that is newer than its tables replaces them."""
    folder = folder_of("gaps-are-legal", tmp_path)
    assert local_engine.judge(folder).valid is True
    path = folder / "history" / "reads" / "w0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.filter([offset != 2 for offset in table["offset"].to_pylist()]), path)
    with pytest.raises(HistoryError, match=r"reads/w0\.parquet: .*remove the tables and check again"):
        local_engine.judge(folder)
    (folder / "history" / "w0.ops").touch()
    assert local_engine.judge(folder).valid is True


def test_tables_of_version_2_are_believed_but_for_their_number_of_rows(tmp_path):
    """Another tool may have written them."""
    folder = folder_of("gaps-are-legal", tmp_path)
    assert local_engine.judge(folder).valid is True
    as_another_tool_writes_it(folder)
    for path in (folder / "history").glob("*/w0.parquet"):
        path.touch()
    assert local_engine.judge(folder).valid is True
    path = folder / "history" / "reads" / "w0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.filter([offset != 2 for offset in table["offset"].to_pylist()]), path)
    with pytest.raises(HistoryError, match=r"reads/w0\.parquet: 6 rows, and w0\.facts\.json tells of 9"):
        local_engine.judge(folder)
    (folder / "history" / "w0.ops").touch()
    assert local_engine.judge(folder).valid is True


def test_the_order_of_rows_does_not_matter(tmp_path):
    """Tables written by others: all queues in one row group, rows in any order."""
    folder = folder_of("two-causes-two-headlines", tmp_path)
    before = local_engine.judge(folder)
    as_another_tool_writes_it(folder)
    rng = np.random.default_rng(7)
    for name in ("operations", "reads"):
        path = folder / "history" / name / "w0.parquet"
        table = pq.read_table(path)
        pq.write_table(table.take(rng.permutation(table.num_rows)), path)
    after = local_engine.judge(folder)
    assert after.anomalies == before.anomalies
    assert after.sentence == before.sentence


def test_not_a_run_folder(tmp_path):
    with pytest.raises(HistoryError, match=r"run\.json"):
        local_engine.judge(tmp_path)


def test_a_damaged_table_is_named(tmp_path):
    folder = folder_of("gaps-are-legal", tmp_path)
    local_engine.judge(folder)
    (folder / "history" / "reads" / "w0.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(HistoryError, match=r"reads/w0\.parquet"):
        local_engine.judge(folder)


@pytest.mark.parametrize(("version", "kept", "said"), [(1, True, "1"), (3, True, "3"), (4, False, "4 without a model")])
def test_a_history_of_another_version_is_refused_in_a_line(version, kept, said, tmp_path):
    """Between two changes of version 4 there were folders of that number that named no model."""
    folder = tmp_path / "run"
    write_run_folder(load_history(HISTORIES / "gaps-are-legal.yaml"), folder)
    path = folder / "run.json"
    run = json.loads(path.read_text())
    for name in ("checksum", *(() if kept else ("model", "words"))):
        del run[name]
    path.write_text(json.dumps({**run, "schema_version": version}))
    line = f"schema version {said}, and this chaos reads 4; check it with the chaos that wrote it, "
    with pytest.raises(HistoryError, match=line):
        local_engine.judge(folder)


def test_every_rule_a_history_can_show_has_one():
    shown = {rule for path in HISTORIES.glob("*.yaml") for rule in load_history(path).rules}
    assert {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 18, 19, 20} <= shown


def test_an_outage_over_the_budget_is_shown_by_the_operations_around_it(tmp_path):
    literal = load_history(HISTORIES / "rto-over-the-budget.yaml")
    write_run_folder(literal, tmp_path / "run")
    (example,) = local_engine.judge_folder(tmp_path / "run").results.anomalies["rto-budget"].examples
    kinds = [op["type"] for op in example.ops]
    assert kinds in (["ok", "fail", "ok"], ["ok", "info", "ok"])
    assert example.ops[1]["invoke_s"] == round((example.at_ns - ORIGIN_NS) / 1e9, 6)


@pytest.mark.parametrize(("rows", "engine"), [(FEW_ROWS - 1, "local"), (FEW_ROWS, "spark")])
def test_few_rows_do_not_wait_for_what_is_still_being_loaded(rows, engine, monkeypatch):
    """The session is begun, and nobody knows when it will be up."""
    monkeypatch.setattr(session, "is_begun", lambda: True)
    monkeypatch.setattr(judging, "_obstacle", lambda: None)
    monkeypatch.setattr(judging, "LATE_S", 0.01)
    loaded = threading.Event()
    loading = threading.Thread(target=loaded.wait, daemon=True)
    loading.start()
    late = judging._chosen("auto", lambda: rows, loading)
    loaded.set()
    loading.join()
    assert late.spark is (engine == "spark")
    assert late.note.startswith(f"engine {engine}: {rows:,} rows")
    assert judging._chosen("auto", lambda: rows, loading).spark, "what is loaded judges"


def test_spark_judges_however_late_it_is_where_it_was_asked_for(tmp_path, monkeypatch):
    """Few rows, and a session that is up only once the verdict waits for it."""
    monkeypatch.setattr(judging, "LATE_S", 0.01)
    up, waited = threading.Event(), []
    loading = threading.Thread(target=up.wait, args=(60,), daemon=True)
    loading.start()

    def judged_on_spark(folders, only, note):
        waited.append((up.is_set(), note))
        up.set()  # as session() does, which waits until it is up
        return [local_engine.judge_folder(folder, note, only) for folder in folders]

    monkeypatch.setattr(on_spark, "judge_each", judged_on_spark)
    results = judging.judge(folder_of("gaps-are-legal", tmp_path), "spark", loading)
    loading.join(10)
    assert waited == [(False, "")]
    assert results.engine_note == ""


def test_spark_that_cannot_run_here_is_refused_before_a_simulated_run_as_well(no_java):
    judging.check_engine("auto")
    with pytest.raises(CapabilityError, match="no Java"):
        judging.check_engine("spark")


@pytest.mark.broad
def test_getting_ready_loads_what_judges_and_reports(tmp_path):
    """In a process of its own, since this one has loaded it; without a session of Spark none is started."""
    folder = folder_of("gaps-are-legal", tmp_path)
    code = (
        "import sys; from pathlib import Path; from chaos.storage.runinfo import read_run; "
        "from chaos.run import judging; "
        "judging.get_ready(read_run(Path(sys.argv[1]))); before = set(sys.modules); "
        "from reports.reporter import write; judging.judge(Path(sys.argv[1]), 'local'); write(Path(sys.argv[1])); "
        "ours = ('checkers', 'reports', 'spark_checkers', 'jinja2'); "
        "print(sorted(name for name in set(sys.modules) - before if name.partition('.')[0] in ours))"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
