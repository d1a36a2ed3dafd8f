"""A whole run on a real Pulsar with BookKeeper: valid as it comes."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def test_pulsar_is_valid_when_an_owner_is_killed(tmp_path):
    short = ("--time-limit", "25", "--fault-duration", "8", "--recovery-time", "5", "--rate", "60", "--seed", "1")
    code, results, said = judged_run(tmp_path, "--system", "pulsar", "--nemesis", "leader-kill", *short)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 500
