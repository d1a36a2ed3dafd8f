"""Rows under docs/data: each names its commit, none disappears, and one that the code has outgrown is marked."""

import importlib
import json
import subprocess
from argparse import Namespace

import pytest
from repository import ROOT

FILES = sorted((ROOT / "docs" / "data").rglob("*.jsonl"))
NOW = {"checks": "1", "nemesis": "2"}


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("rows")


@pytest.fixture
def runs(rows):
    return importlib.import_module("runs")


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_was_ever_kept_is_still_there(path):
    """As git remembers it; members may have been added to a row since, and nothing taken from it."""

    def git(*argv):
        return subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=False)

    where = str(path.relative_to(ROOT))
    commits = git("log", "--format=%H", "--", where)
    if commits.returncode:
        pytest.skip("not in a git repository")
    text = path.read_text()
    here, seen = [members(line) for line in lines_of(text)], set(text.splitlines())
    for commit in commits.stdout.split():
        for line in git("show", f"{commit}:{where}").stdout.splitlines():
            assert line in seen or any(members(json.loads(line)) <= one for one in here), (commit, line)
            seen.add(line)


def members(row):
    return {(name, json.dumps(value)) for name, value in row.items()}


@pytest.mark.parametrize("path", [path for path in FILES if path.name != "cells.jsonl"], ids=lambda path: path.name)
def test_every_row_names_its_commit_and_no_two_are_the_same(path, rows):
    stored = rows.stored_rows(path)
    own = [row for row in stored if "supersedes" not in row]
    identities = [rows.identity(row) for row in own]
    assert len(set(identities)) == len(identities)
    assert all(row["commit"] for row in own)
    assert all(rows.date_of(row) != "?" for row in own)
    assert not [row for row in rows.counted_rows(stored) if "-dirty" in row["commit"]]
    for note in (row for row in stored if "supersedes" in row):
        assert note["supersedes"] in identities
        assert note["by"] is None or note["by"] in identities
        assert note["why"]


def test_the_runs_that_were_once_deleted_are_told(rows):
    page = (ROOT / "docs" / "results" / "bugs.md").read_text().partition("## Superseded rows")[2]
    retuned = [line for line in page.splitlines() if "the bug was retuned" in line]
    assert ["unclean-election" in line for line in retuned] == [True] * 3
    assert sum("NOT FOUND" in line for line in retuned) == 1


def test_a_row_of_a_tree_with_changes_is_not_kept(rows, tmp_path, monkeypatch):
    def git(*argv):
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *argv], cwd=tmp_path, check=True, capture_output=True
        )

    monkeypatch.setattr(rows, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "code.py").write_text("x = 1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    commit = rows.clean_commit()
    assert len(commit) == 10
    (tmp_path / "docs" / "page.md").write_text("a page")
    assert rows.clean_commit() == commit, "pages are made of rows, not rows of pages"
    (tmp_path / "new.py").write_text("")
    with pytest.raises(SystemExit, match=r"(?s)commit them first:.*new\.py"):
        rows.clean_commit()
    (tmp_path / "new.py").unlink()
    (tmp_path / "code.py").write_text("x = 2\n")
    with pytest.raises(SystemExit, match=r"code\.py"):
        rows.origin((), "command")
    with pytest.raises(ValueError, match="names no commit"):
        rows.append_row(tmp_path / "rows.jsonl", {"commit": f"{commit}-dirty"})
    assert not (tmp_path / "rows.jsonl").exists()


def row(name, **more):
    return {"run": name, "seed": 1, "commit": "abc", "began": "2026-01-02T03:04:05", **more}


def test_age_is_told_by_what_changed(rows):
    assert rows.changed_sources(row("r", code=NOW), NOW) == []
    assert rows.changed_sources(row("r", code={"checks": "0", "nemesis": "2"}), NOW) == ["checks"]
    assert rows.changed_sources(row("r"), NOW) is None
    assert rows.code_and_dates([row("r", code=NOW)], NOW) == "abc, 2026-01-02"
    assert rows.code_and_dates([row("r"), row("s", code={"checks": "0"})], NOW) == "abc, 2026-01-02 †‡"
    (said, _) = rows.age_lines([row("r"), row("s", code=NOW), row("t", code={"nemesis": "0"})], NOW)
    assert said.startswith("1 of 3 rows were made by today's code. †: made before rows had fingerprints")
    assert "‡: made by an older version of nemesis" in said


def test_many_faults_that_changed_are_told_in_one_word(rows):
    code = dict.fromkeys(("minimq", "fault kill", "nemesis", "fault loss", "faults of all"), "0")
    assert rows.age(row("r", code=code), {}) == "older than today's minimq and faults and nemesis and faults of all"
    assert rows.age(row("r", code={"fault kill": "0"}), {}) == "older than today's fault kill"
    (said, _) = rows.age_lines([row("r", code={"fault kill": "0"}), row("s", code=code)], {})
    assert "made by an older version of fault kill, minimq, nemesis" not in said
    assert "made by an older version of faults, minimq, nemesis, faults of all;" in said


def test_a_row_takes_the_place_of_another_and_both_stay(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "hashes_of_today", lambda: NOW)
    path = tmp_path / "rows.jsonl"
    same = lambda old: old["seed"] == 1  # noqa: E731
    rows.replace_row(path, row("one"), same)
    rows.replace_row(path, row("other", seed=2), lambda old: old["seed"] == 2)
    rows.replace_row(path, row("two", code={}), same)
    rows.replace_row(path, row("three", code={}), same, "it was unknown")
    stored = rows.stored_rows(path)
    assert [one["run"] for one in rows.counted_rows(stored)] == ["other", "three"]
    table = rows.section(stored, lambda old: f"seed {old['seed']}")
    assert "| one | abc, 2026-01-02 | seed 1 | two | it has no fingerprint of the code that made it |" in table
    assert "| two | abc, 2026-01-02 | seed 1 | three | it was unknown |" in table
    assert rows.section(rows.counted_rows(stored), str) == []


def test_a_series_runs_what_has_no_row_or_none_of_todays_code(rows, runs, monkeypatch):
    monkeypatch.setattr(rows, "hashes_of_today", lambda: NOW)
    jobs = [runs.Job({"seed": seed}, "chaos run") for seed in (1, 2, 3)]
    kept = [row("fresh", seed=1, code=NOW), row("old", seed=2, code={"checks": "0"})]
    left = lambda **how: [job.key["seed"] for job in runs.pending_jobs(jobs, kept, **how)]  # noqa: E731
    assert left(stale=False, again="") == [3]
    assert left(stale=True, again="") == [2, 3]
    assert left(stale=False, again="because") == [1, 2, 3]


def test_a_series_keeps_each_row_and_can_be_taken_up_again(rows, runs, tmp_path, monkeypatch):
    for place in (rows, runs):
        monkeypatch.setattr(place, "clean_commit", lambda: "abc")
    monkeypatch.setattr(
        runs,
        "row_of",
        lambda folder, command, code, _: row(folder.name, seed=int(command[-1]), exit=code, sentence="so"),
    )
    performed = []

    def act(job, store):
        if job.key["seed"] == 3 and len(performed) < 3:
            raise SystemExit("cut off")
        performed.append((job.key["seed"], store.name))
        return tmp_path / f"run-{job.key['seed']}", 0

    path = tmp_path / "rows.jsonl"
    args = Namespace(stale=False, again="", most=None, jobs=1, store=tmp_path)
    jobs = [runs.Job({"seed": seed}, f"chaos run --seed {seed}") for seed in (1, 2, 3)]
    with pytest.raises(SystemExit, match="cut off"):
        runs.run_series(path, jobs, args, lambda _, made: {"twice": 2 * made["seed"]}, act)
    assert [one["run"] for one in rows.stored_rows(path)] == ["run-1", "run-2"]
    performed.append("later")
    runs.run_series(path, jobs, Namespace(**vars(args) | {"most": 0}), None, act)
    assert performed[-1] == "later"
    runs.run_series(path, jobs, args, None, act)
    assert performed == [(1, "series-0"), (2, "series-0"), "later", (3, "series-0")]
    assert rows.stored_rows(path)[0]["twice"] == 2


def test_a_run_at_whose_end_another_commit_is_there_is_not_kept(rows, runs, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "clean_commit", lambda: "before")
    monkeypatch.setattr(runs, "row_of", lambda *_: row("r", exit=0))
    args = Namespace(stale=False, again="", most=1, jobs=1, store=tmp_path)
    with pytest.raises(SystemExit, match="began at before, and this is abc now"):
        runs.run_series(tmp_path / "rows.jsonl", [runs.Job({"seed": 1}, "")], args, None, lambda *_: (tmp_path, 0))
    assert not (tmp_path / "rows.jsonl").exists()


def test_what_a_sequence_injected_is_in_its_plan(runs, tmp_path):
    plan = ({"name": "leader-kill@p0"}, {"name": "leader-partition"}, {"name": "leader-kill@p0"})
    (tmp_path / "plan.jsonl").write_text("\n".join(map(json.dumps, plan)) + "\n")
    assert runs.nemeses_of(tmp_path, {"nemesis": "sequence"}) == ["leader-kill@p0", "leader-partition"]
    assert runs.nemeses_of(tmp_path, {"nemesis": "all"}) == ["all"]
