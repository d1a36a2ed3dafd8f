"""The program of the fault memory-load: what it holds, what it leaves to others, and when it ends."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from chaos.core.clock import Deadline
from nemesis.faults.processes import memory_load_program as program
from nemesis.faults.registry import faults


def run(tmp_path, **orders):
    argv = [sys.executable, "-I", "-S", program.__file__, json.dumps({**orders, "pid_file": str(tmp_path / "it.pid")})]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def start_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def held(tmp_path):
    return json.loads(run(tmp_path, look=True).stdout)["held"]


def gone(pid):
    deadline = Deadline("the program to end", 20)
    while Path(f"/proc/{pid}").exists():
        deadline.check()
        time.sleep(0.02)


def test_it_fills_what_it_is_told_and_ends_when_it_is_asked_to(tmp_path):
    done = run(tmp_path, pid=os.getpid(), start=start_of(os.getpid()), mib=40)
    assert done.stdout == "ready\n", done.stderr
    pid = int((tmp_path / "it.pid").read_text())
    assert 40 <= held(tmp_path) / program.MIB < 60
    os.kill(pid, 15)
    gone(pid)
    assert held(tmp_path) == 0


def test_it_ends_with_the_process_that_it_is_beside(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as beside:
        assert run(tmp_path, pid=beside.pid, start=start_of(beside.pid), mib=1).stdout == "ready\n"
        beside.kill()
    gone(int((tmp_path / "it.pid").read_text()))


def test_it_takes_nothing_that_others_need(tmp_path):
    done = run(tmp_path, pid=os.getpid(), start=start_of(os.getpid()), mib=100_000_000)
    assert done.returncode == 1
    assert "can be had without harm to others; give fewer mib" in done.stderr
    gone(int((tmp_path / "it.pid").read_text()))


def test_another_process_of_the_same_pid_is_another():
    assert program.lives(os.getpid(), start_of(os.getpid()))
    assert not program.lives(os.getpid(), start_of(os.getpid()) + 1)


def test_it_is_no_part_of_all():
    assert not faults()["memory-load"].in_all
