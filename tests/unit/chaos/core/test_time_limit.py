"""What is not done by its deadline is cancelled and told so; everything else goes on as if there were no limit."""

import asyncio
import time

import pytest

from chaos.core import time_limit
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.time_limit import until


def after(seconds: float) -> int:
    return now_ns() + int(seconds * NS_PER_S)


async def limited(deadline_ns: int, work_s: float) -> str:
    try:
        with until(deadline_ns):
            await asyncio.sleep(work_s)
    except TimeoutError:
        return "over" if now_ns() >= deadline_ns else "too early"
    return "done"


def test_of_many_limits_each_ends_at_its_own_time() -> None:
    async def all_of_them() -> list[str]:
        limits = [(after(limit_s), work_s) for limit_s, work_s in LIMITS]
        return await asyncio.gather(*(limited(*one) for one in limits))

    assert asyncio.run(all_of_them()) == ["done", "over", "done", "over", "over", "over"]


LIMITS = [(60, 0), (0.03, 60), (60, 0.02), (0.01, 60), (0, 60), (-1, 60)]
"""Seconds to the deadline and of work: the later ones are set when a timer for a later time is running."""


def test_what_comes_in_time_is_not_told_of_the_limit() -> None:
    async def twice() -> None:
        for _ in range(2):
            with until(after(0.02)):
                pass
            await asyncio.sleep(0.04)

    asyncio.run(twice())


def test_an_error_of_the_block_stays_itself() -> None:
    async def failing() -> None:
        with until(after(60)):
            raise KeyError("the block's own")

    with pytest.raises(KeyError, match="the block's own"):
        asyncio.run(failing())


def test_who_is_cancelled_by_somebody_else_is_cancelled() -> None:
    async def cancelled() -> tuple[bool, bool]:
        one, both = (asyncio.ensure_future(limited(after(limit_s), 60)) for limit_s in (60, 0))
        await asyncio.sleep(0)
        one.cancel()
        both.cancel()
        await asyncio.wait([one, both])
        return one.cancelled(), both.cancelled()

    assert asyncio.run(cancelled()) == (True, True), "also if its time is over at that moment"


def test_limits_may_stand_in_each_other() -> None:
    async def nested(outer_s: float, inner_s: float) -> str:
        inner = "nothing"
        try:
            with until(after(outer_s)):
                inner = await limited(after(inner_s), 60)
                await asyncio.sleep(60)
        except TimeoutError:
            return f"outer after {inner}"
        return inner

    async def both() -> list[str]:
        return await asyncio.gather(nested(0.05, 0.01), nested(0.01, 60))

    assert asyncio.run(both()) == ["outer after over", "outer after nothing"]


@pytest.mark.parametrize("inner_s", [0.0, -1.0, 0.02], ids=["at the same time", "sooner", "later"])
def test_of_two_that_are_over_when_the_loop_looks_the_sooner_one_is_told_and_else_the_inner_one(inner_s: float) -> None:
    async def nested() -> str:
        deadline_ns = after(0.01)
        try:
            with until(deadline_ns):
                inner = await limited(deadline_ns + int(inner_s * NS_PER_S), 60)
        except TimeoutError:
            return "outer"
        return f"inner {inner}"

    async def held_up() -> str:
        nesting = asyncio.ensure_future(nested())
        await asyncio.sleep(0)
        time.sleep(0.05)  # the loop looks when both are over  # noqa: ASYNC251
        return await nesting

    assert asyncio.run(held_up()) == ("outer" if inner_s > 0 else "inner over")


def test_who_goes_on_after_the_inner_limit_is_told_of_the_outer_one() -> None:
    async def nested() -> str:
        deadline_ns = after(0.01)
        try:
            with until(deadline_ns):
                inner = await limited(deadline_ns, 60)
                await asyncio.sleep(60)
        except TimeoutError:
            return f"outer after inner {inner}"
        return "neither"

    assert asyncio.run(nested()) == "outer after inner over"


def test_what_is_done_is_forgotten() -> None:
    async def many() -> int:
        for _ in range(1000):
            with until(after(3)):
                pass
        return len(time_limit._LIMITS[asyncio.get_running_loop()]._open)

    assert asyncio.run(many()) <= 1


def test_outside_a_task_there_is_nothing_to_cancel() -> None:
    with pytest.raises(RuntimeError), until(after(1)):
        pass
