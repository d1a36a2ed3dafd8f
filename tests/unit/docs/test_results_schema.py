"""The schemas in docs/reference are made of the code; results of every kind and rows of matrices keep to them."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import results_schema
import synthetic
from repository import ROOT
from small_matrix import PLAN, ROWS, row

from chaos.core.gate import Allowed, GateResult, Gates, ThresholdResult
from chaos.core.matrix_results import CellRow
from chaos.run.judging import judge
from chaos.storage.runinfo import read_run, write_run
from chaos.testing.history_files import load_history, write_run_folder

SCHEMA = json.loads(results_schema.FILE.read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
HISTORIES = sorted((ROOT / "tests" / "histories").glob("*.yaml"))[::6]


@pytest.mark.parametrize("path", results_schema.schemas(), ids=lambda path: path.stem)
def test_a_file_is_what_the_code_says_and_a_schema(path: Path) -> None:
    assert path.read_text() == results_schema.texts()[path], "run tests/support/results_schema.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("history", HISTORIES, ids=lambda path: path.stem)
def test_real_results_keep_to_it(history: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_run_folder(load_history(history), folder)
    judge(folder, "local")
    VALIDATOR.validate(json.loads((folder / "results.json").read_text()))


def gated(folder: Path) -> dict[str, Any]:
    """Results with every state of a threshold and an allowed finding."""
    write_run_folder(load_history(ROOT / "tests" / "histories" / "rto-over-the-budget.yaml"), folder)
    gates = Gates(
        thresholds=("lost==0", "failovers>=9", "rto<=1s", "rto(random-loss)<=1s"),
        allow=(Allowed(anomaly="rto-budget", system=read_run(folder).system, reason="slow machine"),),
    )
    write_run(folder, msgspec.structs.replace(read_run(folder), gates=gates))
    judge(folder, "local")
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


def test_results_with_thresholds_keep_to_it(tmp_path: Path) -> None:
    found = gated(tmp_path / "run")
    assert {one["state"] for one in found["thresholds"]} == {"held", "broken", "unknown"}
    assert found["gate"]["allowed"][0]["reason"] == "slow machine"
    VALIDATOR.validate(found)


@pytest.mark.parametrize("kind", ["valid", "invalid", "unknown", "interrupted", "empty"])
def test_synthetic_results_keep_to_it(kind: str, tmp_path: Path) -> None:
    folder = synthetic.write(tmp_path / kind, kind, points=10)
    VALIDATOR.validate(json.loads((folder / "results.json").read_text()))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("valid",), "PASS"),
        (("sentence",), None),
        (("thresholds", 0, "state"), "passed"),
        (("gate", "valid"), "no"),
        (("checks", 0, "anomalies"), []),
    ],
)
def test_what_is_none_is_refused(path: tuple[Any, ...], wrong: Any, tmp_path: Path) -> None:
    found = copy.deepcopy(gated(tmp_path / "run"))
    inner: Any = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = wrong
    assert not VALIDATOR.is_valid(found)


def validator_of(path: Path) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(path.read_text()))


def as_stored(struct: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(struct))
    return found


GATED = row(
    3,
    thresholds=(ThresholdResult(text="lost==0", state="held", measured="0", value=0),),
    gate=GateResult(valid=True),
)


def test_the_plan_of_a_matrix_keeps_to_its_schema() -> None:
    stored = as_stored(PLAN)
    validator_of(results_schema.PLAN).validate(stored)
    assert not validator_of(results_schema.PLAN).is_valid({**stored, "repeats": "1"})


@pytest.mark.parametrize("made", [*ROWS, GATED], ids=lambda made: made.id)
def test_a_row_of_a_matrix_keeps_to_its_schema(made: CellRow) -> None:
    validator_of(results_schema.ROW).validate(as_stored(made))


@pytest.mark.parametrize(
    "wrong", [{"verdict": "PASS"}, {"rto": {"send": ["ever"]}}, {"argv": "chaos run"}, {"colour": "FAIL"}], ids=str
)
def test_what_is_no_row_is_refused(wrong: dict[str, Any]) -> None:
    assert not validator_of(results_schema.ROW).is_valid({**as_stored(ROWS[0]), **wrong})


def test_rows_that_are_kept_keep_to_the_schema() -> None:
    kept = (ROOT / "docs" / "data" / "rocketmq-raft" / "cells.jsonl").read_text().splitlines()
    assert kept
    for line in kept[::20]:
        validator_of(results_schema.ROW).validate(json.loads(line))
