"""CI's plan: every longer test is in one part, each part comes one landing in four, and all of it fits."""

import ast
import importlib
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from repository import ROOT

from chaos import plugins
from chaos.cli.fetch import fetch_command
from cluster.versions import choose_version

MARKS = {"backends", "longer", "controls"}


@pytest.fixture(scope="module")
def minutes():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module("ci_minutes")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def ci(minutes):
    return minutes.parts


@pytest.fixture(scope="module")
def plan(ci):
    return ci.plan_of(ci.PARTS.read_text())


def is_marked(nodes, marks) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in marks for node in nodes for one in ast.walk(node))


@cache
def body_of(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text()).body


def functions_of(body) -> list[ast.FunctionDef]:
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def marked(path: Path, marks=frozenset(MARKS)) -> set[str]:
    """The test functions of a file that ``make test`` leaves out, wholly or for some parameters."""
    if not any(mark in path.read_text() for mark in marks):
        return set()
    body = body_of(path)
    names = lambda node: [target.id for target in node.targets if isinstance(target, ast.Name)]  # noqa: E731
    said = (node.value for node in body if isinstance(node, ast.Assign) and "pytestmark" in names(node))
    whole = is_marked(said, marks)
    return {test.name for test in functions_of(body) if whole or is_marked(test.decorator_list, marks)}


def test_the_first_parts_of_make_test_look_for_their_tests_where_they_are():
    """They collect tests/unit and tests/property alone; a test elsewhere that nothing marks would run nowhere."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path.relative_to(ROOT / "tests").parts[0] not in ("unit", "property"):
            found = {test.name for test in functions_of(body_of(path))}
            assert found == marked(path, MARKS | {"e2e", "spark"}), f"{path}: mark it, or move it to tests/unit"


def test_every_longer_test_is_in_exactly_one_part(plan):
    chosen = [selected for part in plan.parts for selected in part.tests]
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        where = str(path.relative_to(ROOT))
        for name in marked(path):
            found = [one for one in chosen if one == f"{where}::{name}" or Path(where).is_relative_to(one)]
            assert len(found) == 1, f"{where}::{name}: give it to one part of .ci/parts.toml; it is in {found}"


def test_what_parts_name_is_there(plan):
    for selected in (one for part in plan.parts for one in part.tests):
        where, _, name = selected.partition("::")
        assert (ROOT / where).exists(), selected
        assert not name or name in marked(ROOT / where), selected


def test_each_part_comes_once_in_four_landings(ci, plan):
    assert plan.turns == 4
    for first in range(5):
        round_of_them = [part for turn in range(first, first + plan.turns) for part in ci.due(plan, turn)]
        assert sorted(round_of_them) == sorted(plan.parts)
    for part in plan.parts:
        for turn in range(5):
            coming = ci.next_turn(plan, turn, part)
            assert turn < coming <= turn + plan.turns
            assert part in ci.due(plan, coming)


def test_every_turn_fits_and_no_part_is_long(ci, plan):
    assert plan.planned_minutes <= 65
    assert plan.last_start_minutes < 90
    for turn in range(plan.turns):
        parts = sum(part.minutes for part in ci.due(plan, turn))
        assert plan.setup_minutes + plan.test_minutes + parts <= plan.planned_minutes, turn
    assert all(0 < part.minutes <= 20 for part in plan.parts)


def test_a_budget_holds_what_was_measured(minutes, plan):
    rows = {row["part"]: row["minutes"] for row in minutes.counted_rows(minutes.stored_rows(minutes.ROWS))}
    for part in plan.parts:
        assert part.name not in rows or not minutes.too_small(part.minutes, rows[part.name]), part
    assert minutes.too_small(10, 9.6)
    assert minutes.too_small(2.5, 2.4)
    assert not minutes.too_small(2.6, 2.4)
    assert not minutes.too_small(11, 10.4)


def part(ci, name, turn, minutes=5):
    return ci.Part(name, turn, minutes, ("tests",))


def test_the_last_line_says_what_was_left_out_and_when_it_comes(ci, plan):
    parts = [part(ci, "a", 0), part(ci, "b", 1), part(ci, "c", 1), part(ci, "d", 2)]
    plan = plan._replace(parts=tuple(parts), turns=3)
    assert ci.last_line(plan, 4, parts[1:3], []) == "ci: left out at turn 4: a (turn 6), d (turn 5)"
    said = ci.last_line(plan, 4, parts[1:2], parts[2:3])
    later, found_no_time = said.split("; ", 1)
    assert later == "ci: left out at turn 4: a (turn 6), d (turn 5)"
    assert found_no_time == "DUE, AND FOUND NO TIME: c; next time: .ci/parts.py next --part c"


@pytest.mark.parametrize(("owed", "code"), [((), 0), (("short",), 0), (("long",), 1)])
def test_a_part_that_could_end_too_late_does_not_begin_and_may_not_be_owed(ci, plan, capsys, monkeypatch, owed, code):
    performed = []
    monkeypatch.setattr(ci, "perform", lambda one: performed.append(one.name) or ci.Done(one, 0, 1.0, "3 passed in 1s"))
    parts = (part(ci, "long", 0, 20), part(ci, "short", 0, 5))
    plan = plan._replace(parts=parts)
    assert ci.run(plan, 0, parts, (plan.last_start_minutes - 6) * 60, owed) == code
    assert performed == ["short"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == (
        "ci: left out at turn 0: nothing; DUE, AND FOUND NO TIME: long; next time: .ci/parts.py next --part long"
    )
    assert "ci: short: 1.0 of 5 minutes, 3 passed in 1s" in lines
    commit = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert f"ci: at commit {commit}" in lines


def test_what_is_owed_comes_first_whatever_its_turn(ci, plan):
    parts = (part(ci, "a", 0), part(ci, "b", 0), part(ci, "c", 1), part(ci, "d", 2))
    plan = plan._replace(parts=parts, turns=3)
    assert [one.name for one in ci.due(plan, 3, ("b", "d"))] == ["b", "d", "a"]


def test_what_found_no_time_is_owed_by_the_next_landing(ci, plan, tmp_path, monkeypatch, capsys):
    def said(*argv):
        monkeypatch.setattr(sys, "argv", ["parts.py", *argv])
        return ci.main(), capsys.readouterr()

    monkeypatch.setattr(ci, "TURN", tmp_path / "turn")
    monkeypatch.setattr(ci, "OWED", tmp_path / "owed")
    monkeypatch.setattr(ci, "landed_turn", lambda: 6)
    ci.TURN.write_text("6\n")
    other = next(part.name for part in plan.parts if part.turn == 0)
    first = next(part.name for part in plan.parts if part.turn == 7 % plan.turns)
    code, out = said("next", "--part", other)
    assert (code, ci.TURN.read_text(), ci.OWED.read_text()) == (0, "7\n", f"{other}\n")
    assert out.out.startswith(f"ci: turn 7: {other}, {first}")
    assert said("check") == (0, out), "whoever runs it reads what was committed"
    assert said("next")[0] == 0
    assert ci.OWED.read_text() == "", "it is owed once"
    ci.OWED.write_text("nothing-of-ours\n")
    code, out = said("check")
    assert (code, out.err) == (254, "ci: no part is called nothing-of-ours; .ci/parts.toml has them\n")
    code, _ = said("next", "--part", "nobody")
    assert (code, ci.OWED.read_text()) == (254, "nothing-of-ours\n"), "nothing is written"


def test_a_part_that_fails_ends_ci_with_its_exit_code(ci, plan, capsys, monkeypatch):
    monkeypatch.setattr(ci, "perform", lambda part: ci.Done(part, 3, 1.0, "1 failed in 1s"))
    parts = (part(ci, "one", 0), part(ci, "two", 0))
    assert ci.run(plan._replace(parts=parts), 0, parts, 0, ()) == 3
    assert "DUE, AND FOUND NO TIME: two" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "closing"),
    [
        ("===== 4 passed, 1 warning in 474.20s (0:07:54) =====", "4 passed, 1 warning in 474.20s (0:07:54)"),
        ("=== 1 failed, 2 passed in 3.00s ===", "1 failed, 2 passed in 3.00s"),
        ("======= 12 deselected in 0.05s =======", ""),
        ("======= short test summary info =======", ""),
    ],
)
def test_pytests_closing_line_is_found(ci, line, closing):
    assert ci.closing_of(["collected 4 items\n", f"{line}\n", "another line\n"]) == closing


def test_a_turn_must_be_one_more_than_the_last(ci):
    assert ci.same_turn(5, None) is None
    assert ci.same_turn(5, 4) is None
    for landed in (5, 3, 6):
        assert "run .ci/parts.py next" in ci.same_turn(5, landed)


def test_the_turn_of_the_landing_before_is_read_from_its_branch(ci, tmp_path, monkeypatch):
    def git(*argv):
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *argv], cwd=tmp_path, check=True, capture_output=True
        )

    (tmp_path / ".ci").mkdir()
    monkeypatch.setattr(ci, "ROOT", tmp_path)
    git("init", "-q")
    for turn in (7, 8):
        (tmp_path / ".ci" / "turn").write_text(f"{turn}\n")
        git("add", ".")
        git("commit", "-qm", "landing")
        if turn == 7:
            assert ci.landed_turn() is None, "this clone knows no branch that landed"
            git("update-ref", "refs/remotes/origin/main", "HEAD")
            assert ci.landed_turn() is None, "it is that landing itself"
    assert ci.landed_turn() == 7


def test_the_page_is_what_the_plan_and_the_rows_say(minutes):
    assert minutes.page(minutes.stored_rows(minutes.ROWS)) == minutes.PAGE.read_text()


def test_a_part_is_performed_and_its_output_shown(ci, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(ci, "ENGINE", ["env"])
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = longer\n")
    (tmp_path / "test_it.py").write_text("import pytest\n@pytest.mark.longer\ndef test_a(): pass\ndef test_b(): pass\n")
    done = ci.perform(ci.Part("mine", 0, 1, (str(tmp_path / "test_it.py"),)))
    assert done.code == 0
    assert done.closing.startswith("1 passed, 1 deselected in ")
    assert "1 passed, 1 deselected" in capfd.readouterr().out


@pytest.fixture
def fake_chaos(ci, tmp_path, monkeypatch):
    """Give a function that makes ``.venv/bin/chaos`` a shell script."""

    def make(script: str) -> None:
        chaos = tmp_path / ".venv" / "bin" / "chaos"
        chaos.parent.mkdir(parents=True)
        chaos.write_text(f"#!/bin/sh\n{script}\n")
        chaos.chmod(0o755)
        monkeypatch.setattr(ci, "ROOT", tmp_path)

    return make


def test_what_systems_of_parts_need_is_fetched_once_each_and_a_failure_is_told(ci, fake_chaos, capfd):
    fake_chaos('echo busy; test "$3" != b || { echo Traceback >&2; echo "b: no such host" >&2; exit 255; }')
    ci.fetch(
        [ci.Part("one", 0, 1, (), fetches=("--system a", "--system b")), ci.Part("two", 0, 1, (), 2, ("--system a",))],
        60,
    )
    assert capfd.readouterr().out.splitlines() == [
        "ci: fetch --system a: there",
        "ci: fetch --system b: FAILED with exit 255: b: no such host",
    ]


def test_fetching_ends_at_its_deadline_with_all_that_it_started(ci, fake_chaos, tmp_path, capfd):
    fake_chaos(f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    part = ci.Part("one", 0, 1, (), fetches=("--system a", "--system b"))
    began = time.monotonic()
    ci.fetch([part], 2)
    assert time.monotonic() - began < 60
    lines = capfd.readouterr().out.splitlines()
    assert [line.split(": all")[0] for line in lines] == [
        "ci: fetch --system a: FAILED",
        "ci: fetch --system b: FAILED",
    ]
    sleeper = Path("/proc", (tmp_path / "pid").read_text().strip(), "cmdline")
    deadline = time.monotonic() + 30
    while sleeper.exists() and b"sleep" in sleeper.read_bytes():  # a killed process that is not reaped has no words
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_part_for_which_something_could_not_be_had_fails_and_the_others_run(ci, plan, capsys, monkeypatch):
    monkeypatch.setattr(ci, "perform", lambda part: ci.Done(part, 0, 1.0, "1 passed in 1s"))
    needs = {"there": ("a",), "missing": ("a", "b"), "unsaid": ("c",), "nothing": ()}
    parts = tuple(ci.Part(name, 0, 5, ("tests",), 1, fetches) for name, fetches in needs.items())
    lines = ["ci: fetch a: there", "ci: fetch b: FAILED with exit 255: no such host"]
    assert ci.run(plan._replace(parts=parts), 0, parts, 0, (), lines) == 1
    said = capsys.readouterr().out.splitlines()
    assert "ci: there: 1.0 of 5 minutes, 1 passed in 1s" in said
    missing = "not run, chaos fetch b: FAILED with exit 255: no such host, FAILED with exit 1"
    assert f"ci: missing: 0.0 of 5 minutes, {missing}" in said
    assert "ci: unsaid: 0.0 of 5 minutes, not run, chaos fetch c: it did not end, FAILED with exit 1" in said
    assert "ci: nothing: 1.0 of 5 minutes, 1 passed in 1s" in said
    assert ci.run(plan._replace(parts=parts), 0, parts, 0, ()) == 0, "nothing was fetched before"


def test_what_parts_fetch_can_be_asked_for(plan):
    asked = [options.split() for part in plan.parts for options in part.fetches]
    assert asked
    for options in asked:
        given = fetch_command.make_context("fetch", list(options)).params
        choose_version(plugins.load("systems", given["system"])(), given["version"], None)


def test_what_is_compiled_is_kept_for_the_next_process():
    assert not sys.dont_write_bytecode
    said = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "False\n"


LOG = """\
ci: etcd: 3 minutes planned
===== 3 passed in 100.00s =====
ci: at commit 0123456789
ci: 20.5 of 21 minutes until the parts began
ci: etcd: 2.4 of 3 minutes, 3 passed in 100.00s (0:01:40)
ci: kafka: 4.5 of 4 minutes, 1 failed, 2 passed in 200.00s (0:03:20), FAILED with exit 1
ci: 27.4 of 65 minutes in all
"""


def test_the_output_of_a_run_of_ci_says_what_its_parts_took(minutes):
    closing = "3 passed in 100.00s (0:01:40)"
    expected = {"part": "etcd", "commit": "0123456789", "minutes": 2.4, "closing": closing}
    assert minutes.measured_in(LOG) == [expected]


def test_output_without_a_commit_gives_no_rows(minutes):
    with pytest.raises(ValueError, match="at commit"):
        minutes.measured_in(LOG.replace("ci: at commit", "ci: at"))
