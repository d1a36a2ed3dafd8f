"""What the tests of whole runs on real systems share."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from repository import ROOT

from checkers.history.lateness import LATE_SHARE

FAULTS = ("random-partition", "random-kill", "random-loss", "major-suspend")
ROCKETMQ_FAULTS = ("--time-limit", "60", "--fault-interval", "10", "--fault-duration", "20")
"""Each fault twice, as long as in the runs that docs/results/findings.md and docs/results/rocketmq.md tell of.
What RocketMQ does depends on it: a master that is cut off for 2 s is replaced after it is back, and loses what it
acknowledged in between.
"""

DATA = ROOT / "docs" / "data"
FOLLOWING = "client.routing=follow"
WHOLE = re.compile(r"drain +(\d+) of \1 queues read whole, twice alike")
"""What a run says whose final reads are complete."""


class Seen(NamedTuple):
    """What RocketMQ showed under one nemesis: how many stored runs there are, how many were red, which anomalies."""

    runs: int
    red: int
    names: frozenset[str]


@cache
def seen_under(nemesis: str) -> Seen:
    """The errors of the stored runs of RocketMQ 5.5.0 under one nemesis alone, with clients that follow the route.

    They are the rows of docs/results/rocketmq.md and docs/results/findings.md that count.
    """
    lines = [json.loads(line) for name in ("rocketmq", "findings") for line in (DATA / f"{name}.jsonl").open()]
    gone = {line["supersedes"] for line in lines if "supersedes" in line}
    runs = {line["run"]: line for line in lines if "run" in line and line["run"] not in gone}
    mine = []
    for row in runs.values():
        words = row["command"].split()
        if words[words.index("--system") + 1] != "rocketmq":
            continue
        settings = [after for before, after in pairwise(words) if before == "--set"]
        if words[words.index("--nemesis") + 1] == nemesis and settings == [FOLLOWING]:
            mine.append({name: count for name, count in row["anomalies"].items() if name not in row["allowed"]})
    return Seen(len(mine), sum(map(bool, mine)), frozenset(name for errors in mine for name in errors))


def parts_controllers_from_brokers(targets: Iterable[str], nodes: Iterable[Mapping[str, str]]) -> bool:
    """Whether a partition leaves a majority of the controllers with no broker.

    It is what `replaced-after-the-controllers-return` of docs/results/findings.md needs; no other partition ever
    cost anything.
    """
    roles = {node["name"]: node["role"] for node in nodes if node["role"] in ("controller", "broker")}
    controllers = sum(role == "controller" for role in roles.values())
    target = set(targets) & set(roles)
    return any(
        2 * sum(roles[name] == "controller" for name in side) > controllers
        and not any(roles[name] == "broker" for name in side)
        for side in (target, set(roles) - target)
    )


def concerned(info: Mapping[str, Any], results: Mapping[str, Any], fault: Mapping[str, Any]) -> int:
    """How many operations began while a fault was in force or nobody answered because of it.

    Every finding is about these: what a master that is cut off answers until the next one serves.
    """
    outage_s = max([one["seconds"] or 0.0 for one in fault["rto"]], default=0.0)
    window_s = min(info["fault_duration_s"] + outage_s, info["time_limit_s"])
    return int(results["counts"]["operations"] * window_s / info["time_limit_s"])


def explained(info: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, int]:
    """The errors that a run may show, and how many of each.

    Which ones is what docs/results/findings.md says of the faults that it had; how many, what these faults concerned.
    """
    may: dict[str, int] = {}
    if info["system"] != "rocketmq":
        return may
    for fault in results["faults"]:
        if fault["name"] == "random-partition" and not parts_controllers_from_brokers(fault["targets"], info["nodes"]):
            continue
        for name in seen_under(fault["name"]).names:
            may[name] = may.get(name, 0) + concerned(info, results, fault)
    return may


def unexplained(info: Mapping[str, Any], results: Mapping[str, Any]) -> list[str]:
    """The errors of a run that no finding explains, in words.

    What has the same cause as something stronger (SEMANTICS 9) is explained with it: a loss whose offsets were given
    again may show as a send that went back or not, as it happens.
    """
    may = explained(info, results)
    errors = {name: found for name, found in results["anomalies"].items() if not found["allowed"]}
    at_most = {name: max(may.get(name, 0), may.get(found["part_of"], 0)) for name, found in errors.items()}
    return [
        f"{found['count']} {name}, at most {at_most[name]}"
        for name, found in errors.items()
        if found["count"] > at_most[name]
    ]


def check_verdict(code: int, folder: Path, said: str) -> None:
    """Hold a run that must not be red against its own figures: it is valid, or the load generator fell behind.

    The second only if the run counted more late operations than the contract forgives, and knows no other reason.
    """
    results = json.loads((folder / "results.json").read_text())
    if code == 0:
        assert results["valid"] is True, said
        return
    assert code == 2, said
    reasons = {name: found["count"] for name, found in results["anomalies"].items() if not found["allowed"]}
    assert set(reasons) == {"dispatch-lag"}, said
    late = reasons["dispatch-lag"]
    assert late > LATE_SHARE * results["counts"]["operations"], said
    (told,) = results["anomalies"]["dispatch-lag"]["examples"]
    assert results["reason"] == told["sentence"], said


def check_run(store: Path, backend: str, code: int, said: str) -> dict[str, Any]:
    """Hold a run against what the harness owes: every fault proven and healed, every queue drained, a verdict.

    The verdict is valid; of RocketMQ it may also be what docs/results/findings.md says of its faults. Returns run.json.
    """
    folder = (store / "current").resolve()
    assert code in (0, 1), said
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["backend"], info["status"]) == (backend, "checked")
    assert results["faults"]
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert WHOLE.search(said), said
    assert unexplained(info, results) == [], said
    red = any(not anomaly["allowed"] for anomaly in results["anomalies"].values())
    assert results["valid"] is (not red), said
    for node in info["nodes"]:
        assert (folder / "nodes" / node["name"] / "logs" / "stdout.log").stat().st_size > 0
    return info
