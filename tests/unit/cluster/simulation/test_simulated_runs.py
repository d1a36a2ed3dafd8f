"""Whole runs in simulated time: their faults are proven, the same seed is the same history, and bugs are found."""

import hashlib
import os
import re
import subprocess
import sys

import pytest
from nemesis_texts import typed

from chaos import plugins
from chaos.core.errors import CapabilityError, UsageError
from chaos.core.events import RUN_EVENTS, Phase
from chaos.storage.event_files import read_events
from chaos.testing import FakeSystem, simulate
from cluster.simulation.backend import SimBackend
from cluster.systems.minimq.replication import broker_rules
from nemesis.faults.registry import faults
from nemesis.plan.nemesis_names import catalog

pytestmark = pytest.mark.broad


def digest(folder):
    """Of all that a history is."""
    found = hashlib.sha256()
    files = [path for path in (folder / "history").rglob("*") if path.is_file()]
    for path in sorted([*files, folder / "plan.jsonl"]):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def test_kills_and_partitions_are_proven_and_healed(tmp_path):
    done = simulate(tmp_path, nemesis="leader-kill,random-partition,random-suspend,random-loss,random-disconnect")
    assert done.exit_code == 0, done.lines
    assert {fault.proven and fault.healed for fault in done.results.faults} == {True}
    assert len(done.results.faults) > 3


NEVER_COMES = {"crash-at-rename"}
"""What minimq does only when it starts, so that a fault which waits for it waits in vain."""
SHORT = {"time_limit_s": 40.0, "fault_interval_s": 10.0, "fault_duration_s": 10.0}


def outcome_or_refusal(store, **options):
    """The run; or the line by which it was refused before it began, which leaves nothing."""
    try:
        return simulate(store, **{"reports": (), **options})
    except (CapabilityError, UsageError) as error:
        return str(error)


@pytest.mark.parametrize("fault", sorted(faults()))
def test_each_fault_is_refused_in_a_line_before_the_run_or_proven_by_its_evidence(fault, tmp_path):
    """Nobody may believe that a fault happened here which the simulation cannot do: a new one is one or the other."""
    name = typed(next(entry.name for entry in catalog().values() if entry.fault == fault))
    done = outcome_or_refusal(tmp_path, nemesis=name, **SHORT)
    if isinstance(done, str):
        assert re.match(rf"--nemesis {re.escape(name)}", done)
        assert done.endswith("; use another backend")
        assert "\n" not in done
        assert not list(tmp_path.iterdir())
        return
    hit = [one for one in done.results.faults if one.identity.kind == fault]
    assert hit, done.lines
    if fault in NEVER_COMES:
        assert {one.proven for one in hit} == {False}, done.lines
        return
    assert {one.proven and one.healed for one in hit} == {True}, done.lines


def test_some_faults_are_refused_and_some_are_proven():
    refused = {name for name, fault in faults().items() if fault.needs & SimBackend.lacks.keys()}
    assert {"corrupt", "client-crash", "reconnect-storm", "change-setting", "change-version", "cpu-load"} <= refused
    done = set(faults()) - refused
    assert {"kill", "partition", "loss", "suspend", "load-step"} <= done
    assert {
        "bit-flip",
        "power-failure",
        "crash-at-fsync",
        "disk-error",
        "disk-stall",
        "swap-disks",
        "clock-jump",
    } <= done


@pytest.mark.parametrize("workload", plugins.names("workloads"))
def test_each_workload_is_refused_in_a_line_or_holds(workload, tmp_path):
    done = outcome_or_refusal(tmp_path, workload=workload, nemesis="leader-kill", time_limit_s=30.0)
    if isinstance(done, str):
        assert "\n" not in done
        assert "minimq" in done
        assert not list(tmp_path.iterdir())
        return
    assert done.exit_code == 0, done.lines


def test_the_same_seed_is_the_same_history_in_every_process(tmp_path):
    runs = []
    for hash_seed in ("0", "1"):
        store = tmp_path / hash_seed
        command = ["run", "--backend", "sim", "--nemesis", "all", "--seed", "7", "--time-limit", "30s"]
        subprocess.run(
            [sys.executable, "-m", "chaos", *command, "--store", str(store), "--report", "summary"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        )
        runs.append(digest((store / "latest").resolve()))
    assert runs[0] == runs[1]
    assert digest(simulate(tmp_path, nemesis="all", seed=8, time_limit_s=30.0, reports=()).folder) != runs[0]


def test_a_bug_is_found_and_is_gone_when_its_run_is_over(tmp_path):
    honest = broker_rules.may_acknowledge
    asked = {"nemesis": "leader-kill", "rate": 50.0, "seed": 1, "reports": ()}
    bent = simulate(tmp_path, bug="ack-before-replicate", **asked)
    assert bent.results.answer is False
    assert broker_rules.may_acknowledge is honest
    assert simulate(tmp_path, **asked).exit_code == 0


OF_DISKS_AND_CLOCKS = (
    "never-fsync",
    "unchecked-record",
    "torn-tail-kept",
    "fsync-error-ignored",
    "finish-without-fsync",
    "lease-by-wall-clock",
)


@pytest.mark.parametrize("bug", OF_DISKS_AND_CLOCKS)
def test_what_only_disks_and_clocks_show_is_found_as_declared(bug, tmp_path):
    """A bug of the storage itself: the simulated nodes run the code that processes run."""
    declared = plugins.load("systems", "minimq")().bugs[bug]
    done = simulate(tmp_path, bug=bug, nemesis=declared.nemesis, seed=1, reports=(), **declared.options)
    assert done.results.answer is False, done.lines
    assert declared.anomaly in done.results.anomalies, done.lines
    honest = simulate(tmp_path, nemesis=declared.nemesis, seed=1, reports=(), **declared.options)
    assert honest.results.answer is not False, honest.lines


NEVER = {"never_heal": True, "fault_interval_s": 5.0, "time_limit_s": 45.0, "reports": ()}


@pytest.mark.parametrize("nemesis", ["leader-kill", "leader-partition", "minor-suspend@broker+controller"])
def test_a_fault_that_is_never_healed_lasts_to_the_end_and_the_rest_goes_on(nemesis, tmp_path):
    done = simulate(tmp_path, nemesis=nemesis, **NEVER)
    assert done.exit_code == 0, done.lines
    (fault,) = done.results.faults
    assert (fault.proven, fault.healed, fault.identity.heals) == (True, True, False)
    phases = [event for event in read_events(done.folder / "history" / RUN_EVENTS) if isinstance(event, Phase)]
    (read,) = (event.time_ns for event in phases if event.name == "drain" and event.edge == "end")
    assert fault.heal_ns > read, "it was there while the final reads were made"
    (recovery,) = (row for row in done.results.checks if row.name == "recovery")
    assert "acknowledged under the fault that was never healed" in recovery.found


def test_who_waits_for_a_minority_is_found_if_it_never_comes_back_and_only_then(tmp_path):
    done = simulate(tmp_path, bug="never-shrink", nemesis="follower-kill", **NEVER)
    assert done.exit_code == 1, done.lines
    assert done.results.anomalies["stopped-by-minority"].count == 4
    healed = {**NEVER, "never_heal": False, "fault_duration_s": 5.0}
    again = simulate(tmp_path, bug="never-shrink", nemesis="follower-kill", **healed)
    assert again.exit_code == 0, "an outage that the heal ends"


def test_a_fault_that_is_never_healed_is_repeated_from_its_plan(tmp_path):
    done = simulate(tmp_path, nemesis="minor-kill", **NEVER)
    asked = {name: value for name, value in NEVER.items() if name != "never_heal"}
    again = simulate(tmp_path, plan=str(done.folder / "plan.jsonl"), pin=True, **asked)
    assert again.exit_code == 0, again.lines
    assert [one.targets for one in again.results.faults] == [one.targets for one in done.results.faults]
    assert not again.results.faults[0].identity.heals


def test_a_system_of_processes_is_refused(tmp_path):
    with pytest.raises(UsageError, match="--backend sim: fake runs as processes only"):
        simulate(tmp_path, FakeSystem())


def test_whole_containers_are_refused(tmp_path):
    with pytest.raises(Exception, match="simulated hosts have no machine"):
        simulate(tmp_path, kill="container")
