"""Run folders of an object store: judged where they are, of no table more than is needed, as if they were here."""

import json
import os
import re
import shutil

import msgspec
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from object_store import served
from repository import HISTORIES
from run_folders import as_another_tool_writes_it

from chaos.cli.check import check_command
from chaos.core.errors import ChaosError
from chaos.generate.folder import write
from chaos.generate.plan import plan_of
from chaos.storage.history import StreamFacts
from chaos.storage.manifest import write_checked
from chaos.storage.runinfo import read_run, write_run
from chaos.storage.storage_path import place
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine import local_engine
from checkers.history import rows
from checkers.history.shards import load_shard, tables_of
from spark_checkers import session

KEYS = 16


def check(*argv):
    done = CliRunner().invoke(check_command, [*argv, "--engine", "local"], standalone_mode=False)
    return done.return_value, done.stdout, done.stderr


def said(uri):
    """The answer of the command for a run, as an object without its path."""
    code, out, err = check(uri, "--json")
    assert err == f"chaos: {uri}: read where it is; the verdict is printed, not written there\n"
    answer = json.loads(out)
    assert answer.pop("path") == uri
    return code, answer


def said_here(folder):
    code, out, _ = check(str(folder), "--json")
    answer = json.loads(out)
    answer.pop("path")
    return code, answer


@pytest.fixture
def bucket(tmp_path):
    (tmp_path / "bucket").mkdir()
    with served(tmp_path / "bucket") as store:
        yield store


def judged(store, name="lost-in-the-middle"):
    """A run in the bucket with its tables, as it is after its verdict."""
    folder = store.folder / "run"
    write_run_folder(load_history(HISTORIES / f"{name}.yaml"), folder)
    local_engine.judge(folder)
    return folder


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """Tables far longer than what is read of a file to find its footer."""
    folder = tmp_path_factory.mktemp("long") / "run"
    write(plan_of(ops=150_000, keys=KEYS, seed=3, anomalies={"lost-write": 1}), folder, ("chaos", "generate"), 1)
    return folder


@pytest.mark.parametrize("name", [path.stem for path in sorted(HISTORIES.glob("*.yaml"))[::15]])
def test_a_run_is_judged_where_it_is(bucket, name):
    folder = judged(bucket, name)
    here = said_here(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert said(bucket.uri("run")) == here
    assert not any(one.path.endswith((".ops", ".reads", ".errors", "results.json")) for one in bucket.asked)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_its_summary_is_that_of_the_folder_here(bucket):
    folder = judged(bucket)
    uri = bucket.uri("run")
    code, out, _ = check(uri)
    here = check(str(folder))[1]
    assert code == 1
    assert "FAIL  " in out
    assert [line for line in here.splitlines() if not line.startswith(("report ", "judge "))] == [
        line for line in out.splitlines() if not line.startswith("judge ")
    ]
    assert uri in out
    assert "chaos-check-" not in out


@pytest.mark.broad
def test_no_table_is_read_whole_for_one_queue_or_one_check(long_run, monkeypatch):
    history = long_run / "history"
    sizes = {path.relative_to(long_run.parent).as_posix(): path.stat().st_size for path in history.rglob("*.parquet")}
    with served(long_run.parent) as store:
        run = place(store.uri("run"))
        tables = tables_of(run / "history", "log")
        footers = store.given(".parquet")
        assert footers < 0.5 * sum(sizes.values())
        store.asked.clear()
        load_shard(tables, 0)
        one_queue = store.given(".parquet")
        assert one_queue < 1.2 * sum(sizes.values()) / KEYS
        store.asked.clear()
        all_checks = local_engine.judge_folder(run).results
        whole = store.given(".parquet")
        assert all(one.size < 0.5 * sizes[one.path] for one in store.asked if re.search(r"w\d\.parquet", one.path))
        requests = len(store.asked)
        store.asked.clear()
        no_loss = local_engine.judge_folder(run, only=["no-loss"]).results
        assert len(store.asked) <= requests  # of a short table columns are asked for together, not one by one
        monkeypatch.setattr(rows, "AHEAD_BYTES", 0)  # as if they were long
        store.asked.clear()
        lazily = local_engine.judge_folder(run, only=["no-loss"]).results
        assert store.given(".parquet") < 0.75 * whole
    assert (lazily.valid, lazily.anomalies) == (no_loss.valid, no_loss.anomalies)
    assert all_checks.anomalies["lost-write"] == no_loss.anomalies["lost-write"]
    assert all_checks.anomalies == local_engine.judge_folder(long_run).results.anomalies


def test_executors_elsewhere_need_no_scratch_folder_for_tables(bucket):
    judged(bucket)
    argv = [bucket.uri("run"), "--master", "spark://127.0.0.1:1"]  # where nobody listens: it came as far as to ask
    try:
        found = CliRunner().invoke(check_command, argv, standalone_mode=False).exception
    finally:
        session.stop()  # other tests judge here
    assert isinstance(found, ChaosError)
    assert "no Spark master" in str(found) or "Java" in str(found)


def aged(folder):
    """Make tables older than the streams, as a copy in another order does."""
    for path in (folder / "history").rglob("*.parquet"):
        os.utime(path, (1, 1))


def altered(folder, **facts):
    path = folder / "history" / "w0.facts.json"
    found = msgspec.json.decode(path.read_bytes(), type=StreamFacts)
    write_checked(path, msgspec.json.encode(msgspec.structs.replace(found, **facts)))


def test_tables_of_a_stream_that_ended_are_of_all_of_it_whenever_they_were_copied(bucket):
    folder = judged(bucket)
    here = said_here(folder)
    aged(folder)
    assert said(bucket.uri("run")) == here


def test_events_are_read_from_the_files_where_their_table_lacks_the_last(bucket):
    """A table of the middle of a run that was copied last looks new. Only in version 2: its checksum tells."""
    folder = judged(bucket)
    here = said_here(folder)
    as_another_tool_writes_it(folder)
    assert said(bucket.uri("run")) == here
    table = folder / "history" / "events.parquet"
    pq.write_table(pq.read_table(table).slice(0, 2), table)
    assert said(bucket.uri("run")) == here
    assert "phase" in (folder / "history" / "run.events").read_text()
    (folder / "history" / "run.events").unlink()
    assert said(bucket.uri("run")) != here


def test_tables_of_a_stream_that_may_have_gone_on_are_made_again(bucket):
    folder = judged(bucket)
    (folder / "manifest.json").unlink()  # a manifest would prove that they are of all of it
    write_run(folder, msgspec.structs.replace(read_run(folder), status="running"))
    here = said_here(folder)
    altered(folder, ended=False)
    code, out, err = check(bucket.uri("run"), "--json")
    assert "streams without whole tables, fetched to be judged here" in err
    answer = json.loads(out)
    answer.pop("path")
    assert (code, answer) == here
    assert not any(one.size for one in bucket.asked if re.search(r"w0\.parquet", one.path))


def test_of_a_worker_without_a_stream_the_tables_are_fetched(bucket):
    """One worker's stream goes beyond its tables, another's is gone: tables are made of the one, taken of the other."""
    folder = judged(bucket, "writer-died-below-its-record")
    here = said_here(folder)
    (folder / "history" / "w0.ops").unlink()
    (folder / "history" / "w1.facts.json").unlink()
    code, out, err = check(bucket.uri("run"), "--json")
    assert "streams without whole tables, fetched" in err
    answer = json.loads(out)
    answer.pop("path")
    assert (code, answer) == here
    fetched = {one.path for one in bucket.asked if one.size and re.search(r"w\d\.parquet", one.path)}
    assert fetched == {f"run/history/{name}/w0.parquet" for name in ("operations", "reads")}


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


AT_FAULT = {
    "a table is cut": (lambda run: cut(run / "history/reads/w0.parquet"), r"reads/w0\.parquet\?.*copy the run folder"),
    "events are cut": (lambda run: cut(run / "history/events.parquet"), r"history/events\.parquet\?"),
    "no events": (
        lambda run: [path.unlink() for path in (run / "history").glob("*events*")],
        r"run\.events is missing; copy",
    ),
    "another run's facts": (
        lambda run: altered(run, operations=99),
        r"operations/w0\.parquet\?.*rows, and w0\.facts\.json tells of 99;",
    ),
    "facts that are none": (lambda run: cut(run / "history/w0.facts.json"), r"w0\.facts\.json\?"),
    "no history": (lambda run: shutil.rmtree(run / "history"), "no folder history"),
    "no run.json": (lambda run: (run / "run.json").unlink(), r"run\.json\?.*there is no such file"),
    "nothing at all": (shutil.rmtree, "there is no such folder"),
}


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("asked", [(), ("--check", "no-loss")])
def test_a_table_that_is_damaged_in_the_middle_is_no_broken_check(bucket, far, asked):
    """Its footer can be read; whoever decodes columns learns of it, all at once or when one is asked for."""
    path = judged(bucket) / "history" / "operations" / "w0.parquet"
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little") + 8
    data[4:-footer] = bytes(len(data) - footer - 4)
    path.write_bytes(data)
    assert pq.read_metadata(path).num_rows
    code, out, err = check(bucket.uri("run") if far else str(bucket.folder / "run"), *asked)
    assert (code, out) == (254, "")
    (line,) = [line for line in err.splitlines() if "read where it is" not in line]
    assert re.search(r"operations/w0\.parquet.*check again", line), line


@pytest.mark.parametrize("fault", AT_FAULT)
def test_what_is_at_fault_is_said_in_a_line_and_disturbs_no_other(bucket, fault):
    folder = judged(bucket)
    shutil.copytree(folder, bucket.folder / "good")
    spoil, words = AT_FAULT[fault]
    spoil(folder)
    code, out, err = check(bucket.uri("run"), bucket.uri("good"), "--json")
    assert [json.loads(line)["path"] for line in out.splitlines()] == [bucket.uri("good")]
    assert code == 1  # the worst of both: the other run is invalid
    (line,) = [line for line in err.splitlines() if "read where it is" not in line]
    assert line.startswith("chaos: s3://bucket/run")
    assert re.search(words, line), line
    assert check(bucket.uri("run"), "--json")[0] == 254
