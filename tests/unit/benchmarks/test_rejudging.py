"""A kept run that today's checks judge again: what they say takes the place of what was said, and the run stays."""

import importlib
import json

import pytest
from repository import ROOT

from chaos.testing.history_files import load_history, write_run_folder

RUN = "20260102T030405Z-abcd"


@pytest.fixture
def judged(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module("rejudging")
    monkeypatch.setattr(module, "clean_commit", lambda: "abcdef0123")  # a test may run in a tree with changes
    return module


def row_of(code):
    return {
        "run": RUN,
        "seed": 3,
        "commit": "0123456789",
        "began": "2026-01-02T03:04:05+00:00",
        "code": code,
        "exit": 0,
        "valid": True,
        "sentence": "Nothing was lost.",
    }


def test_a_run_is_judged_again_where_only_the_checks_have_changed(judged, tmp_path):
    now = judged.hashes_of_today()
    same = {name: now[name] for name in ("minimq", "nemesis", "workload queue", "checks of queue")}
    assert not judged.only_checks_changed(row_of(same))
    assert judged.only_checks_changed(row_of({**same, "checks of queue": "old"}))
    assert not judged.only_checks_changed(row_of({**same, "checks of queue": "old", "minimq": "old"}))
    assert not judged.only_checks_changed({"run": RUN})

    kept, store = tmp_path / "rows.jsonl", tmp_path / "store"
    old = row_of({**same, "checks of queue": "old"})
    kept.write_text(json.dumps(old) + "\n")
    judged.judge_again(kept, store)
    assert judged.counted_rows(judged.stored_rows(kept)) == [old]  # its folder is not there

    literal = load_history(ROOT / "tests" / "histories" / "lost-after-it-was-read.yaml")
    write_run_folder(literal, store / "series-0" / "minimq-queue" / RUN)
    judged.judge_again(kept, store, lambda folder, row: {"found": row["exit"] == 1, "folder": folder.name})
    [new] = judged.counted_rows(judged.stored_rows(kept))
    assert (new["exit"], new["valid"], new["found"], new["folder"]) == (1, False, True, RUN)
    assert new["sentence"] != old["sentence"]
    assert (new["commit"], new["seed"], new["code"]) == (old["commit"], 3, same)
    assert new["judged"]["commit"] == "abcdef0123"
    [note] = [row for row in judged.stored_rows(kept) if "supersedes" in row]
    assert note["why"] == "judged again: older than today's checks of queue"
    rows = importlib.import_module("rows")
    assert rows.code_and_dates([new]) == "0123456789, 2026-01-02, judged by abcdef0123"
    judged.judge_again(kept, store)
    assert judged.counted_rows(judged.stored_rows(kept)) == [new]  # it is of today's checks
