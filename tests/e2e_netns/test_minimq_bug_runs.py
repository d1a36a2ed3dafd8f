"""Three of minimq's bugs on real processes: found, and told as the nodes themselves wrote it down."""

import importlib
import json
import subprocess
import sys

import pytest
from repository import ROOT

from cluster.systems.minimq.bugs.switches import BUGS

pytestmark = pytest.mark.e2e


@pytest.fixture
def truth(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("truth")


def exactly(note, example):
    """The very message that a node noted."""
    return (note["queue"], note["offset"], note["node"]) == (example["key"], example["offset"], example["node"])


def served_by(note, example):
    """A read that the noted node served."""
    return (note["queue"], note["node"]) == (example["key"], example["node"])


def given_again(note, example):
    """A message that was appended a second time, at one of the offsets between which the example lies."""
    return note["queue"] == example["key"] and note["offset"] >= example["offset"]


# Brokers that are cut off from their master alone: it stays master, so that all retries reach one log. Random faults
# may hit three masters in a row, and a retry at a new master is no second message.
ITS_FOLLOWERS = ("--nemesis", "leader-partition@broker")


@pytest.mark.parametrize(
    ("name", "agrees", "faults"),
    [
        ("ack-before-replicate", exactly, ()),
        pytest.param("stale-read-slave", served_by, (), marks=pytest.mark.longer),
        pytest.param("duplicate-on-retry", given_again, ITS_FOLLOWERS, marks=pytest.mark.longer),
    ],
)
def test_a_bug_is_found_and_the_sentence_agrees_with_what_was_injected(name, agrees, faults, truth, tmp_path):
    argv = [sys.executable, "-m", "chaos", "run", "--bug", name, "--engine", "local", "--seed", "1", *faults]
    argv += ["--time-limit", "30", "--recovery-time", "5", "--rate", "150", "--store", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    folder = (tmp_path / "current").resolve()
    results = json.loads((folder / "results.json").read_text())
    found = results["anomalies"][BUGS[name].anomaly]
    assert not found["allowed"]
    notes = truth.notes_of(folder)
    assert {note["bug"] for note in notes} == {name}
    for example in found["examples"]:
        assert any(agrees(note, example) for note in notes), (example, notes[:20])
    assert truth.names(folder) == {"node": True, "fault": True, "message": True}, results["sentence"]
