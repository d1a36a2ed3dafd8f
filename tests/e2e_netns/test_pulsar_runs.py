"""Whole runs on a real Pulsar with BookKeeper: valid as it comes, invalid where one bookie's word is enough."""

import subprocess
import sys

import pytest
from judged_run import judged_run

from chaos.core.matrix_results import read_rows

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def test_pulsar_is_valid_when_an_owner_is_killed(tmp_path):
    short = ("--time-limit", "25", "--fault-duration", "8", "--recovery-time", "5", "--rate", "60", "--seed", "1")
    code, results, said = judged_run(tmp_path, "--system", "pulsar", "--nemesis", "leader-kill", *short)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 500


def test_what_one_bookie_alone_acknowledged_is_lost_with_its_power(tmp_path):
    argv = [sys.executable, "-m", "chaos", "matrix", "pulsar-unsafe", "--only", "ack-1.1", "--store", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=500, check=False)
    (row,) = read_rows(tmp_path / "matrix-pulsar-unsafe")
    assert (done.returncode, row.verdict) == (1, "invalid"), done.stdout
    assert row.lost > 0
    assert row.proven == row.healed == 2, "a bookie was killed, and the power of another failed"
