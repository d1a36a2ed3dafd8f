"""Transactions on real systems under a fault: they fit what safe settings promise, and unsafe settings are found."""

import subprocess
import sys

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, system, workload, nemesis, *options):
    what = ("--system", system, "--workload", workload, "--nemesis", nemesis, "--seed", "1", "--time-limit", "40")
    return judged_run(store, *what, *options)


def row_of(results, name="transactions"):
    (row,) = (check for check in results["checks"] if check["name"] == name)
    return row


SAFE = [
    ("etcd", "list-append", "random-partition", ()),
    ("etcd", "rw-register", "leader-kill", ()),
    ("redis", "list-append", "leader-kill", ("--set", "client.wait=2")),
    ("zookeeper", "list-append", "leader-kill", ()),
]


@pytest.mark.parametrize(("system", "workload", "nemesis", "options"), SAFE)
def test_safe_settings_hold_strict_serializability(system, workload, nemesis, options, tmp_path):
    code, results, said = run(tmp_path, system, workload, nemesis, *options)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    row = row_of(results)
    assert (row["valid"], row["anomalies"]) == (True, {})
    assert "held to strict-serializable" in row["examined"]
    assert results["counts"]["ok"] > 1000


UNSAFE = [
    ("etcd", "list-append", "random-partition", ("--set", "client.serializable=true")),
    ("redis", "list-append", "leader-partition", ()),
]


@pytest.mark.parametrize(("system", "workload", "nemesis", "options"), UNSAFE)
def test_unsafe_settings_are_found(system, workload, nemesis, options, tmp_path):
    code, results, said = run(tmp_path, system, workload, nemesis, *options)
    assert code == 1, said
    row = row_of(results)
    assert row["valid"] is False
    assert any(example["circle"] or example["ops"] for one in row["anomalies"].values() for example in one["examples"])
    page = (tmp_path / "current" / "report.html").read_text()
    assert all(name in page for name in row["anomalies"])
    shown = subprocess.run(
        [sys.executable, "-m", "chaos", "show", "-1", "--store", str(tmp_path), "--from", "5", "--to", "6"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert " append " in shown


OTHERS = [
    ("etcd", "bank", ()),
    ("etcd", "multi-register", ()),
    ("redis", "bank", ("--set", "client.wait=2")),
    ("zookeeper", "long-fork", ()),
]
"""Of each workload one: the others are in the matrix of systems."""


@pytest.mark.parametrize(("system", "workload", "options"), OTHERS)
def test_safe_settings_hold_under_a_partition(system, workload, options, tmp_path):
    code, results, said = run(tmp_path, system, workload, "random-partition", *options)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    row = row_of(results, workload)
    assert (row["valid"], row["anomalies"]) == (True, {})
    assert results["counts"]["ok"] > 1000


def test_old_copies_of_members_are_found(tmp_path):
    """Members apply one log in its order, so their copies never fork: what shows is that one of them is old."""
    options = ("--set", "client.serializable=true")
    code, results, said = run(tmp_path, "etcd", "monotonic", "random-partition", *options)
    assert code == 1, said
    row = row_of(results, "monotonic")
    assert set(row["anomalies"]) == {"key-order-cycle"}
    assert row["anomalies"]["key-order-cycle"]["examples"][0]["ops"]
