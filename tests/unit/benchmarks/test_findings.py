"""Findings: each is read whole from its file, and its page tells runs and controls apart."""

import importlib
import re
import shlex
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from repository import ROOT

from chaos.cli.main import cli
from chaos.plugins import load
from checkers.anomalies.catalogue import built_in

FILE = re.compile(r" -d (\S+)")

FOUND = [one for path in sorted((ROOT / "benchmarks/found").glob("*.yaml")) for one in yaml.safe_load(path.read_text())]
COMMANDS = [one[kind].format(seed=1) for one in FOUND for kind in ("command", "control") if kind in one]


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("findings")


def row(command: str, exit_code: int, count: int, seed: int = 1) -> dict[str, Any]:
    return {
        "finding": "one",
        "command": command,
        "exit": exit_code,
        "valid": exit_code == 0,
        "sentence": f"exit {exit_code}",
        "reason": "",
        "seed": seed,
        "run": f"{command} {seed}",
        "commit": "0123456789",
        "began": "2026-01-01",
        "counts": {"ok": 7},
        "anomalies": {"lost-write": count},
        "minimal": [{"f": "add"}] if count else [],
    }


def test_each_finding_names_a_system_an_anomaly_and_is_alone_with_its_name(findings):
    every = findings.findings()
    assert len({one.name for one in every}) == len(every)
    for one in every:
        assert bool(one.command) != bool(one.seen), one.name
        assert bool(one.control) == bool(one.repaired), one.name
        for command in filter(None, (one.command, one.control)):
            assert "--seed {seed}" in command, one.name
            load("systems", findings._system(command))
            assert one.anomaly in built_in(), one.name
            steps = FILE.search(command)
            assert steps is None or (ROOT / steps[1]).is_file(), one.name


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_can_be_planned_today(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    _, _, *words = shlex.split(command)
    where = [] if "--backend" in words else ["--backend", "netns"]
    done = CliRunner().invoke(cli, ["plan", *words, *where])
    assert done.exit_code == 0, done.output
    assert re.search(r"^faults +[1-9]", done.output, re.MULTILINE), done.output


def test_runs_and_controls_are_jobs_of_their_own_system(findings):
    jobs = findings.jobs_of(["redis-lost-at-failover"], [3])
    assert [(job.system, job.key["command"].endswith("--seed 3")) for job in jobs] == [("redis", True)] * 2
    assert ["client.wait=2" in job.command for job in jobs] == [False, True]
    assert {job.key["finding"] for job in findings.jobs_of([], [3])} == {
        one.name for one in findings.findings() if one.command
    }


def lost(findings):
    return findings.Finding(
        name="one",
        title="Lost",
        text="It is lost.",
        anomaly="lost-write",
        command="chaos run --system redis --seed {seed}",
        control="chaos run --system redis --set client.wait=2 --seed {seed}",
        repaired="clients wait",
    )


def test_a_run_shows_what_its_verdict_names_and_a_valid_control_passes(findings):
    one = lost(findings)
    shown = [row(one.command.format(seed=1), 1, 5, 1), row(one.command.format(seed=2), 0, 5, 2)]
    others = [row(one.command.format(seed=3), 1, 0, 3), row(one.control.format(seed=1), 0, 0, 1)]
    unknown = row(one.control.format(seed=2), 2, 0, 2) | {"valid": "unknown"}
    assert "| Lost | `lost-write` | 2 of 3 | 1 of 2 |" in findings.summary([one], [*shown, *others, unknown])
    assert "| Lost | `lost-write` | not run yet | not run yet |" in findings.summary([one], [])
    once = findings.Finding(name="two", title="Once", text="Once.", seen=("a line",))
    assert not any("Once" in line for line in findings.summary([once], []))


def test_what_no_run_has_shown_is_told_as_expected(findings):
    one = lost(findings)
    none = "\n".join(findings.section(one, [], {}))
    assert findings.NOT_RUN in none
    assert "The control was not run yet." in none
    assert "| seed |" not in none
    clean = findings.section(one, [row(one.command.format(seed=1), 0, 0)], {})
    assert findings.NOT_SHOWN in clean
    assert findings.NOT_RUN not in clean
    assert findings.NOT_SHOWN not in findings.section(one, [row(one.command.format(seed=1), 1, 5)], {})


def test_a_page_shows_the_control_beside_the_finding_and_a_history_of_the_finding_alone(findings):
    one = lost(findings)
    rows = [row(one.command.format(seed=1), 1, 5), row(one.control.format(seed=1), 0, 0)]
    said = "\n".join(findings.section(one, rows, {}))
    shown, _, beside = said.partition("Control: clients wait.")
    assert "| 1 | 1 | 7 | 5 | exit 1 |" in shown
    assert "exit 0" not in shown
    assert "| 1 | 0 | 7 | 0 | exit 0 |" in beside
    assert "Minimal history, from seed 1:" in beside
