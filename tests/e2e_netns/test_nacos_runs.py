"""Whole runs on a real Nacos whose servers are parted: the configuration is valid, and instances are lost."""

import pytest
from judged_run import judged_run

LOOK_NS = 2_100_000_000  # a look waits before it asks
pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def parted_run(store, *options):
    """The verdict, and the one fault, of a run in which servers are parted."""
    parted = ("--system", "nacos", "--nemesis", "random-partition", "--seed", "3", "--fault-interval", "6")
    times = ("--fault-duration", "8", "--time-limit", "16", "--recovery-time", "5", "--ready-deadline", "360")
    code, results, said = judged_run(store, *parted, *times, *options)
    (fault,) = results["faults"]
    assert fault["proven"], said
    assert fault["healed"], said
    return code, results, fault, said


def test_the_configuration_is_valid(tmp_path):
    code, results, _, said = parted_run(tmp_path, "--workload", "register", "--rate", "20")
    assert code == 0, said
    assert results["counts"]["ok"] > 200


def test_instances_are_lost_whose_beats_were_acknowledged_beyond_the_cut(tmp_path):
    code, results, fault, said = parted_run(tmp_path, "--workload", "lease", "--rate", "100")
    assert code == 1, said
    lost = results["anomalies"]["lease-lost-early"]
    assert not lost["allowed"]
    assert all(example["ops"] for example in lost["examples"]), "the beat and the look are shown"
    sent_ns = min(example["at_ns"] for example in lost["examples"])
    assert sent_ns + LOOK_NS > fault["inject_ns"], "no look of servers that reached each other missed an instance"


def test_instances_live_as_long_as_was_acknowledged_where_nothing_is_cut(tmp_path):
    whole = ("--system", "nacos", "--workload", "lease", "--nemesis", "noop", "--rate", "100", "--seed", "3")
    times = ("--time-limit", "16", "--recovery-time", "5", "--ready-deadline", "360")
    code, results, said = judged_run(tmp_path, *whole, *times)
    assert code == 0, said
    assert results["counts"]["ok"] > 500
