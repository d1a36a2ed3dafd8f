"""Pages under docs/ that are generated from stored run data are exactly what their generator makes of it."""

import importlib
import re
from typing import Any

import pytest
from repository import ROOT

from chaos.core.matrix_results import read_plan, read_rows
from chaos.plugins import load


@pytest.mark.parametrize(
    ("generator", "page"),
    [
        ("rocketmq_matrix", "rocketmq.md"),
        ("findings", "findings.md"),
        ("minimq_bugs", "bugs.md"),
        ("minimq_clean", "clean-runs.md"),
        ("minimq_figures", "minimq-figures.md"),
        ("backends", "backend-costs.md"),
        ("progress", "progress.md"),
        ("bench", "benchmarks.md"),
        ("dispatch", "dispatch.md"),
        ("simulated_bugs", "simulated-bugs.md"),
        ("hunts", "hunt.md"),
        ("systems", "systems.md"),
    ],
)
def test_page_is_what_the_stored_runs_say(generator: str, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module(generator)
    assert module.page(module.stored_rows(module.ROWS)) == (ROOT / "docs" / "results" / page).read_text(), (
        "run make pages"
    )


def test_the_papers_page_is_what_the_stored_matrix_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    raft = importlib.import_module("rocketmq_raft")
    plan, rows = read_plan(raft.DATA), read_rows(raft.DATA)
    assert raft.page(plan, rows, raft.stored_rows(raft.ORIGINS)) == raft.PAGE.read_text(), "run make pages"
    assert raft.html(plan, rows) == raft.HTML.read_text()


def test_the_margins_that_systems_promise_follow_from_the_stored_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    progress = importlib.import_module("progress")
    rows = progress.stored_rows(progress.ROWS)
    measured = {name: progress.silences_of(name, rows) for name in progress.SYSTEMS}
    promised = {name: load("systems", name)().promises(load("systems", name)().resolve({})) for name in measured}
    assert any(measured.values())
    for name, silences in measured.items():
        assert not silences or promised[name].progress_margin_s == progress.margin_s(silences)


FAULT_S = re.compile(r"--fault-(?:duration|interval) ([\d.]+)")


def _after_heals(rows: list[dict[str, Any]]) -> list[float]:
    """Of sends that were acknowledged again after a heal: how long after it, in seconds.

    In a mix faults have drawn lengths and overlap since rows have fingerprints, so only the last one tells of nothing
    else: how long after its heal, where the row says when that was, else its whole outage. Elsewhere it is the outage
    less the command's fault length.
    """
    out = []
    for row in rows:
        command = row.get("command", "")
        mixed = "--nemesis all " in command and "code" in row
        if mixed or FAULT_S.search(command):
            length_s = 0.0 if mixed else min(map(float, FAULT_S.findall(command)))
            for fault in row["faults"][-1:] if mixed else row["faults"]:
                told = [rto for rto in fault["rto"] if rto["f"] == "send" and rto["when"] == "after-heal"]
                for rto in told:
                    known = mixed and fault.get("heal_ns") is not None
                    less_s = (fault["heal_ns"] - rto["start_ns"]) / 1e9 if known else length_s
                    out.append(rto["seconds"] - less_s)
    return out


def test_the_recovery_that_systems_promise_is_far_above_what_the_stored_runs_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    rows = importlib.import_module("rows")
    raft = importlib.import_module("rocketmq_raft")
    ten_s = 10.0  # the shortest fault of the matrix, to which it was shrunk
    killed = [s - ten_s for row in read_rows(raft.DATA) if "kill" in row.cell for s in row.rto.get("send", ()) if s]
    took = {
        "minimq": _after_heals(rows.stored_rows(rows.DATA / "clean.jsonl")),
        "rocketmq": _after_heals(rows.stored_rows(rows.DATA / "rocketmq.jsonl")) + killed,
    }
    for name, seconds in took.items():
        promised = load("systems", name)().promises(load("systems", name)().resolve({})).recovers_within_s
        assert seconds
        assert promised >= 3 * max(seconds), f"{name}: {max(seconds):.1f} s were measured"
