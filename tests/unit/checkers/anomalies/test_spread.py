"""Where and when all occurrences of a kind were: what tells whether it needs a fault, and whether there is another."""

from repository import HISTORIES

from chaos.testing.history_files import load_history, write_run_folder
from checkers.anomalies.findings import Finding, Spread, add_findings
from checkers.engine import local_engine


def test_every_occurrence_counts_also_those_that_are_no_example(tmp_path):
    write_run_folder(load_history(HISTORIES / "an-old-master-acknowledges-alone.yaml"), tmp_path / "run")
    results = local_engine.judge(tmp_path / "run")
    assert results.anomalies["lost-write"].spread == "b1 4; first at 5.0 s, last at 6.5 s; 0 before any fault"


def test_without_faults_nothing_is_said_of_them(tmp_path):
    write_run_folder(load_history(HISTORIES / "undelivered-because-a-poll-passed-it.yaml"), tmp_path / "run")
    results = local_engine.judge(tmp_path / "run")
    assert results.anomalies["poll-skip"].spread == "b1 1; at 1.4 s"


def test_what_two_shards_counted_adds_up_and_what_one_did_not_count_is_not_told():
    left = Spread(nodes={"b1": 2}, first_ns=5, last_ns=9, before=1)
    right = Spread(nodes={"b1": 1, "b2": 4}, first_ns=3, last_ns=7, before=0)
    counted = {"stale-tail": Finding(count=2, spread=left)}
    both = add_findings(counted, {"stale-tail": Finding(count=5, spread=right)})
    assert both["stale-tail"].spread == Spread(nodes={"b1": 3, "b2": 4}, first_ns=3, last_ns=9, before=1)
    assert add_findings(counted, {"stale-tail": Finding(count=5)})["stale-tail"].spread is None
