"""A cluster by hand, and runs that are repeated or interrupted: commands as processes, on real minimq clusters."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from host_support import marked, until
from run_support import WHOLE, check_verdict

pytestmark = pytest.mark.e2e

CHAOS = [sys.executable, "-m", "chaos"]


def chaos(*argv: str, cwd: Path, code: int = 0) -> str:
    """Run a command to its end; gives its standard output, or its error line if it must be refused."""
    done = subprocess.run([*CHAOS, *argv], capture_output=True, text=True, timeout=300, check=False, cwd=cwd)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def status(cwd: Path) -> dict[str, dict[str, object]]:
    return {node["node"]: node for node in json.loads(chaos("status", "--json", cwd=cwd))}


def run_ids(cwd: Path) -> list[str]:
    return [path.name for path in (cwd / "store" / "up").iterdir() if not path.is_symlink()]


def test_up_status_inject_heal_down(tmp_path: Path) -> None:
    up = chaos("up", "--backend", "netns", cwd=tmp_path)
    try:
        assert "ready    " in up
        nodes = status(tmp_path)
        assert list(nodes) == ["c1", "c2", "c3", "b1", "b2", "b3"]
        assert {node["state"] for node in nodes.values()} == {"running"}
        assert sorted(name for node in nodes.values() for name in node["leads"]) == ["brokers", "controller"]
        (master,) = [name for name, node in nodes.items() if node["leads"] == ["brokers"]]

        assert chaos("inject", "leader-suspend", cwd=tmp_path).startswith(f"active   leader-suspend: leader {master}, ")
        now = status(tmp_path)
        assert {name: (node["state"], node["fault"]) for name, node in now.items() if node["fault"]} == {
            master: ("suspended", "leader-suspend")
        }
        assert "leader-suspend is in force; chaos heal first" in chaos("inject", "bridge", cwd=tmp_path, code=254)
        assert chaos("heal", cwd=tmp_path).startswith("healed   leader-suspend: ")
        assert chaos("heal", cwd=tmp_path) == "no fault is in force\n"
        assert "did you mean leader-kill?" in chaos("inject", "leader-kil", cwd=tmp_path, code=254)
        cut = chaos("inject", "fixed-partition@broker", "-n", "b2", cwd=tmp_path)
        assert "{b2 | b1 b3}; 4 of 4 links across the cut dropped all 20 probes" in cut
        assert "a cluster is up in this store already" in chaos("up", cwd=tmp_path, code=254)
    finally:
        down = chaos("down", cwd=tmp_path)
    (run_id,) = run_ids(tmp_path)
    assert down == f"down     logs are in {tmp_path / 'store' / 'up' / run_id}\n"
    assert marked(run_id) == {}
    assert "no cluster is up in this store" in chaos("status", cwd=tmp_path, code=254)
    events = (tmp_path / "store" / "up" / run_id / "history" / "run.events").read_text().splitlines()
    stages = [event["stage"] for event in map(json.loads, events) if event["type"] == "fault"]
    assert stages == ["inject", "active", "heal", "healed"] * 2, "what is in force is healed on the way out"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_cluster_ends_with_its_process(number: signal.Signals, tmp_path: Path) -> None:
    argv = [*CHAOS, "up", "--foreground", "--backend", "netns"]
    keeper = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert keeper.stdout is not None
        assert any("ready    " in line for line in iter(keeper.stdout.readline, ""))
        chaos("inject", "leader-suspend", cwd=tmp_path)
        (run_id,) = run_ids(tmp_path)
        assert marked(run_id) != {}
        os.kill(keeper.pid, number)
        keeper.wait(60)
    finally:
        keeper.kill()
        keeper.stdout.close()
    assert keeper.returncode == (0 if number == signal.SIGINT else -signal.SIGKILL)
    until(lambda: marked(run_id) == {}, "every process of the cluster to end")
    assert "no cluster is up in this store" in chaos("status", cwd=tmp_path, code=254)


@pytest.mark.longer
def test_a_replay_with_pin_hits_whom_the_run_hit(tmp_path: Path) -> None:
    quick = ["--rate", "60", "--fault-interval", "6", "--fault-duration", "6", "--time-limit", "12"]
    first = [*CHAOS, "run", "--backend", "netns", "--engine", "local", "--nemesis", "leader-suspend", *quick]
    again = [*CHAOS, "replay", "-1", "--pin", "--rate", "50"]
    hit = []
    for argv in (first, again):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=400, check=False, cwd=tmp_path)
        folder = (tmp_path / "store" / "current").resolve()
        check_verdict(done.returncode, folder, done.stdout + done.stderr)
        events = [json.loads(line) for line in (folder / "history" / "run.events").read_text().splitlines()]
        (injected,) = [event for event in events if event["type"] == "fault" and event["stage"] == "inject"]
        hit.append(injected["targets"])
    assert hit[0] == hit[1] != []
    (row,) = [json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
    assert row["nodes"] == hit[0]
    config = (folder / "config.yaml").read_text()
    assert "\npin: true " in config
    assert "\nrate: 50.0 " in config


def test_an_interrupted_run_is_healed_judged_and_kept(tmp_path: Path) -> None:
    argv = [*CHAOS, "run", "--backend", "netns", "--nemesis", "leader-partition", "--engine", "local", "--seed", "1"]
    argv += ["--time-limit", "600", "--fault-interval", "3", "--fault-duration", "500", "--rate", "60"]
    run = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        events = tmp_path / "store" / "current" / "history" / "run.events"
        until(lambda: events.exists() and '"stage":"active"' in events.read_text(), "the fault to be in force", 120)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 130, said
    folder = (tmp_path / "store" / "current").resolve()
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["status"], info["interrupted"]) == ("checked", True)
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)]
    assert "fault 1  leader-partition: in force: leader {" in said
    assert WHOLE.search(said), "everything was read back"
    assert (folder / "report.html").exists()
