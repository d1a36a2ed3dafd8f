"""The one clock of a run and the deadlines measured by it.

All times in a history are CLOCK_MONOTONIC nanoseconds of the control host. The wall clock is
written once, as an anchor for people; nothing is ever computed from it.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from chaos.core.errors import DeadlineError

NS_PER_S: Final = 1_000_000_000


_now: Callable[[], int] = time.monotonic_ns
_sleep: Callable[[float], None] = time.sleep


def now_ns() -> int:
    """CLOCK_MONOTONIC in nanoseconds; in a simulation the simulated time."""
    return _now()


def ns_from_now(seconds: float) -> int:
    """The instant in so many seconds, on the clock of ``now_ns``."""
    return now_ns() + int(seconds * NS_PER_S)


def is_simulated() -> bool:
    """Whether the time is that of a simulation."""
    return _now is not time.monotonic_ns


def use(now: Callable[[], int], sleep: Callable[[float], None]) -> None:
    """Take the time from somewhere else, and let it pass there; ``chaos.core.waiting`` does."""
    global _now, _sleep
    _now, _sleep = now, sleep


def speed(simulated_s: float, took_s: float) -> str:
    """How fast a simulation was beside real time: ``46 times as fast``, ``1.4 times as fast``, ``0.46 times as fast``.

    Two digits are said at least, so that one that was slower than real time is not 0 times as fast.
    """
    times = simulated_s / max(took_s, 1e-9)
    return f"{times:,.0f} times as fast" if times >= 10 else f"{times:.2g} times as fast"  # noqa: PLR2004 - two digits


def boot_id() -> str:
    """The kernel's boot id: histories of two boots have unrelated clocks and are never merged."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Deadline:
    """A point in time by which ``what`` must have happened.

    Args:
        what: the thing being waited for, as the message of a breach will say it.
        timeout_s: seconds from now.
    """

    def __init__(self, what: str, timeout_s: float) -> None:
        self.what = what
        self.timeout_s = timeout_s
        self._end_ns = ns_from_now(timeout_s)

    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, (self._end_ns - now_ns()) / NS_PER_S)

    def expired(self) -> bool:
        """Whether the time is up."""
        return now_ns() >= self._end_ns

    def check(self, detail: str = "") -> None:
        """Raise ``DeadlineError`` if the time is up; ``detail`` says what was last seen."""
        if self.expired():
            suffix = f" ({detail})" if detail else ""
            raise DeadlineError(f"waited {self.timeout_s:g} s for {self.what}{suffix}")

    def wait(self) -> None:
        """Sleep until the time is up."""
        _sleep(self.remaining_s())
