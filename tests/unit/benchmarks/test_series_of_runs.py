"""What the pages make of rows, and what the injected truth makes of a verdict: neither may call a miss a find."""

import importlib
import json

import pytest
from repository import ROOT

from chaos import plugins
from chaos.workload.base import lacking_words
from cluster.systems.minimq.system import MiniMQ


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def bug_row(seed, *, found, named, took_s, sentence="b1 did it"):
    return {
        "bug": "offset-gap",
        "workload": "queue",
        "nemesis": "leader-kill",
        "anomaly": "int-poll-skip",
        "help": "leaves",
        "seed": seed,
        "found": found,
        "named": named,
        "took_s": took_s,
        "exit": 1 if found else 2,
        "sentence": sentence,
        "reason": "too little traffic",
        "commit": "abc",
        "began": "2026-01-02T03:04",
        "run": f"r{seed}",
    }


def test_a_bug_that_was_missed_is_counted_and_listed(module):
    rows = [bug_row(1, found=True, named=True, took_s=70.0), bug_row(2, found=True, named=False, took_s=90.0)]
    page = module("minimq_bugs").page([*rows, bug_row(3, found=False, named=False, took_s=200.0, sentence="")])
    assert "| offset-gap | queue | leader-kill | int-poll-skip | 2 of 3 | 1 of 2 | 90 s | abc, 2026-01-02 † |" in page
    assert "- offset-gap, seed 3, exit 2: too little traffic" in page
    assert "None." not in page
    assert "No bug was run yet." in module("minimq_bugs").page([])


CODE = {"checks": "1", "nemesis": "2"}


def clean_row(seed, code, *rtos):
    faults = [
        {"name": "all-kill@broker", "skipped": False, "rto": [{"f": "send", "seconds": rto, "recovered": True}]}
        for rto in rtos
    ]
    return {
        "run": f"r{seed}",
        "commit": "abc",
        "began": "2026-01-02T03:04",
        "code": CODE,
        "checks": {"no-loss": True, "progress": "unknown"},
        "seed": seed,
        "exit": code,
        "faults": faults,
        "counts": {"send": 10, "send ok": 9},
        "sentence": "2 lost",
        "reason": "",
    }


def test_a_clean_run_that_was_not_valid_stays_in_the_table(module):
    page = module("minimq_clean").page([clean_row(2, 1, 3.0), clean_row(1, 0, None, 2.0, 4.0)], CODE)
    assert "Of today's code: 1 of 2 runs were valid. Of other code: 0 of 0." in page
    assert "| 1 | queue | 0 | 3 | 9 | 3.0 s | 4.0 s | valid | abc, 2026-01-02 |" in page
    assert "| 2 | queue | 1 | 1 | 9 | 3.0 s | 3.0 s | 2 lost | abc, 2026-01-02 |" in page
    assert "| all-kill@broker | 4 |" in page
    assert "| no-loss | 2 |" in page
    assert "| progress |" not in page


def test_clean_rows_that_the_code_has_outgrown_are_not_counted_as_its_own(module):
    page = module("minimq_clean").page([clean_row(1, 0, 2.0), {**clean_row(2, 0), "code": {}}], CODE | {"checks": "9"})
    assert "Of today's code: 1 of 1 runs were valid. Of other code: 1 of 1." in page
    assert "| valid | abc, 2026-01-02 ‡ |" in page
    assert "made by an older version of checks; it does not vouch for today's" in page


def test_the_clean_series_has_every_workload_that_minimq_can_do_and_clusters_that_are_shared(module):
    clean = module("minimq_clean")
    jobs = [clean.job_of(seed) for seed in range(1, 51)]
    shared = [job for job in jobs if "--reuse" in job.command]
    assert len(shared) == 10
    assert len({job.command for job in jobs}) == 50
    settings = MiniMQ().resolve({})
    every = {name: plugins.load("workloads", name)() for name in plugins.names("workloads")}
    workloads = {
        name for name, one in every.items() if not lacking_words(one, MiniMQ().operations(one.model, settings))
    }
    for some in (jobs, shared):
        assert {clean.shape_of({"command": job.command}) for job in some} == workloads


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("b2, master of epoch 3, killed by fault 1 (leader-kill) at 5.0 s, acknowledged 4:7", None),
        ("b1, master of epoch 3, killed by fault 1 (leader-kill) at 5.0 s, acknowledged 4:7", "node"),
        ("b2, master of epoch 3, killed by fault 2 (leader-kill) at 5.0 s, acknowledged 4:7", "fault"),
        ("b2, master of epoch 3, killed by fault 1 (leader-kill) at 5.0 s, acknowledged 4:8", "message"),
    ],
)
@pytest.mark.parametrize("before", ["", "1001.735 "])
@pytest.mark.parametrize("acted", ["planted bug acted", "bent"])
def test_a_sentence_that_names_another_node_fault_or_message_is_caught(
    module, sentence, wrong, acted, before, tmp_path
):
    log = tmp_path / "nodes" / "b2" / "logs" / "stdout.log"
    log.parent.mkdir(parents=True)
    log.write_text(f"{before}ready\n{before}{acted} " + '{"bug": "truncate-acked", "node": "b2", "queue": 1}\n')
    (tmp_path / "run.json").write_text(json.dumps({"nodes": [{"name": "b1"}, {"name": "b2"}]}))
    lost = {"count": 1, "allowed": False, "examples": [{"value": "4:7"}]}
    faults = [{"id": 1, "name": "leader-kill", "inject_ns": 5}, {"id": 2, "name": "leader-kill", "inject_ns": None}]
    results = {"anomalies": {"lost-write": lost}, "sentence": sentence, "faults": faults}
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert module("truth").names(tmp_path) == {name: name != wrong for name in ("node", "fault", "message")}


def test_two_series_do_not_share_a_store(module, tmp_path):
    runs = module("runs")
    with (
        runs.keep_others_out(tmp_path / "store"),
        pytest.raises(SystemExit, match="store: another series runs there; give this one a --store of its own"),
        runs.keep_others_out(tmp_path / "store"),
    ):
        pass
    with runs.keep_others_out(tmp_path / "store"):
        pass
