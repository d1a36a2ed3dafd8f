"""What the tests of whole runs on real systems share."""

import json
from pathlib import Path
from typing import Any

FAULTS = ("random-partition", "random-kill", "random-loss", "major-suspend")

FINDINGS = {"lost-write", "inconsistent-offsets", "nonlinearizable-offset", "nonmonotonic-send", "stale-tail"}
"""What RocketMQ 5.5.0 itself shows now and then under these faults: docs/findings.md has how often, and why."""


def check_run(store: Path, backend: str, code: int, said: str) -> dict[str, Any]:
    """Hold a run against what the harness owes: every fault proven and healed, every queue drained, a verdict.

    The verdict is valid; of RocketMQ it may also be one of its findings. Returns run.json.
    """
    folder = (store / "current").resolve()
    assert code in (0, 1), said
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["backend"], info["status"]) == (backend, "checked")
    assert results["faults"]
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert " queues in " in said
    errors = {name for name, anomaly in results["anomalies"].items() if not anomaly["allowed"]}
    assert errors <= (FINDINGS if info["system"] == "rocketmq" else set()), said
    assert results["valid"] is (not errors), said
    for node in info["nodes"]:
        assert (folder / "nodes" / node["name"] / "logs" / "stdout.log").stat().st_size > 0
    return info
