"""Whole runs on a real etcd: valid as it comes, invalid when clients ask for reads that may be old."""

import json
import shutil
import subprocess
import sys

import pytest
from judged_run import judged_run

from cluster.systems.etcd.system import Etcd

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--system", "etcd", "--seed", "1", "--time-limit", "40", *options)


@pytest.mark.parametrize(
    ("workload", "nemesis", "backend"),
    [
        ("register", "leader-kill", "netns"),
        ("counter", "random-partition", "netns"),
        ("set", "random-partition", "docker"),
    ],
)
def test_etcd_is_valid(workload, nemesis, backend, tmp_path):
    code, results, said = run(tmp_path, "--workload", workload, "--nemesis", nemesis, "--backend", backend)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 1000
    shown = subprocess.run(
        [sys.executable, "-m", "chaos", "show", "-1", "--store", str(tmp_path), "--from", "5", "--to", "6"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert workload != "register" or " cas " in shown, "its operations are shown in their own words"


def test_another_version_with_five_members_and_a_learner_is_valid(tmp_path):
    """Built of Go modules; each of the six is asked for what it holds."""
    options = ("--system-version", "3.6.16", "--set", "cluster.members=5", "--set", "cluster.learners=1")
    settled = ("--set", "auto-compaction-mode=revision", "--set", "auto-compaction-retention=200")
    code, results, said = run(tmp_path, "--nemesis", "minor-kill", *options, *settled, "--set", "snapshot-count=500")
    assert code == 0, said
    assert (
        "etcd 3.6.16; 6 settings proven to be in effect on 6 nodes"
        in (tmp_path / "current" / "history" / "observer.events").read_text()
    )
    rows = {check["name"]: check for check in results["checks"]}
    assert (rows["replica-data"]["valid"], rows["replica-data"]["examined"]) == (True, "6 replicas")
    assert json.loads((tmp_path / "current" / "run.json").read_text())["system_version"] == "3.6.16"


def test_somebodys_own_build_with_failpoints(tmp_path):
    """A folder with the program alone; the run is replayed with it."""
    newer = Etcd("3.6.16")
    built = newer.variant(newer.resolve({"build.gofail": "true"})).fetch(print)
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy2(built / "etcd", own)
    failpoints = ("--set", "build.gofail=true", "--set", "gofail.failpoints=go.etcd.io/etcd/server/v3/mvcc/x=print")
    store = tmp_path / "store"
    code, _, said = run(store, "--artifacts", str(own), "--nemesis", "noop", "--time-limit", "10", *failpoints)
    assert code == 0, said
    info = json.loads((store / "current" / "run.json").read_text())
    assert (info["system_version"], info["artifacts"]) == ("3.6.16", str(own))
    config = (store / "current" / "config.yaml").read_text()
    assert "system_version: 3.6.16" in config
    assert f"artifacts: {own}" in config


CRASHES = (
    *("--workload", "set", "--nemesis", "all-kill", "--rate", "600", "--clients", "16", "--time-limit", "60"),
    *("--fault-interval", "2", "--fault-duration", "0.5", "--rhythm", "even", "--recovery-time", "3"),
    *("--set", "process.GOMAXPROCS=4", "--set", "election-timeout=300", "--set", "heartbeat-interval=50"),
)
"""Members that apply much are killed often: what was applied and what says how far may then disagree on disk."""


def test_3_5_2_forks_when_it_is_killed_under_load(tmp_path):
    """The entry that was next when the backend was committed is skipped after the restart; a race, so some tries."""
    for seed in range(1, 4):
        code, results, said = run(tmp_path / str(seed), "--system-version", "3.5.2", *CRASHES, "--seed", str(seed))
        if "replica-fork" in results["anomalies"]:
            break
    assert code == 1, said
    fork = results["anomalies"]["replica-fork"]
    assert any("revision" in example["sentence"] for example in fork["examples"])


def test_3_5_3_does_not_fork_there(tmp_path):
    _, results, said = run(tmp_path, "--system-version", "3.5.3", *CRASHES)
    assert not {"replica-fork", "lost-write", "stale-read"} & set(results["anomalies"]), said
    rows = {check["name"]: check for check in results["checks"]}
    assert (rows["replica-data"]["valid"], rows["replica-data"]["examined"]) == (True, "3 replicas")


def test_reads_of_old_copies_are_found(tmp_path):
    old = ("--set", "client.serializable=true")
    code, results, said = run(tmp_path, "--nemesis", "random-partition", *old)
    assert code == 1, said
    found = results["anomalies"]["nonlinearizable"]
    assert not found["allowed"]
    assert found["examples"][0]["ops"], "the operations that have no order are shown"
    assert results["sentence"] in " ".join(said.split()), "and told first"
