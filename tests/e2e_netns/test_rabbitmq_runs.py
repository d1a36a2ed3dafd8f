"""Whole runs on a real RabbitMQ: quorum queues keep what they acknowledged."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--system", "rabbitmq", "--seed", "1", "--time-limit", "30", "--rate", "60", *options)


@pytest.mark.parametrize("nemesis", ["leader-kill", "random-partition"])
def test_quorum_queues_lose_nothing(nemesis, tmp_path):
    code, results, said = run(tmp_path, "--nemesis", nemesis)
    row = row_of(results, "total-queue")
    assert (code, row["valid"], "lost-write" in row["anomalies"]) == (0, True, False), said
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 500
