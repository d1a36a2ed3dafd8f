"""Whole runs on a real RabbitMQ: quorum queues keep what they acknowledged."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--system", "rabbitmq", "--seed", "1", "--time-limit", "30", "--rate", "60", *options)


HANGS = "Global hang workaround: global state on"
"""What a node writes that meets a fault of Erlang which docs/results/findings.md tells, in RabbitMQ's words."""


def is_known_hang(results, store):
    """Whether nothing is wrong but that a node which paused does not come back, for the reason that is known."""
    logs = store.rglob("nodes/*/logs/stdout.log")
    return set(results["anomalies"]) == {"did-not-come-back"} and any(HANGS in log.read_text() for log in logs)


@pytest.mark.parametrize("nemesis", ["leader-kill", "random-partition"])
def test_quorum_queues_lose_nothing(nemesis, tmp_path):
    code, results, said = run(tmp_path, "--nemesis", nemesis)
    row = row_of(results, "total-queue")
    assert (row["valid"], "lost-write" in row["anomalies"]) == (True, False), said
    assert code == 0 or (nemesis == "random-partition" and is_known_hang(results, tmp_path)), said
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 500
