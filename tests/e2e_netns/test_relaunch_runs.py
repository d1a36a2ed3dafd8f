"""Whole runs in which nodes are started again with another setting, or as another version, one after the other."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SHORT = ("--seed", "1", "--time-limit", "26", "--fault-interval", "3", "--fault-duration", "20", "--recovery-time", "3")


def proven_run(tmp_path, *options):
    """What was said in a valid run whose one fault was proven and healed."""
    code, results, said = judged_run(tmp_path, *options, *SHORT, "--rate", "50")
    assert code == 0, said
    (fault,) = results["faults"]
    assert (fault["proven"], fault["healed"]) == (True, True), said
    return said


def test_etcd_is_upgraded_and_downgraded_node_by_node(tmp_path):
    etcd = ("--system", "etcd", "--system-version", "3.5.2")
    said = proven_run(tmp_path, *etcd, "--nemesis", "all-change-version:to=3.5.3")
    assert said.count("says version 3.5.2") == 3, said


def test_brokers_are_given_another_setting_node_by_node(tmp_path):
    said = proven_run(tmp_path, "--nemesis", "all-change-setting:setting=broker.segmentBytes,to=4096@broker")
    assert said.count("says broker.segmentBytes=65536") == 3, said
