"""Delayed and transactional messages on real RocketMQ: a good run is valid, and every alteration of it is named."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import doctored
import pytest
from control_runs import Runner

from chaos.models.log.transaction import Decision
from chaos.models.log.words import F

pytestmark = pytest.mark.longer

SHORT = ("--nemesis", "noop", "--time-limit", "20", "--rate", "100", "--seed", "1")
Alteration = Callable[[Path], doctored.Sent]


def judged(folder: Path, engine: str) -> "tuple[int, dict[str, dict[str, object]]]":
    """``chaos check`` of a folder: exit code and anomalies."""
    argv = [sys.executable, "-m", "chaos", "check", str(folder), "--engine", engine, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, json.loads(done.stdout)["anomalies"]


def found_in_copies(good: Path, place: Path, alterations: "dict[str, Alteration]") -> None:
    for name, alter in alterations.items():
        folder = place / name
        sent = doctored.altered_copy(good, folder, alter)
        for engine in ("spark", "local"):
            code, anomalies = judged(folder, engine)
            assert code == 1, (name, engine)
            assert not anomalies[name]["allowed"], (name, engine)
            assert f"{sent.writer}:{sent.sequence}" in json.dumps(anomalies[name]["examples"]), (name, engine)


def in_the_middle(history: Path, f: F, *decisions: Decision) -> doctored.Sent:
    """An acknowledged send from the middle of queue 0; of transactions one that was decided so."""
    sends = [one for one in doctored.acknowledged(history, 0, f) if not decisions or one.argument in decisions]
    return sends[len(sends) // 2]


def gone_at_the_end(f: F, *decisions: Decision) -> Alteration:
    def alter(history: Path) -> doctored.Sent:
        sent = in_the_middle(history, f, *decisions)
        doctored.lose(history, sent, kinds=(F.DRAIN,))
        return sent

    return alter


def asked_for(f: F, argument: int, *decisions: Decision) -> Alteration:
    def alter(history: Path) -> doctored.Sent:
        sent = in_the_middle(history, f, *decisions)
        doctored.ask_otherwise(history, sent, sent.argument + argument if f is F.SCHEDULE else argument)
        return sent

    return alter


def test_delayed_messages_come_in_time_until_the_history_is_altered(chaos_run: Runner, tmp_path: Path) -> None:
    ran = chaos_run("--workload", "delayed", *SHORT)
    assert ran.code == 0, ran.output
    assert ran.check("early")["valid"] is True
    assert not ran.results["anomalies"].keys() & {"early-delivery", "lost-write"}
    alterations = {
        "early-delivery": asked_for(F.SCHEDULE, 15 * 10**9),
        "lost-write": gone_at_the_end(F.SCHEDULE),
    }
    found_in_copies(ran.folder, tmp_path, alterations)


def test_transactions_are_kept_and_withheld_until_the_history_is_altered(chaos_run: Runner, tmp_path: Path) -> None:
    ran = chaos_run("--workload", "transactional", *SHORT)
    assert ran.code == 0, ran.output
    assert not ran.results["anomalies"].keys() & {"G1a", "lost-write"}
    alterations = {
        "G1a": asked_for(F.TRANSACT, int(Decision.ROLLBACK), Decision.COMMIT),
        "lost-write": gone_at_the_end(F.TRANSACT, Decision.COMMIT_WHEN_ASKED),
    }
    found_in_copies(ran.folder, tmp_path, alterations)


@pytest.mark.parametrize("workload", ["delayed", "transactional"])
def test_nothing_is_lost_when_the_master_dies(chaos_run: Runner, workload: str) -> None:
    ran = chaos_run(
        "--workload",
        workload,
        "--nemesis",
        "leader-kill",
        "--set",
        "client.routing=follow",
        "--time-limit",
        "30",
        "--rate",
        "100",
        "--fault-interval",
        "10",
        "--fault-duration",
        "10",
        "--seed",
        "1",
    )
    assert not ran.results["anomalies"].keys() & {"lost-write", "early-delivery", "G1a"}, ran.output
    assert ran.code == 0, ran.output
