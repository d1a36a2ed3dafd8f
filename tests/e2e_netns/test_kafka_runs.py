"""Whole runs on a real Kafka: valid as it comes, invalid where the leader alone acknowledges."""

import subprocess
import sys

import pytest
from judged_run import judged_run

from chaos.core.matrix_results import read_rows

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    short = ("--time-limit", "20", "--recovery-time", "5", "--rate", "100")
    return judged_run(store, "--system", "kafka", "--seed", "1", *short, *options)


@pytest.mark.parametrize(
    ("nemesis", "mode"), [("leader-kill", "separate"), ("random-partition", "combined"), ("major-suspend", "combined")]
)
def test_kafka_is_valid(nemesis, mode, tmp_path):
    code, results, said = run(tmp_path, "--nemesis", nemesis, "--set", f"cluster.mode={mode}")
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 1000


def test_what_the_leader_alone_acknowledged_is_lost_when_it_is_killed(tmp_path):
    argv = [sys.executable, "-m", "chaos", "matrix", "kafka-unsafe", "--only", "acks-1.1", "--store", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=500, check=False)
    (row,) = read_rows(tmp_path / "matrix-kafka-unsafe")
    assert (done.returncode, row.verdict) == (1, "invalid"), done.stdout
    assert row.lost > 0
    assert row.proven == row.healed == 2, "the leader was slow, and killed"
