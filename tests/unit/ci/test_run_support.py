"""What tests of whole runs accept: findings under the faults that bring them about, lateness that the run counted."""

import json

import pytest
import run_support
from run_support import FAULTS, check_run, check_verdict, explained, parts_controllers_from_brokers, seen_under

ROLES = {"namesrv": ["n1"], "controller": ["c1", "c2", "c3"], "broker": ["b1", "b2", "b3"]}
NODES = [{"name": name, "role": role} for role, names in ROLES.items() for name in names]
LATE = (
    "the load generator fell behind: 150 operations started over 250 ms late; use a less busy machine or a lower --rate"
)
HARMLESS, HARMFUL = ["b2", "c1"], ["b1", "b2", "b3"]


def run_of(tmp_path, faults, anomalies=None, system="rocketmq", valid=None, reason="", operations=10_000):
    """A stored run, as far as the checks look at it. ``faults``: (name, targets); ``anomalies``: name to count."""
    folder = tmp_path / "current"
    folder.mkdir()
    for node in NODES:
        log = folder / "nodes" / node["name"] / "logs" / "stdout.log"
        log.parent.mkdir(parents=True)
        log.write_text("serving\n")
    times = {"time_limit_s": 60.0, "fault_duration_s": 20.0}
    info = {"backend": "docker", "status": "checked", "system": system, "nodes": NODES, **times}
    told = [{"sentence": LATE}]
    found = {
        name: {"count": n, "allowed": False, "examples": told, "part_of": None} for name, n in (anomalies or {}).items()
    }
    results = {
        "valid": (not found) if valid is None else valid,
        "reason": reason,
        "anomalies": found,
        "faults": [
            {"name": name, "targets": targets, "proven": True, "healed": True, "rto": [{"seconds": 10.0}]}
            for name, targets in faults
        ],
        "counts": {"operations": operations},
    }
    (folder / "run.json").write_text(json.dumps(info))
    (folder / "results.json").write_text(json.dumps(results))
    return tmp_path


SAID = "drain    4 of 4 queues read whole, twice alike"


@pytest.mark.parametrize(
    ("faults", "anomalies"),
    [
        ([("random-kill", ["b1"])], {"lost-write": 1}),
        ([("random-kill", ["b1"]), ("random-partition", HARMLESS)], {"lost-write": 1}),
        ([("random-partition", HARMLESS)], {"stale-tail": 1}),
        ([("major-suspend", ["b1", "b2"])], {"duplicate": 1}),
        ([("random-loss", ["b1"])], {"lost-write": 5_001}),
        ([("random-loss", ["b1"])], {"duplicate": 1}),
    ],
)
def test_what_no_finding_says_of_a_fault_is_not_accepted(tmp_path, faults, anomalies):
    with pytest.raises(AssertionError):
        check_run(run_of(tmp_path, faults, anomalies), "docker", 1, SAID)


@pytest.mark.parametrize("anomaly", ["lost-write", "stale-tail", "inconsistent-offsets"])
def test_of_minimq_nothing_is_accepted(tmp_path, anomaly):
    with pytest.raises(AssertionError):
        check_run(run_of(tmp_path, [("random-loss", ["b1"])], {anomaly: 1}, system="minimq"), "docker", 1, SAID)


@pytest.mark.parametrize(
    ("faults", "anomalies"),
    [
        ([("random-loss", ["b1"])], {"lost-write": 581, "nonlinearizable-offset": 4138}),
        ([("major-suspend", ["b1", "b2"])], {"stale-tail": 64}),
        ([("major-suspend", ["b1", "b2"])], {"lost-write": 64, "stale-tail": 118}),
        ([("random-partition", HARMFUL)], {"lost-write": 95, "nonmonotonic-send": 20}),
        ([("random-kill", ["b1"])], {}),
    ],
)
def test_what_a_finding_says_of_a_fault_is_accepted(tmp_path, faults, anomalies):
    assert check_run(run_of(tmp_path, faults, anomalies), "docker", 1 if anomalies else 0, SAID)["system"] == "rocketmq"


@pytest.mark.parametrize(("part_of", "accepted"), [("lost-write", True), (None, False), ("duplicate", False)])
def test_what_has_the_cause_of_a_finding_is_accepted_with_it(tmp_path, part_of, accepted):
    run = run_of(tmp_path, [("major-suspend", ["b1", "b2"])], {"lost-write": 64, "nonmonotonic-send": 22})
    path = run / "current" / "results.json"
    results = json.loads(path.read_text())
    results["anomalies"]["nonmonotonic-send"]["part_of"] = part_of
    path.write_text(json.dumps(results))
    if accepted:
        assert check_run(run, "docker", 1, SAID)
    else:
        with pytest.raises(AssertionError):
            check_run(run, "docker", 1, SAID)


def test_an_unknown_run_is_not_accepted_where_a_verdict_is_owed(tmp_path):
    with pytest.raises(AssertionError):
        check_run(run_of(tmp_path, [("random-kill", ["b1"])], valid="unknown"), "docker", 2, SAID)


def test_bounds_come_from_the_stored_runs_and_from_what_a_fault_concerned(tmp_path):
    assert seen_under("random-kill").red == 0
    assert seen_under("random-loss").red < seen_under("random-loss").runs
    assert seen_under("major-suspend").names == {
        "lost-write",
        "inconsistent-offsets",
        "nonlinearizable-offset",
        "stale-tail",
    }
    folder = run_of(tmp_path, [("random-loss", ["b1"]), ("random-kill", ["b2"])]) / "current"
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    half = 10_000 * (20 + 10) // 60
    assert explained(info, results) == dict.fromkeys(seen_under("random-loss").names, half)
    assert all(seen_under(name).runs >= 5 for name in FAULTS)


def test_runs_of_other_systems_bound_nothing(tmp_path, monkeypatch):
    ours = "chaos run --system rocketmq --nemesis leader-kill --set client.routing=follow --seed 1"
    commands = (ours, ours.replace("rocketmq", "redis"), "chaos run --system kafka -d steps.yaml --seed 1")
    rows = [
        {"run": str(number), "command": command, "anomalies": {f"seen-{number}": 1}, "allowed": []}
        for number, command in enumerate(commands)
    ]
    (tmp_path / "rocketmq.jsonl").write_text("")
    (tmp_path / "findings.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(run_support, "DATA", tmp_path)
    assert seen_under.__wrapped__("leader-kill") == (1, 1, {"seen-0"})


@pytest.mark.parametrize(
    ("targets", "apart"),
    [
        (["b1", "b2", "b3"], True),
        (["c1", "c2", "c3"], True),
        (["b1", "b2", "b3", "c1"], True),
        (["c2", "c3"], True),
        (["c1"], False),
        (["b1"], False),
        (["b1", "b2", "c1", "c2"], False),
        (["b1", "c2", "c3"], False),
    ],
)
def test_which_partition_leaves_controllers_without_brokers(targets, apart):
    assert parts_controllers_from_brokers(targets, NODES) is apart


@pytest.mark.parametrize(
    ("code", "anomalies", "valid", "reason", "accepted"),
    [
        (0, {}, True, "", True),
        (2, {"dispatch-lag": 150}, "unknown", LATE, True),
        (2, {"dispatch-lag": 99}, "unknown", LATE, False),
        (2, {"dispatch-lag": 150}, "unknown", f"{LATE}; fault 2 is not proven", False),
        (2, {"dispatch-lag": 150, "fault-unproven": 1}, "unknown", LATE, False),
        (2, {}, "unknown", "", False),
        (1, {"lost-write": 1}, False, "", False),
        (0, {}, "unknown", "", False),
    ],
)
def test_a_busy_machine_is_a_reason_only_with_its_evidence(tmp_path, code, anomalies, valid, reason, accepted):
    folder = run_of(tmp_path, [], anomalies, valid=valid, reason=reason) / "current"
    if accepted:
        check_verdict(code, folder, "")
    else:
        with pytest.raises(AssertionError):
            check_verdict(code, folder, "")
