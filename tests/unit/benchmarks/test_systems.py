"""The page of systems by fault, made of rows."""

import importlib
from types import ModuleType
from typing import Any

import pytest
from repository import ROOT


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("systems")


def row(seed: int, code: int, **more: Any) -> dict[str, Any]:
    fault = {"skipped": False, "proven": True, "healed": True}
    rto = {"f": "put", "key": -1, "seconds": 2.0 * seed, "recovered": True}
    return {
        "system": "nats", "trial": "kv", "nemesis": "leader-kill", "seed": seed, "exit": code, "run": f"run-{seed}",
        "commit": "1234567890", "began": "2026-11-28T00:00:00", "code": {}, "reason": "", "sentence": f"said {seed}",
        "counts": {"put ok": 1000, "read ok": 7}, "faults": [{**fault, "rto": [rto]}], **more,
    }  # fmt: skip


def test_every_system_is_tried_with_each_of_its_trials_under_each_fault(systems: ModuleType) -> None:
    every = systems.cells()
    assert {cell.system for cell in every} >= {"minimq", "rocketmq", "etcd", "kafka", "dledger"}
    assert len(every) == len({tuple(cell.key.values()) for cell in every})
    of_nats = [cell for cell in every if cell.system == "nats" and cell.trial.name == "kv"]
    assert [cell.nemesis for cell in of_nats] == list(systems.NEMESES)
    assert systems.command_of(of_nats[0], 3) == (
        "chaos run --system nats --workload kv --nemesis leader-kill --set cluster.replicas=1 --time-limit 60 --seed 3"
    )
    assert {cell.trial.main for cell in systems.cells(only_main=True)} == {True}


def test_a_line_says_which_seeds_did_not_pass_and_how_long_changes_stood_still(systems: ModuleType) -> None:
    rows = [row(1, 0), row(2, 1), row(3, 2), row(4, 255), row(5, 0)]
    (line,) = [one for one in systems.page(rows, {}).splitlines() if one.startswith("| kv |")]
    assert line.startswith(
        "| kv | cluster.replicas=1 | leader-kill | 2 of 5 PASS, seed 2 FAIL, seed 3 UNKNOWN, seed 4 broke off |"
    )
    assert "| 5 of 5 | 5,000 | 6.0 s | 10.0 s |" in line


def test_runs_that_did_not_pass_are_told_and_rows_of_other_trials_are_not_mixed_in(systems: ModuleType) -> None:
    made = systems.page([row(1, 1), row(2, 0, trial="gone-since")], {})
    assert "- nats, kv, leader-kill, seed 1, FAIL: said 1\n" in made
    assert "gone-since |" not in made
    assert "Runs: 1; " in made


def test_a_system_without_rows_is_named(systems: ModuleType) -> None:
    assert "No rows yet: dledger, etcd, kafka, " in systems.page([row(1, 0)], {})
