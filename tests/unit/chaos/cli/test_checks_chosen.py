"""Only some checks: their rows are those of the whole verdict, and the folder keeps what it had."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from repository import HISTORIES

from chaos.cli.main import cli
from chaos.core.errors import UsageError
from chaos.core.verdict import CheckResult
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine import local_engine
from checkers.engine.installed_checks import checks

NAMES = list(checks())
ONE = [{"no-loss"}, {"linearizable-offsets"}]
HALF = [set(NAMES[2::2]), set(NAMES[1::2])]


def chaos(*argv: str) -> Result:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


def plain(row: CheckResult) -> CheckResult:
    """A row without how long it took, and without what it is part of: that may be judged or not."""
    anomalies = {name: msgspec.structs.replace(one, part_of=None) for name, one in row.anomalies.items()}
    return msgspec.structs.replace(row, took_s=0.0, anomalies=anomalies)


@pytest.mark.broad
def test_the_rows_of_some_checks_are_those_of_all(tmp_path: Path) -> None:
    paths = sorted(HISTORIES.glob("*.yaml"))[::3]
    found = set()
    for number, path in enumerate(paths):
        write_run_folder(load_history(path), tmp_path / path.stem)
        whole = {row.name: plain(row) for row in local_engine.judge_folder(tmp_path / path.stem).results.checks}
        for only in (ONE[number % 2], HALF[number // 2 % 2]):
            rows = local_engine.judge_folder(tmp_path / path.stem, only=only).results.checks
            assert [row.name for row in rows] == [
                name for name in whole if name in only | {"assumptions", "final-reads"}
            ]
            assert all(plain(row) == whole[row.name] for row in rows), path.stem
            found |= {row.name for row in rows if row.valid is False}
    assert len(found) > 5


def test_a_run_keeps_the_verdict_of_all_checks(tmp_path: Path) -> None:
    write_run_folder(load_history(HISTORIES / "lost-in-the-middle.yaml"), tmp_path / "run")
    local_engine.judge(tmp_path / "run")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "run").rglob("*.json"))}
    asked = ("check", str(tmp_path / "run"), "--engine", "local", "--check")
    red, green = chaos(*asked, "no-loss,order"), chaos(*asked, "phantom", "--json")
    assert (red.return_value, green.return_value) == (1, 0), (red.output, green.output)
    assert "no-loss" in red.output
    assert "Only this was judged: assumptions, final-reads, no-loss, order." in " ".join(red.output.split())
    assert json.loads(green.output)["anomalies"] == {}
    assert {path: path.read_bytes() for path in sorted((tmp_path / "run").rglob("*.json"))} == before


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--check", "no-los"), "--check no-los: no such check; did you mean no-loss?"),
        (("--check", "no-loss", "--format", "jepsen"), "--check: only for run folders"),
    ],
)
def test_what_is_no_check_is_refused_in_one_line(argv: tuple[str, ...], says: str) -> None:
    error = chaos("check", "nowhere", "--engine", "local", *argv).exception
    assert isinstance(error, UsageError)
    assert says in str(error)
