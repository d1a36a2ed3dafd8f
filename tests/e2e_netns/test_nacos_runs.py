"""Whole runs on a real Nacos whose servers are parted: the configuration is valid, and instances are lost."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    parted = ("--system", "nacos", "--nemesis", "random-partition", "--seed", "3", "--time-limit", "30")
    return judged_run(store, *parted, *options)


def test_the_configuration_is_valid(tmp_path):
    code, results, said = run(tmp_path, "--workload", "register", "--rate", "20")
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 500


def test_instances_whose_beats_were_acknowledged_are_lost(tmp_path):
    code, results, said = run(tmp_path, "--workload", "lease", "--rate", "100")
    assert code == 1, said
    found = results["anomalies"]["lease-lost-early"]
    assert not found["allowed"]
    assert found["examples"][0]["ops"], "the beat and the look are shown"
