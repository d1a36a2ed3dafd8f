"""Work that goes on beside the clock ends when it is told to, and says why it ended before."""

import threading

import pytest

from chaos.core.errors import ChaosError
from nemesis.faults.background import Background


def test_it_goes_on_until_it_is_to_end():
    work, times = Background("work"), []

    def loop():
        while not work.sleep(0.001):
            times.append(1)

    work.start(loop)
    assert work.until(lambda: len(times) >= 3, 20)
    work.end(20)
    assert work.halted
    done = len(times)
    work.end(20)
    assert len(times) == done
    assert work.failed == ""


def test_a_failure_is_kept_and_ends_the_waiting():
    work = Background("work")

    def fails():
        raise ChaosError("no way")

    work.start(fails)
    assert not work.until(lambda: False, 20)
    assert work.failed == "no way"


def test_work_that_does_not_end_is_told():
    work, go = Background("work"), threading.Event()
    work.start(lambda: go.wait(20) and None)
    with pytest.raises(ChaosError, match=r"work does not end within 0\.05 s"):
        work.end(0.05)
    go.set()
    work.end(20)


def test_it_may_be_ended_before_it_began():
    work = Background("work")
    work.end(1)
    assert work.sleep(0)
