"""Runs of the command as a user types it, for controls that must go a known way."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Ran(NamedTuple):
    """A finished run: exit code, its folder, what it printed."""

    code: int
    folder: Path
    output: str

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    @property
    def results(self) -> Any:
        return self.json("results.json")

    def check(self, name: str) -> Any:
        return next(row for row in self.results["checks"] if row["name"] == name)


Runner = Callable[..., Ran]


def assert_undecided(ran: Ran, *words: str) -> None:
    """No judgement but unknown, for a reason that has one of these words, beside which one finding may stand.

    RocketMQ serves reads only up to its confirm offset, which stands still while slaves that were away connect again:
    strong reads at the master that acknowledged then end too early (docs/results/findings.md, "nobody can read that for
    seconds"). A fault did that there; in CI a machine did whose brokers waited for a CPU nine tenths of the time. What
    was read stays read, whatever the final reads say, so that such a run is invalid and says beside it what is unknown.
    """
    rows = ran.results["checks"]
    wrong = {row["name"] for row in rows if row["valid"] is False}
    assert wrong <= {"linearizable-offsets"}, ran.output
    assert ran.code == (1 if wrong else 2), ran.output
    if wrong:
        assert {name for name, one in ran.results["anomalies"].items() if not one["allowed"]} >= {"stale-tail"}, (
            ran.output
        )
        assert not ran.results["anomalies"].keys() & {"nonlinearizable-offset"}, ran.output
    reasons = "; ".join([ran.results["reason"], *(row["reason"] for row in rows)])
    assert any(word in reasons for word in words), ran.output


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, **(extra or {})}


def argv_of(argv: Sequence[str], store: Path) -> list[str]:
    run = [sys.executable, "-m", "chaos", "run", "--system", "rocketmq", "--engine", "local"]
    return [*run, *argv, "--store", str(store)]


def folder_in(store: Path) -> Path:
    return (store / "current").resolve()
