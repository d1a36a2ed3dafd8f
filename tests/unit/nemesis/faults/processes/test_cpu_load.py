"""The program of the fault cpu-load: all threads of a process on one processor, and back."""

import os
import subprocess
import sys

from nemesis.faults.processes import cpu_load_program as program

SLEEPER = """
import threading
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""


def allowed(pid):
    return {tuple(sorted(os.sched_getaffinity(thread))) for thread in program.threads(pid)}


def test_all_threads_run_on_one_processor_and_then_where_they_could():
    able = sorted(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout.readline() == b"ready\n"
            before = program.pin(sleeper.pid, able[0])
            assert len(before) == 4
            assert allowed(sleeper.pid) == {(able[0],)}
            del before[str(max(program.threads(sleeper.pid)))]  # as one that began later
            program.restore_threads(sleeper.pid, before)
            assert allowed(sleeper.pid) == {tuple(able)}
        finally:
            sleeper.kill()
    assert program.threads(sleeper.pid) == []
    assert program.pin(sleeper.pid, able[0]) == {}
