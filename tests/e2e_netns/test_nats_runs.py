"""Whole runs on a real NATS: valid where reads are confirmed or one server answers, invalid as it comes."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--system", "nats", "--seed", "1", "--time-limit", "40", *options)


@pytest.mark.parametrize(
    ("workload", "settings"),
    [("set", ("--set", "client.confirmReads=true")), ("register", ("--set", "cluster.replicas=1"))],
    ids=["confirmed", "alone"],
)
def test_what_is_acknowledged_outlives_leaders_that_are_killed(workload, settings, tmp_path):
    code, results, said = run(tmp_path, "--workload", workload, "--nemesis", "leader-kill", *settings)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 1000


def test_compare_and_sets_of_one_key_take_each_others_place(tmp_path):
    """NATS 2.9 looks at the revision before it gives the write to Raft, and not behind it (nats-server#4320)."""
    code, results, said = run(tmp_path, "--workload", "register", "--nemesis", "noop", "--keys", "1")
    assert code == 1, said
    assert not results["anomalies"]["nonlinearizable"]["allowed"]


def test_a_leader_that_was_cut_off_answers_from_the_past(tmp_path):
    code, results, said = run(tmp_path, "--workload", "set", "--nemesis", "leader-partition")
    assert code == 1, said
    assert not results["anomalies"]["stale-read"]["allowed"]
