"""Whole runs in which nodes are started again with another setting, or as another version, one after the other."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

ONE = ("--seed", "1", "--time-limit", "40", "--fault-interval", "5", "--fault-duration", "30", "--rate", "50")


def proven_run(tmp_path, *options):
    """The one fault of a valid run, which was proven and healed."""
    code, results, said = judged_run(tmp_path, *options, *ONE)
    assert code == 0, said
    (fault,) = results["faults"]
    assert (fault["proven"], fault["healed"]) == (True, True), said
    return said


def test_etcd_is_upgraded_and_downgraded_node_by_node(tmp_path):
    etcd = ("--system", "etcd", "--system-version", "3.5.2")
    said = proven_run(tmp_path, *etcd, "--nemesis", "all-change-version:to=3.5.3")
    assert said.count("says version 3.5.2") >= 3, said


def test_etcd_serves_in_two_versions(tmp_path):
    etcd = ("--system", "etcd", "--system-version", "3.5.2")
    said = proven_run(tmp_path, *etcd, "--nemesis", "leader-change-version:to=3.5.3")
    assert "says version 3.5.3" in said


def test_etcd_is_given_another_setting_node_by_node(tmp_path):
    said = proven_run(tmp_path, "--system", "etcd", "--nemesis", "all-change-setting:setting=snapshot-count,to=100")
    assert said.count("says snapshot-count=100000") >= 3, said


@pytest.mark.parametrize(
    ("role", "setting", "to"),
    [("broker", "broker.segmentBytes", "4096"), ("controller", "controller.brokerTimeout", "3")],
)
def test_minimq_is_given_another_setting_node_by_node(role, setting, to, tmp_path):
    said = proven_run(tmp_path, "--nemesis", f"all-change-setting:setting={setting},to={to}@{role}")
    assert f"says {setting}={to}" in said
