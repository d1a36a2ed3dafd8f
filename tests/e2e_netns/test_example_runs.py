"""The system and the fault under ``examples/``, installed by pip, in runs on real namespaces."""

from pathlib import Path

import pytest
from example_packages import chaos, install
from run_support import check_verdict

from chaos.core.verdict import Results
from chaos.storage.manifest import read_checked

pytestmark = pytest.mark.e2e

SHORT = ("--backend", "netns", "--fault-interval", "2", "--rhythm", "even", "--engine", "local", "--seed", "3")


def results_of(folder: Path) -> Results:
    results = read_checked(folder / "results.json", Results)
    assert results is not None
    return results


def run(site: Path, folder: Path, *argv: str):
    done = chaos(site, "run", *SHORT, *argv, cwd=folder)
    made = folder / "store" / "current"
    assert made.exists(), done.stdout + done.stderr
    return done, made.resolve()


def test_the_system_is_killed_and_cut_off_and_loses_nothing(tmp_path):
    site = install("tinykv", tmp_path)
    asked = ("--system", "tinykv", "--workload", "register", "--nemesis", "random-kill,random-partition")
    done, folder = run(site, tmp_path, *asked, "--time-limit", "10", "--fault-duration", "3", "--keys", "12")
    check_verdict(done.returncode, folder, done.stdout + done.stderr)
    faults = results_of(folder).faults
    assert {fault.name for fault in faults} == {"random-kill", "random-partition"}
    assert all(fault.proven and fault.healed for fault in faults)


def test_what_it_keeps_in_memory_only_is_found_to_be_lost(tmp_path):
    site = install("tinykv", tmp_path)
    asked = ("--system", "tinykv", "--workload", "register", "--nemesis", "all-kill", "--set", "durable=false")
    done, folder = run(site, tmp_path, *asked, "--time-limit", "5", "--fault-duration", "1", "--keys", "30")
    assert done.returncode == 1, done.stdout + done.stderr
    assert set(results_of(folder).anomalies) >= {"nonlinearizable"}


def test_the_fault_is_proven_on_the_processes_of_a_system_that_knows_nothing_of_it(tmp_path):
    site = install("file_limit", tmp_path)
    asked = ("--nemesis", "random-file-limit:files=500@broker")
    done, folder = run(site, tmp_path, *asked, "--time-limit", "6", "--fault-duration", "3")
    check_verdict(done.returncode, folder, done.stdout + done.stderr)
    (fault,) = results_of(folder).faults
    assert (fault.identity.kind, fault.proven, fault.healed) == ("file-limit", True, True)
    assert "may open 500" in fault.evidence
