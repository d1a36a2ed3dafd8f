"""A watchdog whose harness is gone, and a node that was there before the run: its process must not stay stopped."""

import json
import os
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.core.clock import Deadline
from cluster.agent import watchdog
from nemesis.faults.processes import cpu_load_program, stutter_program

# Stops its process whenever it runs, and hears of nothing but SIGKILL.
STOPPER = """
import json, os, signal, sys
orders = json.loads(sys.argv[1])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(orders["pid_file"], "w") as file:
    file.write(str(os.getpid()))
print("ready", flush=True)
while True:
    os.kill(orders["pid"], signal.SIGSTOP)
"""


class Machine:
    """A node's home with a process that carries no mark, and what is told of it."""

    def __init__(self, home, process):
        self.home, self.pid, self.run_id = home, process.pid, secrets.token_hex(8)
        self.start = watchdog.stat(str(process.pid))[19]
        (home / "logs").mkdir()
        (home / "process.pid").write_text(f"{process.pid} {self.start} 0\n")
        (home / "heartbeat").write_text("1")

    def beside(self, program, **orders):
        """A program of a fault beside the process, started as the harness does."""
        said = json.dumps({**orders, "pid": self.pid, "pid_file": f"{self.home}/.fault-1.pid"})
        own = {**os.environ, "CHAOS_RUN": self.run_id}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        started = subprocess.Popen([sys.executable, "-I", "-S", "-", said], env=own, **pipes)
        started.stdin.write(program.encode())
        started.stdin.close()
        assert started.stdout.readline() == b"ready\n"
        return started

    def left_alone(self):
        """Its harness falls silent; returns when the watchdog has ended, with what it noted."""
        orders = {"home": str(self.home), "run_id": self.run_id, "heal_after_s": 0.2, "end_after_s": 0.5}
        watchdog.Watchdog({**orders, "iptables": "", "chain": "", "clear": ""}).watch()
        return (self.home / "logs/watchdog.log").read_text()

    def states(self):
        """Every state in which the process is seen over half a second."""
        seen = set()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            seen.add(watchdog.stat(str(self.pid))[0])
            time.sleep(0.002)
        return seen


@contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def machine(tmp_path):
    argv = ["sh", "-c", "sleep 600 & echo up; wait"]
    with ended(subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)) as process:
        assert process.stdout.readline() == b"up\n"
        try:
            yield Machine(tmp_path, process)
        finally:
            os.killpg(process.pid, 9)


def test_a_program_that_stops_a_process_is_killed_before_the_process_goes_on(machine, monkeypatch):
    monkeypatch.setattr(watchdog, "_PATIENCE_S", 0.3)
    with ended(machine.beside(STOPPER)):
        deadline = Deadline("it to be stopped", 60)
        while machine.states() != {"T"}:
            deadline.check()
        said = machine.left_alone()
    assert "programs of faults did not end: " in said
    assert "T" not in machine.states(), "it runs, and nothing stops it any more"


def test_the_fault_stutter_ends_with_its_harness(machine):
    program = Path(stutter_program.__file__).read_text()
    with ended(machine.beside(program, start=int(machine.start), on_ms=1, off_ms=30)):
        deadline = Deadline("it to be stopped", 60)
        while "T" not in machine.states():
            deadline.check()
        said = machine.left_alone()
    assert "did not end" not in said
    assert "T" not in machine.states()


def test_loops_end_with_their_harness_and_the_process_runs_where_it_could(machine):
    program = Path(cpu_load_program.__file__).read_text()
    usual = cpu_load_program.pin(machine.pid, min(os.sched_getaffinity(0)))
    able = sorted(os.sched_getaffinity(0))
    with ended(machine.beside(program, start=int(machine.start), hogs=2, cpu=able[0], usual=usual)):
        deadline = Deadline("the loops to begin", 60)
        while len(loops := cpu_load_program.loops_of(f"{machine.home}/.fault-1.pid")) < 2:
            deadline.check()
        machine.left_alone()
    assert sorted(os.sched_getaffinity(machine.pid)) == able
    deadline = Deadline("the loops to end", 60)
    while any(watchdog.stat(str(pid))[:1] not in ([], ["Z"]) for pid in loops):
        deadline.check()


def test_the_whole_session_of_a_stopped_process_goes_on(machine):
    os.killpg(machine.pid, 19)
    entries = [path.name for path in Path("/proc").iterdir()]
    own = [entry for entry in entries if entry.isdigit() and str(machine.pid) in watchdog.stat(entry)[2:4]]

    def states():
        return {watchdog.stat(pid)[0] for pid in own}

    assert len(own) == 2
    deadline = Deadline("both to be stopped", 60)
    while states() != {"T"}:
        deadline.check()
    machine.left_alone()
    assert "T" not in states()


def test_only_a_pid_file_that_names_the_program_is_believed(machine):
    with ended(machine.beside("import time; print('ready', flush=True); time.sleep(600)", other=True)) as program:
        (machine.home / ".other-1.pid").write_text(str(program.pid))
        one = watchdog.Watchdog(
            {"home": str(machine.home), "run_id": machine.run_id, "heal_after_s": 1, "end_after_s": 2}
        )
        assert one._programs() == []
        (machine.home / ".fault-1.pid").write_text(str(program.pid))
        assert one._programs() == [program.pid]
        one.orders["run_id"] = "another"
        assert one._programs() == []
