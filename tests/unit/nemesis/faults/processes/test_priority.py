"""The fault priority: what its program sets and sets back, and what its loops prove."""

import os
import subprocess
import sys

import pytest

from chaos.core.errors import UsageError
from nemesis.faults.params import read
from nemesis.faults.processes import priority_program as program
from nemesis.faults.processes.priority import Priority, PriorityParams, Seen, Standing, has_priority, judge
from nemesis.faults.registry import faults

BOTH = {"nice": 19, "autogroup": 19}
SLEEPER = """
import threading
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""


def seen(got, *, nice=(19,), autogroup=19):
    return Seen(nice=nice, autogroup=autogroup, got=got, usual=0.5, ran=0.01, waited=0.9)


def test_a_loop_that_is_starved_proves_the_priority():
    good, told = judge(seen(0.01), BOTH)
    assert good
    assert told == "one of nice 19 gets 1.0 % beside 50.0 %, it ran 0.01 s and waited 0.90 s"
    assert not judge(seen(0.2), BOTH)[0]
    assert judge(seen(0.2, nice=(5,), autogroup=5), {"nice": 5, "autogroup": 5})[0]


def test_a_process_of_another_priority_proves_nothing():
    assert not judge(seen(0.01, nice=(0, 19)), BOTH)[0], "one thread"
    assert not judge(seen(0.01, autogroup=0), BOTH)[0]
    assert judge(seen(0.01, autogroup=0), {"nice": 19})[0], "sessions are not weighed"
    assert not has_priority(Standing(nice=(), autogroup=None), {"nice": 19}), "it is gone"


def test_all_threads_are_lowered_and_raised_again():
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    if "nice" not in program.ways():
        pytest.skip("who lowers a priority may not raise it again here")
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout.readline() == b"ready\n"
            assert len(program.threads(sleeper.pid)) == 4
            program.set_priority(sleeper.pid, {"nice": 19})
            assert program.nice_of(sleeper.pid) == [19]
            program.set_priority(sleeper.pid, {"nice": usual})
            assert program.nice_of(sleeper.pid) == [usual]
        finally:
            sleeper.kill()
    assert program.nice_of(sleeper.pid) == []


def test_a_session_is_lowered_and_raised_again():
    if "autogroup" not in program.ways():
        pytest.skip("sessions are not weighed here")
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as sleeper:
        try:
            program.set_priority(sleeper.pid, {"autogroup": 19})
            assert program.session_nice(sleeper.pid) == 19
            program.set_priority(sleeper.pid, {"autogroup": 0})
            assert program.session_nice(sleeper.pid) == 0
        finally:
            sleeper.kill()


def test_it_takes_no_value_that_cannot_be_told_from_the_usual():
    assert read(PriorityParams, {"nice": "0"}).nice == 0
    assert read(PriorityParams, {"nice": "5"}).nice == 5
    with pytest.raises(UsageError, match="give 0, or 5 to 19"):
        read(PriorityParams, {"nice": "4"})


def test_it_is_no_part_of_all():
    assert not faults()["priority"].in_all
    assert Priority.describe(None, ("b1",), (), PriorityParams()) == "b1, nice 19 beside 1 loops on one processor"
