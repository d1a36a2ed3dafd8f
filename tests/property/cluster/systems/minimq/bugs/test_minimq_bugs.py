"""Each bug brings out the anomaly that it declares, for its clients to see; without one there is nothing to see.

Under the declared nemesis and settings, in the simulated cluster; times are shorter than on real hosts where that
is enough. Seeds are fixed: what a bug does must not hang on luck that changes from run to run.
"""

import msgspec
import pytest
from minimq_clients import Cluster
from minimq_oracle import anomalies

from cluster.systems.minimq.bugs import switches
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.settings import broker_settings, controller_settings, resolve

USUAL = {"interval_s": 3.0, "duration_s": 4.0, "time_limit_s": 16.0}
LAGGING = {"interval_s": 2.0, "duration_s": 4.0, "time_limit_s": 7.0}
TIMES = {
    "offset-gap": LAGGING,
    "reorder-batch": LAGGING,
    "corrupt-body": LAGGING,
    "stuck-after-failover": {"interval_s": 2.0, "duration_s": 3.0, "time_limit_s": 9.5},
    "never-rejoin": {"interval_s": 2.0, "duration_s": 3.0, "time_limit_s": 9.5},
    "never-shrink": {"interval_s": 2.0, "duration_s": 16.0, "time_limit_s": 20.0},
    "slow-recovery": {"interval_s": 2.0, "duration_s": 16.0, "time_limit_s": 20.0},
    "unclean-election": {"interval_s": 0.3, "duration_s": 2.5, "time_limit_s": 17.0},
    "commit-old-term": {"interval_s": 1.5, "duration_s": 3.0, "time_limit_s": 90.0},
    "truncate-in-memory": {"interval_s": 3.0, "duration_s": 3.0, "time_limit_s": 30.0},
    "same-epoch-after-restart": {"interval_s": 1.0, "duration_s": 0.5, "time_limit_s": 30.0},
    "stale-committed-offset": {"interval_s": 3.0, "duration_s": 12.0, "time_limit_s": 92.0},
    "quorum-of-half": {"interval_s": 1.5, "duration_s": 4.0, "time_limit_s": 40.0},
    "lease-too-long": {"interval_s": 3.0, "duration_s": 4.0, "time_limit_s": 30.0},
    "forget-producers": {"interval_s": 3.0, "duration_s": 4.0, "time_limit_s": 30.0},
    "forget-vote": {"interval_s": 2.0, "duration_s": 3.0, "time_limit_s": 25.0},
}
RATES = {
    "offset-gap": 250,
    "reorder-batch": 250,
    "corrupt-body": 250,
    "same-epoch-after-restart": 250,
    "unclean-election": 20,
    "commit-old-term": 20,
}
SEEDS = {"stale-committed-offset": 2}
"""Of seed 1 the group's member stays away from the brokers that are cut off."""
POOL_DISK_MS = (150, 350)
"""The disk of a broker that is given its writes four times a second."""
FAULTS = (
    "leader-kill",
    "random-kill@broker+controller",
    "all-kill@broker+controller",
    "leader-suspend",
    "random-suspend@broker+controller",
    "major-suspend@controller",
    "leader-partition",
    "random-partition",
    "minor-partition@controller",
    "leader-loss",
    "random-loss",
    "all-loss",
)


def run(seed, nemesis, settings, times, **more):
    resolved = resolve(settings)
    cluster = Cluster(seed, broker=broker_settings(resolved), controller=controller_settings(resolved), **more).up()
    cluster.load({"nemesis": nemesis, "seed": seed, **times})
    told = cluster.drain()
    minimum = int(resolved["broker.minInSyncReplicas"])
    return told, anomalies(told, min_in_sync=minimum, rto_budget_ms=10_000)


REAL = ("power-failure", "disk-error", "bit-flip", "cut-file", "clock-jump")
"""Simulated nodes have no kernel, no files and no wall clock that could fail."""
SIMULATED = [name for name, bug in switches.BUGS.items() if not any(fault in bug.nemesis for fault in REAL)]


@pytest.mark.parametrize("name", SIMULATED)
def test_each_bug_shows_the_anomaly_that_it_declares(name, monkeypatch):
    bug = switches.BUGS[name]
    notes = Notes(name)
    for replacement in switches.replacements(notes, switches.Switch(name)):
        monkeypatch.setattr(replacement.owner, replacement.name, replacement.function)
    _, found = run(
        SEEDS.get(name, 1),
        bug.nemesis,
        bug.settings,
        TIMES.get(name, USUAL),
        workload=bug.workload,
        rate=RATES.get(name, 60),
        disk_ms=POOL_DISK_MS if name == "ack-before-fsync" else (1, 3),
    )
    assert bug.anomaly in found
    taken = [msgspec.json.decode(text) for text in notes.take()]
    assert taken, "what it did is noted"
    assert all(note["bug"] == name and note["node"] for note in taken)
    assert notes.take() == []


@pytest.mark.parametrize("workload", ["queue", "group", "idempotent"])
@pytest.mark.parametrize("nemesis", FAULTS)
def test_without_a_bug_nothing_is_wrong(nemesis, workload):
    seed = FAULTS.index(nemesis)
    told, found = run(seed, nemesis, {}, USUAL, workload=workload, rate=40)
    assert found == set()
    assert told.acks
    assert told.reads
    assert bool(told.committed_reads) == (workload == "group")


def test_the_same_seed_tells_the_same():
    one, other = (run(5, "random-partition,leader-kill", {}, USUAL, rate=40)[0] for _ in range(2))
    assert (one.acks, one.reads, one.claims) == (other.acks, other.reads, other.claims)
