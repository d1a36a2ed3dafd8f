"""What is written down of a verdict: sentences, and records that the checker itself judges to show it."""

import msgspec
import pytest
from kafka_literals import columns
from repository import DATA

from chaos.formats import kafka
from checkers.kafka.check import check
from checkers.kafka.report import EXAMPLES, anomalies_of, record

SAMPLES = DATA / "kafka"


@pytest.mark.parametrize(("name", "ww_deps"), [("k0021.edn", False), ("k0058.edn", False), ("k0049.edn", True)])
def test_every_anomaly_is_told_with_a_history_that_shows_it(name, ww_deps):
    history = kafka.read(SAMPLES / name).columns
    verdict = check(history, ww_deps=ww_deps)
    anomalies = anomalies_of(verdict, history, sub_via="assign", ww_deps=ww_deps)
    assert list(anomalies) == list(verdict.anomalies)
    for anomaly, one in anomalies.items():
        assert (one.count, one.allowed) == (verdict.anomalies[anomaly].count, verdict.anomalies[anomaly].allowed)
        assert 1 <= len(one.examples) <= EXAMPLES
        assert all(example.sentence.endswith((".", "circle.")) for example in one.examples)
        if not anomaly.endswith("-cycle-exists"):
            small = check(columns(one.examples[0].ops), ww_deps=ww_deps)
            assert anomaly in small.anomalies
            assert one.allowed or small.valid is False
    assert msgspec.json.encode(anomalies)


def test_records_read_as_they_were_written():
    records = [
        {"index": 3, "process": 1, "type": "invoke", "f": "assign", "value": ["a", "b"]},
        {"index": 5, "process": 2, "type": "invoke", "f": "txn", "value": [["send", "a", 1]]},
        {
            "index": 6,
            "process": 2,
            "type": "ok",
            "f": "txn",
            "value": [
                ["poll", {}],
                ["send", "a", [None, 1]],
                ["poll", {"a": [[0, 1], [1, 2]], "b": []}],
                ["poll", {"b": []}],
            ],
        },
    ]
    history = columns(records)
    assert [record(history, row) for row in range(3)] == records
