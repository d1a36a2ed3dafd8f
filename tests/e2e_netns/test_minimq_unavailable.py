"""Service that does not come back, on real processes: the run is invalid and its first sentence says why."""

import json
import subprocess
import sys

import pytest

from chaos.backend_choice import choose_backend
from chaos.core.events import Fault
from chaos.options.resolve import experiment_of
from chaos.run.phases_of_a_run import run

pytestmark = pytest.mark.e2e

OF_ONE_FAULT = {
    "nemesis": "leader-kill",
    "seed": 1,
    "engine": "local",
    "rate": 100.0,
    "time_limit_s": 12.0,
    "fault_interval_s": 4.0,
    "fault_duration_s": 4.0,
    "recovery_s": 5.0,
}


class Vandal:
    """Looks on, and damages the log of each broker that was killed, while it is down."""

    def __init__(self, store):
        self.store = store
        self.damaged = []

    def say(self, text):
        pass

    def opening(self, opening):
        pass

    def beat(self, beat):
        pass

    def event(self, event):
        if isinstance(event, Fault) and event.stage == "active":
            for name in event.targets:
                segment = max((self.store / "current" / "nodes" / name / "data" / "log").glob("*.log"))
                with segment.open("r+b") as file:
                    file.write(b"garbage!")
                self.damaged.append(name)


def test_a_broker_that_refuses_its_damaged_log_makes_the_run_invalid(tmp_path):
    vandal = Vandal(tmp_path)
    experiment = experiment_of({**OF_ONE_FAULT, "store": str(tmp_path)})
    backend, _ = choose_backend(experiment.backend, experiment.backend_options)
    _, results, code = run(experiment, backend, (), vandal)
    assert results is not None
    (broker,) = vandal.damaged
    assert code == 1, results.sentence
    found = results.anomalies["did-not-come-back"]
    assert [example.node for example in found.examples] == [broker]
    assert f"{broker}, started again when fault 1 (leader-kill on {broker}) was healed" in results.sentence
    assert "not a segment of this version; it starts with b'garbage!'" in results.sentence
    assert "fault-unproven" not in results.anomalies, "the harness did what it had to"
    assert (results.faults[0].proven, results.faults[0].healed) == (True, False)


@pytest.mark.longer
@pytest.mark.parametrize(
    ("bug", "anomaly", "words"),
    [
        ("stuck-after-failover", "no-recovery", "every process ran, every link passed, and 30 s are promised"),
        ("never-rejoin", "did-not-come-back", "was in no SyncStateSet from"),
    ],
)
def test_a_bug_that_keeps_the_service_away_is_found(bug, anomaly, words, tmp_path):
    argv = [sys.executable, "-m", "chaos", "run", "--bug", bug, "--engine", "local", "--seed", "1"]
    argv += ["--time-limit", "12", "--fault-interval", "4", "--fault-duration", "4", "--recovery-time", "5"]
    argv += ["--rate", "60"]
    done = subprocess.run([*argv, "--store", str(tmp_path)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    folder = (tmp_path / "current").resolve()
    results = json.loads((folder / "results.json").read_text())
    assert not results["anomalies"][anomaly]["allowed"]
    assert words in results["sentence"]
