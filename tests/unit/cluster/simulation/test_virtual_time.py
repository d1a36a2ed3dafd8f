"""Simulated time leaps, strands run one at a time in an order that never differs, and nothing of a run outlives it."""

import asyncio
import time

import pytest

from chaos.core import waiting
from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import ChaosError
from cluster.simulation.virtual_time import BEGIN_NS, VirtualTime


@pytest.fixture
def keeper():
    kept = VirtualTime()
    with waiting.kept_by(kept):
        yield kept
    kept.close()


def test_an_hour_of_waiting_takes_no_time(keeper):
    began_s = time.monotonic()
    Deadline("an hour", 3600).wait()
    assert now_ns() == BEGIN_NS + 3600 * NS_PER_S
    assert time.monotonic() - began_s < 60


def test_the_clock_is_the_machine_s_again_afterwards():
    before_ns = now_ns()
    kept = VirtualTime()
    with waiting.kept_by(kept):
        assert now_ns() == BEGIN_NS
    kept.close()
    assert now_ns() >= before_ns


def test_strands_interleave_by_the_time_alone(keeper):
    said = []

    def talk(name, pause_s):
        for number in range(3):
            said.append((name, number, (now_ns() - BEGIN_NS) // 1_000_000))
            waiting.sleep(pause_s)

    waiting.at_once([lambda: talk("a", 0.2), lambda: talk("b", 0.3)], "talk")
    assert said == [("a", 0, 0), ("b", 0, 0), ("a", 1, 200), ("b", 1, 300), ("a", 2, 400), ("b", 2, 600)]


def test_all_at_once_raises_the_first_failure_after_all_have_ended(keeper):
    ended = []

    def fail(text, pause_s):
        waiting.sleep(pause_s)
        ended.append(text)
        raise ChaosError(text)

    with pytest.raises(ChaosError, match="slow"):
        waiting.at_once([lambda: fail("slow", 2), lambda: fail("quick", 1)], "fail")
    assert ended == ["quick", "slow"]


def test_a_flag_wakes_whoever_waits_and_a_wait_ends_by_itself(keeper):
    flag = waiting.flag()
    assert flag.wait(1.5) is False
    assert now_ns() == BEGIN_NS + 1_500_000_000

    def set_later():
        waiting.sleep(2)
        flag.set()

    setting = waiting.thread(set_later, "setting")
    assert flag.wait(60) is True
    assert now_ns() == BEGIN_NS + 3_500_000_000
    setting.join(1)


def test_the_world_s_events_keep_their_order_and_reach_coroutines(keeper):
    seen = []
    heard = keeper.loop.create_future()
    for number in range(3):
        keeper.at(BEGIN_NS + 5, seen.append, number)
    keeper.at(BEGIN_NS + 7, heard.set_result, "answer")

    async def ask():
        seen.append(await heard)
        seen.append(now_ns() - BEGIN_NS)

    asking = keeper.loop.create_task(ask())
    waiting.sleep(1)
    assert asking.done()
    assert seen == [0, 1, 2, "answer", 7]


def test_timers_and_the_world_keep_their_order_and_cancelled_timers_never_ring(keeper):
    seen, loop = [], keeper.loop
    loop.call_at(loop.time() + 0.002, seen.append, "at")
    loop.call_later(0.001, seen.append, "timer")
    keeper.at(BEGIN_NS + 1_000_000, seen.append, "world")
    loop.call_later(0.001, seen.append, "cancelled").cancel()
    loop.call_soon(seen.append, "cancelled").cancel()
    loop.call_soon(seen.append, "soon")
    waiting.sleep(1)
    assert seen == ["soon", "timer", "world", "at"]


def test_what_a_call_raises_is_told_and_the_others_go_on(keeper):
    told, seen, loop = [], [], keeper.loop
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
    loop.call_soon([].pop)
    timer = loop.call_later(0.001, {}.__getitem__, "nothing")
    loop.call_later(0.002, seen.append, "later")
    assert timer.when() == pytest.approx(BEGIN_NS / NS_PER_S + 0.001)
    waiting.sleep(1)
    assert [type(error) for error in told] == [IndexError, KeyError]
    assert seen == ["later"]


def test_a_world_at_rest_is_an_error_and_no_hang(keeper):
    with pytest.raises(ChaosError, match="nothing is left to happen"):
        waiting.flag().wait()


def test_what_still_waits_is_ended_with_the_run():
    kept = VirtualTime()
    left = []

    def forever():
        try:
            waiting.flag().wait(1e6)
        finally:
            left.append("strand")

    async def for_ever():
        try:
            await asyncio.sleep(1e6)
        finally:
            left.append("task")

    with waiting.kept_by(kept):
        waiting.thread(forever, "forever")
        kept.loop.create_task(for_ever())
        waiting.sleep(1)
        kept.close()
    assert left == ["strand", "task"]
