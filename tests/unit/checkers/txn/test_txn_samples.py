"""Histories with the verdicts of Elle 0.2.8: ours are the same, and every example shows its anomaly alone."""

import json
from functools import cache

import msgspec
import pytest
from repository import DATA, ROOT

from checkers.imported.judge_file import judge
from checkers.imported.options import Question
from checkers.txn.models import CYCLE_EXISTS, MODELS
from checkers.txn.models import forbidden_anomalies as forbidden_by
from checkers.txn.names import CYCLES, SCANS

FOLDER = DATA / "txn"
ROWS = [json.loads(line) for line in (FOLDER / "verdicts.jsonl").read_text().splitlines()]
FILES = sorted({row["file"] for row in ROWS})

COUNTED_TWICE = {("rw-0182.edn", "cyclic-versions")}
"""One key's values come before each other, as a look at all pairs of its reads and writes shows. Elle counts two."""


def question_of(row, format_="jepsen"):
    asked = row["opts"]
    return Question(
        format=format_,
        model=row["checker"],
        consistency_models=tuple(asked["consistency-models"]),
        wfr_keys=asked.get("wfr-keys?", False),
        sequential_keys=asked.get("sequential-keys?", False),
        linearizable_keys=asked.get("linearizable-keys?", False),
    )


@cache
def judged(file):
    """The rows of a file with our verdicts."""
    rows = [row for row in ROWS if row["file"] == file]
    return [(row, judge(FOLDER / file, question_of(row), "local")) for row in rows]


def forbidden(results):
    return {name: one.count for name, one in results.anomalies.items() if not one.allowed}


@pytest.mark.parametrize("file", FILES)
def test_verdicts_and_anomalies_are_those_of_the_reference(file):
    for row, results in judged(file):
        counts = {
            name: 1 if (file, name) in COUNTED_TWICE and count == 2 else count for name, count in row["counts"].items()
        }
        assert (row["options"], results.valid) == (row["options"], row["valid"])
        assert (row["options"], forbidden(results)) == (row["options"], counts)


@pytest.mark.parametrize("file", FILES)
def test_models_that_are_ruled_out_are_those_of_the_reference(file):
    for row, results in judged(file):
        if row["valid"] is False:
            assert list(results.ruled_out["not"]) == row["not"]
            assert list(results.ruled_out["also-not"]) == row["also_not"]


@pytest.mark.parametrize("file", FILES)
def test_what_an_example_shows_is_enough_to_find_it_again(file, tmp_path):
    """Of the strictest question, which finds most; the operations alone, as ``--json`` gives them."""
    row, results = judged(file)[6]
    assert row["options"] == "strict-serializable"
    for name, anomaly in results.anomalies.items():
        example = msgspec.to_builtins(anomaly.examples[0])
        alone = tmp_path / "alone.jsonl"
        alone.write_text("".join(json.dumps(one) + "\n" for one in example["ops"]))
        again = judge(alone, question_of(row, "jsonl"), "local")
        assert name in again.anomalies
        assert [edge["reason"] for edge in example["circle"]] == example["sentence"].split(": so ")[0].split("; ")[
            : len(example["circle"])
        ]


def test_all_models_and_anomalies_are_on_their_page():
    page = (ROOT / "docs" / "reference" / "transactions.md").read_text()
    assert all(f"`{name}`" in page for name in (*CYCLES, *SCANS))
    named = {name for name in MODELS if f"`{name}`" in page}
    assert set(CYCLE_EXISTS) <= named
    assert {model for model in MODELS if forbidden_by([model])} <= named


def test_every_kind_of_the_reference_is_among_the_samples():
    shown = {name for row in ROWS for name in row["counts"]}
    assert {"G0", "G1a", "G1b", "G1c", "G-single-item", "G-nonadjacent-item", "G2-item", "lost-update"} <= shown
    assert len(ROWS) == 580
