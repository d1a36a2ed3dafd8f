"""Made-up runs of key spaces: each anomaly under its own name, and told by whoever showed it; no run is needed.

Every kind that the check reports is planted: kv-wrong-read, kv-wrong-answer, kv-revision-twice, kv-revision-skipped,
kv-stale-read, kv-revision-reordered and nonlinearizable.
"""

import pytest

from chaos.generate.generator import HistorySpec
from chaos.generate.objects.kv import GENERATOR, REASON
from checkers.engine import local_engine

SAID = {
    "kv-wrong-read": "get",
    "kv-wrong-answer": "compare-put",
    "kv-revision-twice": "put",
    "kv-revision-skipped": "range",
    "kv-stale-read": "range",
    "kv-revision-reordered": "delete",
    "nonlinearizable": "range",
}


def judged(folder, anomalies):
    spec = HistorySpec(ops=300, keys=2, seed=5, anomalies=anomalies, options={}, argv=("chaos",), processes=1)
    GENERATOR.write(spec, folder)
    return local_engine.judge(folder)


@pytest.mark.parametrize("name", SAID)
def test_each_anomaly_is_shown_by_the_operation_that_was_answered_wrongly(name, tmp_path):
    results = judged(tmp_path / "run", {name: 1})
    (example,) = results.anomalies[name].examples
    assert (results.valid, results.anomalies[name].count) == (False, 1)
    assert example.ops[0]["f"] == SAID[name]


def test_a_valid_run_says_how_many_changes_its_answers_fit(tmp_path):
    results = judged(tmp_path / "run", {})
    assert results.valid is True
    assert "All answers of 2 spaces fit the" in results.sentence


def test_refused_comparisons_say_why():
    assert REASON in GENERATOR.reasons
