"""Workloads of consumers and shards on real RocketMQ: nothing is lost by kills, and the history altered is invalid."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import doctored
import pytest
from control_runs import Ran, Runner
from doctored import Sent
from run_support import check_verdict

from chaos.models.log.words import F

pytestmark = pytest.mark.longer

KILL = (
    "--nemesis",
    "leader-kill",
    "--set",
    "client.routing=follow",
    "--time-limit",
    "50",
    "--fault-interval",
    "10",
    "--fault-duration",
    "20",
    "--rate",
    "60",
    "--seed",
    "1",
)
Alter = Callable[[Path], None]


def found_in(folder: Path, engine: str) -> "tuple[int, dict[str, dict[str, object]]]":
    argv = [sys.executable, "-m", "chaos", "check", str(folder), "--engine", engine, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, json.loads(done.stdout)["anomalies"]


def altered_is_invalid(ran: Ran, tmp_path: Path, name: str, alter: Alter) -> None:
    folder = tmp_path / name
    doctored.altered_copy(ran.folder, folder, alter)
    for engine in ("spark", "local"):
        code, anomalies = found_in(folder, engine)
        assert code == 1, (name, engine)
        assert not anomalies[name]["allowed"], (name, engine)


def killed(chaos_run: Runner, workload: str) -> tuple[Ran, list[Sent]]:
    """A run under kills of masters that lost nothing, and what was acknowledged in queue 0."""
    ran = chaos_run("--workload", workload, *KILL)
    check_verdict(ran.code, ran.folder, ran.output)
    losses = {"lost-write", "undelivered", "never-redelivered", "order"}
    assert not losses & set(ran.results["anomalies"]), ran.results["anomalies"]
    return ran, doctored.acknowledged(ran.folder / "history", key=0)


def test_pop(chaos_run: Runner, tmp_path: Path) -> None:
    ran, sends = killed(chaos_run, "pop")
    history = ran.folder / "history"
    once = next(sent for sent in sends[len(sends) // 3 :] if doctored.deliveries(history, sent) == 1)
    altered_is_invalid(ran, tmp_path, "undelivered", lambda copy: doctored.lose(copy, once, (F.POP,)))
    altered_is_invalid(ran, tmp_path, "never-redelivered", lambda copy: doctored.refuse(copy, once, F.ACK))


def test_group(chaos_run: Runner, tmp_path: Path) -> None:
    ran, sends = killed(chaos_run, "group")
    early = sends[len(sends) // 3]
    altered_is_invalid(ran, tmp_path, "undelivered", lambda copy: doctored.lose(copy, early, (F.POLL,)))
    altered_is_invalid(ran, tmp_path, "lost-commit", lambda copy: doctored.answer(copy, 0, F.COMMITTED_READ, 0))


def test_ordered(chaos_run: Runner, tmp_path: Path) -> None:
    ran, sends = killed(chaos_run, "ordered")
    early = sends[len(sends) // 3]
    late = next(sent for sent in sends if sent.writer == early.writer and sent.invoke_ns > early.complete_ns)
    altered_is_invalid(ran, tmp_path, "order", lambda copy: doctored.swap(copy, early, late))
