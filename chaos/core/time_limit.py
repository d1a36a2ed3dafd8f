"""Time limits of what tasks do, which is nearly always done long before: one timer of the event loop for all of them.

``asyncio.timeout`` sets a timer for each block and takes it back, which is a quarter of what it costs a worker to make
and record an operation. Apart from that a limit here does the same: the task is cancelled, and the block that was not
done in time raises TimeoutError (https://docs.python.org/3/library/asyncio-task.html#asyncio.timeout).
"""

import asyncio
import heapq
from types import TracebackType
from typing import Final
from weakref import WeakKeyDictionary

from chaos.core.clock import NS_PER_S, now_ns


class TimeLimit:
    """A block that must be done by a deadline; ``until`` makes it."""

    __slots__ = ("_cancelled_before", "_deadline_ns", "is_over", "task")

    def __init__(self, deadline_ns: int) -> None:
        self._deadline_ns = deadline_ns
        self.is_over = False
        self.task: asyncio.Task[object] | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a time limit needs a task, which it can cancel")
        self.task = task
        self._cancelled_before = task.cancelling()
        loop = task.get_loop()
        limits = _LIMITS.get(loop)
        if limits is None:
            limits = _LIMITS[loop] = _Limits()
        limits.add(loop, self._deadline_ns, self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        task, self.task = self.task, None
        if self.is_over and task is not None:
            asked_by_us_alone = task.uncancel() <= self._cancelled_before
            if asked_by_us_alone and kind is asyncio.CancelledError:
                raise TimeoutError from error


class _Limits:
    """The limits of one event loop that are not over, the next one first; of those for one time the newest.

    So of blocks within each other the inner one is told, who knows best what it was waiting for; the outer one is told
    if the inner one does not end.
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, int, TimeLimit]] = []
        self._added = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0

    def add(self, loop: asyncio.AbstractEventLoop, deadline_ns: int, limit: TimeLimit) -> None:
        still_open = self._open
        self._added += 1
        heapq.heappush(still_open, (deadline_ns, -self._added, limit))
        while still_open[0][2].task is None:  # what stands behind one that is not done waits for that one
            heapq.heappop(still_open)
        if self._timer is None or deadline_ns < self._timer_ns:
            self._set_timer(loop)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ns = self._open[0][0]
        self._timer = loop.call_later((self._timer_ns - now_ns()) / NS_PER_S, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = now_ns()
        told: set[asyncio.Task[object]] = set()
        outer: list[tuple[int, int, TimeLimit]] = []
        while self._open and (self._open[0][2].task is None or self._open[0][0] <= now):
            entry = heapq.heappop(self._open)
            limit = entry[2]
            if limit.task in told:
                outer.append(entry)
            elif limit.task is not None:
                limit.is_over = True
                limit.task.cancel()
                told.add(limit.task)
        for entry in outer:
            heapq.heappush(self._open, entry)
        if self._open:
            self._set_timer(loop)


_LIMITS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Limits]] = WeakKeyDictionary()


def until(deadline_ns: int) -> TimeLimit:
    """What a ``with`` of a task takes: its block must be done by then.

    Args:
        deadline_ns: on the clock of ``now_ns``; if that is over, the block ends at its first ``await``.

    Raises:
        TimeoutError: out of the block, if it was not done in time.
    """
    return TimeLimit(deadline_ns)
