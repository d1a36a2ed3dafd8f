"""Negative controls: settings and obstacles under which a harness that is worth anything must not say valid."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import doctored
import pytest
from control_runs import Ran, Runner, argv_of, assert_undecided, environment, folder_in

pytestmark = pytest.mark.controls

KILL = (
    "--nemesis",
    "leader-kill",
    "--rate",
    "300",
    "--set",
    "client.routing=follow",
    "--time-limit",
    "30",
    "--fault-interval",
    "10",
    "--fault-duration",
    "10",
)


def lost_values(ran: Ran) -> list[str]:
    return [example["value"] for example in ran.results["anomalies"]["lost-write"]["examples"]]


def test_acknowledging_before_the_replicas_loses_messages_in_four_of_five_seeds(tmp_path: Path) -> None:
    red: list[int] = []
    for seed in range(1, 6):
        if len(red) == 4:
            break  # the fifth decides nothing any more
        store = tmp_path / str(seed)
        argv = argv_of([*KILL, "--set", "allAckInSyncStateSet=false", "--seed", str(seed)], store)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
        ran = Ran(done.returncode, folder_in(store), done.stdout + done.stderr)
        assert ran.code in (0, 1), ran.output
        wrong = {name for name, one in ran.results["anomalies"].items() if not one["allowed"]}
        if "lost-write" in wrong:
            assert lost_values(ran), "the lost messages are named"
            red.append(seed)
        else:  # what is acknowledged before the replicas have it may not be readable yet
            assert wrong <= {"stale-tail"}, ran.output
    assert len(red) >= 4, red


def judged(folder: Path, engine: str) -> "tuple[int, dict[str, dict[str, object]]]":
    """``chaos check`` of a folder: exit code and anomalies."""
    argv = [sys.executable, "-m", "chaos", "check", str(folder), "--engine", engine, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, json.loads(done.stdout)["anomalies"]


def test_acknowledging_after_the_replicas_loses_nothing_until_the_history_is_altered(
    chaos_run: Runner, tmp_path: Path
) -> None:
    ran = chaos_run(*KILL, "--set", "allAckInSyncStateSet=true", "--seed", "1")
    assert ran.code == 0, ran.output
    assert "lost-write" not in ran.results["anomalies"]
    sends = doctored.acknowledged(ran.folder / "history", key=0)
    early, late = sends[len(sends) // 3], sends[2 * len(sends) // 3]
    assert early.complete_ns < late.invoke_ns
    alterations = {
        "lost-write": lambda history: doctored.lose(history, early),
        "nonlinearizable-offset": lambda history: doctored.swap(history, early, late),
        "duplicate": lambda history: doctored.copy(history, early, onto=late),
    }
    for name, alter in alterations.items():
        folder = tmp_path / name
        doctored.altered_copy(ran.folder, folder, alter)
        for engine in ("spark", "local"):
            code, anomalies = judged(folder, engine)
            assert code == 1, (name, engine)
            found = anomalies[name]
            assert not found["allowed"], (name, engine)
            named = json.dumps(found["examples"])
            assert f"{early.writer}:{early.sequence}" in named, (name, engine, named)


def test_unclean_election_loses_messages(chaos_run: Runner, tmp_path: Path) -> None:
    """The master is cut off until the SyncStateSet is itself alone, and killed before its slaves caught up."""
    plan = tmp_path / "plan.jsonl"
    plan.write_text(
        '{"row":1,"at_s":15,"duration_s":28,"name":"leader-partition@broker","selector":"leader",'
        '"fault":"partition","roles":["broker"]}\n'
        '{"row":2,"at_s":43,"duration_s":12,"name":"leader-kill@broker","selector":"leader",'
        '"fault":"kill","roles":["broker"]}\n'
    )
    ran = chaos_run(
        "--plan",
        str(plan),
        "--nemesis",
        "leader-kill",
        "--set",
        "enableElectUncleanMaster=true",
        "--set",
        "client.routing=follow",
        "--time-limit",
        "60",
        "--seed",
        "1",
    )
    assert ran.code == 1, ran.output
    assert lost_values(ran)


def test_a_packet_filter_that_does_nothing_makes_the_verdict_unknown(chaos_run: Runner, tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    true = shutil.which("true")
    assert true is not None
    for name in (
        "iptables",
        "iptables-restore",
        "iptables-save",
        "iptables-nft",
        "iptables-legacy",
        "iptables-nft-restore",
        "iptables-nft-save",
        "iptables-legacy-restore",
    ):
        (fake / name).symlink_to(true)
    ran = chaos_run(
        "--nemesis",
        "random-partition",
        "--set",
        "client.routing=follow",
        "--time-limit",
        "20",
        "--fault-interval",
        "10",
        env={"PATH": f"{fake}:{os.environ['PATH']}"},
    )
    assert ran.code == 2, ran.output
    assert "fault" in ran.results["reason"]
    assert not any(fault["proven"] for fault in ran.results["faults"])


def test_no_rate_makes_the_verdict_unknown(chaos_run: Runner) -> None:
    ran = chaos_run("--nemesis", "noop", "--rate", "0.0001", "--time-limit", "10")
    assert ran.code == 2, ran.output
    assert ran.results["anomalies"]["too-little-traffic"]["count"] > 0
    assert "0 ok sends" in ran.results["reason"]


def wait_for(what: str, seen: "callable[[], bool]", timeout_s: float) -> None:  # type: ignore[valid-type]
    end = time.monotonic() + timeout_s
    while not seen():
        assert time.monotonic() < end, f"waited {timeout_s:g} s for {what}"
        time.sleep(0.1)


def phase_began(store: Path, name: str) -> bool:
    path = store / "current" / "history" / "run.events"
    return path.exists() and f'"name":"{name}","edge":"start"' in path.read_text()


def worker_pid(run_id: str, module: bytes = b"chaos.worker.worker") -> int:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
                marked = f"CHAOS_RUN={run_id}".encode() in (entry / "environ").read_bytes()
            except OSError:
                continue
            if module in line and marked:
                return int(entry.name)
    raise AssertionError("no worker process")


@pytest.fixture
def started(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Start a run in the background; it is killed at the end if it still runs."""
    began: list[subprocess.Popen[str]] = []

    def start(*argv: str) -> "tuple[subprocess.Popen[str], Path]":
        store = tmp_path / "store"
        process = subprocess.Popen(
            argv_of(argv, store),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        began.append(process)
        return process, store

    yield start
    for process in began:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_final_reads_that_are_blocked_make_the_verdict_unknown(started) -> None:  # type: ignore[no-untyped-def]
    process, store = started(
        "--nemesis", "noop", "--time-limit", "10", "--recovery-time", "2", "--drain-deadline", "120"
    )
    wait_for("the end of the load", lambda: phase_began(store, "settle"), 120)
    pid = worker_pid(folder_in(store).name)
    subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "iptables", "-I", "OUTPUT", "-p", "tcp", "--dport", "10911", "-j", "DROP"],
        check=True,
    )
    output, _ = process.communicate(timeout=600)
    ran = Ran(process.returncode, folder_in(store), output)
    assert_undecided(ran, "final read", "drain")
    assert ran.check("no-loss")["valid"] == "unknown", output


def test_a_killed_worker_is_said_and_the_verdict_is_not_valid(started) -> None:  # type: ignore[no-untyped-def]
    process, store = started("--nemesis", "noop", "--time-limit", "25", "--set", "client.routing=follow")
    wait_for("the load", lambda: phase_began(store, "load"), 180)
    folder = folder_in(store)
    wait_for("recorded operations", (folder / "history" / "w0.ops").exists, 60)
    os.kill(worker_pid(folder.name), signal.SIGKILL)
    output, _ = process.communicate(timeout=400)
    ran = Ran(process.returncode, folder, output)
    assert_undecided(ran, "worker")
    assert "lost-write" not in ran.results["anomalies"]


def test_a_killed_observer_is_said_and_the_verdict_is_not_valid(started) -> None:  # type: ignore[no-untyped-def]
    process, store = started("--nemesis", "noop", "--time-limit", "10", "--set", "client.routing=follow")
    wait_for("the load", lambda: phase_began(store, "load"), 180)
    os.kill(worker_pid(folder_in(store).name, b"chaos.worker.observer"), signal.SIGKILL)
    output, _ = process.communicate(timeout=400)
    assert "warning  the observer has ended by itself" in output
    assert_undecided(Ran(process.returncode, folder_in(store), output), "the observer ended by itself")


def test_an_interrupt_heals_drains_judges_and_ends_in_130(started) -> None:  # type: ignore[no-untyped-def]
    process, store = started(
        "--nemesis", "random-partition", "--time-limit", "120", "--fault-interval", "10", "--fault-duration", "60"
    )
    wait_for("a fault to be active", lambda: _fault_stage(store, "active"), 180)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everybody in the foreground group gets it
    output, _ = process.communicate(timeout=400)
    assert process.returncode == 130, output
    ran = Ran(130, folder_in(store), output)
    assert _fault_stage(store, "healed")
    assert phase_began(store, "drain")
    assert ran.results["interrupted"]
    assert (ran.folder / "report.html").exists()


def _fault_stage(store: Path, stage: str) -> bool:
    path = store / "current" / "history" / "run.events"
    return path.exists() and f'"stage":"{stage}"' in path.read_text()


def machine_state() -> dict[str, object]:
    """What a run could leave behind, seen from the initial namespaces."""

    def said(*argv: str) -> str:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    mounts = sorted(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines())
    return {
        "links": sorted(line.split(":")[1] for line in said("ip", "-o", "link").splitlines()),
        "netns": said("ip", "netns"),
        "mounts": mounts,
        "rules": [line for line in said("iptables-save").splitlines() if not line.startswith("#")],
        "tmp": sorted(path.name for path in Path(tempfile.gettempdir()).iterdir() if "chaos" in path.name),
    }


def marked_processes(run_id: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"CHAOS_RUN={run_id}".encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def test_kill_9_leaves_the_machine_as_before_and_a_history_that_is_judged(started) -> None:  # type: ignore[no-untyped-def]
    before = machine_state()
    process, store = started(
        "--nemesis", "random-partition", "--time-limit", "120", "--fault-interval", "10", "--fault-duration", "60"
    )
    wait_for("a fault to be active", lambda: _fault_stage(store, "active"), 180)
    process.kill()
    process.wait()
    folder = folder_in(store)
    wait_for("every process of the run to end", lambda: not marked_processes(folder.name), 10)
    wait_for("the machine to be as before", lambda: machine_state() == before, 10)
    for engine in ("spark", "local"):
        argv = [*argv_of([], store)[:3], "check", str(folder), "--engine", engine, "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "the run was killed" in json.loads(done.stdout)["reason"], done.stdout
    assert not list(folder.glob("nodes/*/store")), "what the brokers stored is gone"
