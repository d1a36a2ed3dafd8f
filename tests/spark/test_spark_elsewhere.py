"""Run folders of an object store on Spark: each executor asks for what it needs, and the verdict is that of here."""

import json

import msgspec
import pytest
from click.testing import CliRunner
from object_store import served

import checkers.history.shards
import checkers.history.table
from chaos.cli.check import check_command
from chaos.core.errors import HistoryError
from chaos.generate.folder import write
from chaos.generate.plan import plan_of
from chaos.storage.storage_path import place
from checkers.engine import local_engine
from spark_checkers import engine

pytestmark = pytest.mark.spark
PLANTED = {"lost-write": 1, "stale-tail": 2}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bucket")
    write(plan_of(ops=200_000, keys=16, seed=5, anomalies=PLANTED), folder / "run", ("chaos", "generate"), 1)
    with served(folder) as store:
        yield store


def comparable(judged):
    """Everything but how long it took and who did it."""
    checks = tuple(msgspec.structs.replace(row, took_s=0.0) for row in judged.results.checks)
    results = msgspec.structs.replace(judged.results, checks=checks, engine="", engine_note="")
    return msgspec.to_builtins(results), msgspec.to_builtins(judged.series)


def test_executors_open_their_own_and_nothing_is_read_whole(bucket, monkeypatch):
    here, there = bucket.folder / "run", place(bucket.uri("run"))
    expected = comparable(local_engine.judge_folder(here))
    assert comparable(local_engine.judge_folder(there)) == expected

    def forbidden(*_args, **_kwargs):
        raise AssertionError("rows were touched in the driver")

    for name in ("Table", "tables_of", "events_of"):
        monkeypatch.setattr(checkers.history.shards, name, forbidden)
    monkeypatch.setattr(checkers.history.table.pq, "ParquetFile", forbidden)
    bucket.asked.clear()
    (found,) = engine.judge_each([there])
    assert comparable(found) == expected
    tables = {one.path for one in bucket.asked if one.path.endswith(".parquet") and "events" not in one.path}
    sizes = {path: (bucket.folder / path).stat().st_size for path in tables}
    assert len(sizes) == 8  # four workers' operations and reads
    assert all(one.size < 0.5 * sizes[one.path] for one in bucket.asked if one.path in sizes)


def test_a_table_that_is_gone_is_said_in_a_line_and_disturbs_no_other(bucket, tmp_path):
    write(plan_of(ops=2_000, keys=4, seed=6, anomalies={}), bucket.folder / "gone", ("chaos", "generate"), 1)
    (bucket.folder / "gone" / "history" / "reads" / "w1.parquet").unlink()
    gone, found = engine.judge_each([place(bucket.uri("gone")), place(bucket.uri("run"))])
    assert isinstance(gone, HistoryError)
    assert "gone/history/reads/w1.parquet" in str(gone)
    assert "there is no such file" in str(gone)
    assert found.results.valid is False


def test_the_command_says_what_it_says_of_a_folder_here(bucket):
    def said(path):
        done = CliRunner().invoke(check_command, [path, "--engine", "spark", "--json"], standalone_mode=False)
        return done.return_value, {**json.loads(done.stdout), "path": ""}

    there = said(bucket.uri("run"))
    assert there == said(str(bucket.folder / "run"))
    assert there[0] == 1
    assert {name: one["count"] for name, one in there[1]["anomalies"].items()} == PLANTED
