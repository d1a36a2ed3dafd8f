"""``chaos check`` looks at its paths first: what is not there disturbs no other, and costs no engine."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from repository import HISTORIES
from run_folders import as_another_tool_writes_it

from chaos.cli.main import cli
from chaos.core.verdict import Results
from chaos.generate.folder import write
from chaos.generate.plan import plan_of
from chaos.run import judging
from chaos.run.history_size import rows_of_file, rows_of_run
from chaos.testing.history_files import load_history, write_run_folder

REGISTER = """\
{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value %s}
"""


def chaos(*argv: str) -> Result:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


def folder(tmp_path: Path, name: str) -> str:
    write_run_folder(load_history(HISTORIES / f"{name}.yaml"), tmp_path / name)
    return str(tmp_path / name)


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, str]:
    """Run folders by what they are, one of them nowhere and one that is none."""
    (tmp_path / "empty").mkdir()
    return {
        "valid": folder(tmp_path, "gaps-are-legal"),
        "invalid": folder(tmp_path, "lost-in-the-middle"),
        "unknown": folder(tmp_path, "unseen-without-a-drain"),
        "gone": str(tmp_path / "gone"),
        "no run": str(tmp_path / "empty"),
        "too long": "x" * 5000,
    }


MIXED = [
    (["gone", "valid"], 254),
    (["valid", "gone"], 254),
    (["valid", "no run", "invalid"], 1),
    (["gone", "unknown"], 254),
    (["gone", "no run"], 254),
    (["valid", "unknown"], 2),
    (["too long", "invalid"], 1),
    (["gone"], 254),
]
"""Paths, and the exit code: an anomaly first, then what could not be judged, then what is unknown."""


@pytest.mark.parametrize(("kinds", "code"), MIXED, ids=lambda one: " ".join(one) if isinstance(one, list) else "")
def test_a_run_that_is_not_there_disturbs_no_other(runs: dict[str, str], kinds: list[str], code: int) -> None:
    done = chaos("check", *(runs[kind] for kind in kinds), "--json")
    there = [runs[kind] for kind in kinds if kind in ("valid", "invalid", "unknown")]
    assert done.exception is None
    assert done.return_value == code
    assert [json.loads(line)["path"] for line in done.stdout.splitlines()] == there
    assert len([line for line in done.stderr.splitlines() if line.startswith("chaos: ")]) == len(kinds) - len(there)


@pytest.mark.parametrize(("kinds", "code"), MIXED, ids=lambda one: " ".join(one) if isinstance(one, list) else "")
def test_a_file_that_is_not_there_disturbs_no_other(tmp_path: Path, kinds: list[str], code: int) -> None:
    texts = {"valid": REGISTER % "1", "invalid": REGISTER % "2", "unknown": ""}
    for kind, text in texts.items():
        (tmp_path / kind).write_text(text)
    (tmp_path / "no run").mkdir()
    paths = ["x" * 5000 if kind == "too long" else str(tmp_path / kind) for kind in kinds]
    done = chaos("check", *paths, "--format", "jepsen", "--model", "register", "--json")
    assert done.exception is None
    assert done.return_value == code
    found = [json.loads(line)["path"] for line in done.stdout.splitlines()]
    assert found == [path for kind, path in zip(kinds, paths, strict=True) if kind in texts]


def loaded(*argv: str) -> set[str]:
    """The modules that a process of its own has at its end."""
    code = (
        "import json, os, sys; sys.argv[0] = 'chaos'\nfrom chaos.cli.main import run\nrun()\n"
        "print('\\n' + json.dumps(list(sys.modules)), flush=True)\n"
        "os._exit(0)"  # as the command ends: a thread of Arrow's may abort a process that ends in another way
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, timeout=120, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


SPARK = {"pyspark", "py4j", "spark_checkers", "spark_checkers.session"}


def test_what_is_not_there_needs_nothing(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    heavy = {"numpy", "pyarrow", "scipy", "pandas", "jinja2", "checkers", *SPARK}
    assert not loaded("check", gone) & heavy
    assert not loaded("check", gone, "--format", "jepsen", "--model", "kafka") & heavy
    assert not loaded("check", gone, "--engine", "spark") & (heavy - SPARK | {"pyspark"})


def test_a_small_file_needs_neither_spark_nor_what_pages_and_circles_need(tmp_path: Path) -> None:
    (tmp_path / "history").write_text(REGISTER % "1")
    argv = ("check", str(tmp_path / "history"), "--format", "jepsen", "--model", "register")
    assert not loaded(*argv) & {"scipy", "pandas", "jinja2", *SPARK}


@pytest.mark.broad
def test_a_small_run_needs_no_spark(tmp_path: Path) -> None:
    run = folder(tmp_path, "gaps-are-legal")
    assert not loaded("check", run) & {"scipy", *SPARK}
    write(plan_of(3000, 2, 3, {"lost-write": 1}), tmp_path / "made", ("chaos", "generate"), 1)  # some sends failed
    again = loaded("check", run, str(tmp_path / "made"))  # the first run's tables are there now
    assert not again & {"scipy", "pandas", *SPARK}


def test_auto_is_local_for_few_rows_and_says_so(tmp_path: Path) -> None:
    run = folder(tmp_path, "gaps-are-legal")
    assert chaos("check", run).return_value == 0
    done = chaos("check", run)
    note = f"engine local: {rows_of_run(Path(run))} rows; Spark judges from 1,000,000 on"
    stored = msgspec.json.decode((Path(run) / "results.json").read_bytes(), type=Results)
    assert (stored.engine, stored.engine_note) == ("local", note)
    assert note in done.stdout
    (tmp_path / "history").write_text(REGISTER % "1")
    said = chaos("check", str(tmp_path / "history"), "--format", "jepsen", "--model", "register").stdout
    assert "engine local: 1 rows; Spark judges from 1,000,000 on" in said


def test_many_rows_are_for_spark_if_it_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = folder(tmp_path, "gaps-are-legal")
    monkeypatch.setattr(judging, "FEW_ROWS", 1)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "engine local: no Java found" in chaos("check", run).stdout


def test_rows_are_counted_before_anything_is_read(tmp_path: Path) -> None:
    write(plan_of(3000, 5, 3, {}), tmp_path / "made", ("chaos", "generate"), 1)
    tables = [path for name in ("operations", "reads") for path in (tmp_path / "made" / "history" / name).iterdir()]
    assert rows_of_run(tmp_path / "made") == sum(pq.ParquetFile(path).metadata.num_rows for path in tables)
    streamed = Path(folder(tmp_path, "gaps-are-legal"))
    before = rows_of_run(streamed)
    assert chaos("check", str(streamed)).return_value == 0
    assert 0 < before <= 2 * rows_of_run(streamed)
    assert rows_of_run(tmp_path / "gone") == rows_of_file(tmp_path / "gone") == 0


def test_a_table_with_empty_cells_is_refused(tmp_path: Path) -> None:
    run = Path(folder(tmp_path, "gaps-are-legal"))
    assert chaos("check", str(run)).return_value == 0
    as_another_tool_writes_it(run)  # another tool wrote the table
    (path,) = (run / "history" / "operations").iterdir()
    table = pq.read_table(path)
    at = table.schema.get_field_index("offset")
    empty = pa.nulls(len(table), table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), empty), path)
    done = chaos("check", str(run))
    assert done.return_value == 254
    assert "column offset has empty cells; remove the tables and check again" in done.stderr
