"""Simulated time: an event loop that leaps from event to event, and threads of which one runs at a time.

``asyncio`` runs on ``VirtualLoop`` as it does elsewhere: when nothing is left to do at an instant, time leaps to the
next timer. What happens in the simulated world has a calendar of its own (``at``), which costs less than a timer of
asyncio. The harness' threads become strands: each has a thread, and hands over to the event loop when it waits, so the
order of everything follows from the seed. The main thread lets time pass by waiting. Implements
``chaos.core.waiting.Timekeeper``.
"""

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, Self, TypeVar, TypeVarTuple, Unpack

from chaos.core.clock import NS_PER_S
from chaos.core.errors import ChaosError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

BEGIN_NS: Final = 1_000 * NS_PER_S
"""What the simulated clock shows first: no time of a run may be 0."""


class _Abandoned(BaseException):
    """Ends a strand whose run is over; not an ``Exception``, so that nobody keeps it."""


class _Call(asyncio.TimerHandle):
    """What ``VirtualLoop`` will call: a handle as of any event loop, without what only a loop's debug mode needs."""

    __slots__ = ("act", "arguments", "context", "due_ns")

    def __init__(self, act: Callable[..., object], arguments: Sequence[Any], context: Context | None) -> None:
        self.act = act
        self.arguments = arguments
        self.context = copy_context() if context is None else context
        self.due_ns = 0
        self._cancelled = False

    def when(self) -> float:
        """When it is due, on the clock of the loop."""
        return self.due_ns / NS_PER_S

    def cancel(self) -> None:
        """Do not call it; fine if it was called."""
        self._cancelled = True
        self.arguments = ()

    def __repr__(self) -> str:
        return f"<_Call {self.act!r}>"


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop in simulated time: when nothing is left to do, time leaps to what is due next in its calendar.

    ``now_ns``: the simulated time. Timers of asyncio are in the calendar as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_ns = BEGIN_NS
        self.get_debug = bool  # type: ignore[method-assign]  # never; each future and task asks for it
        self._calendar: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []
        self._serial = 0
        self._ready: deque[_Call]
        self._stopping: bool

    def time(self) -> float:
        """The simulated time in seconds."""
        return self.now_ns / NS_PER_S

    def at(self, time_ns: int, act: Callable[..., object], *arguments: Any) -> None:
        """Let something happen in the simulated world; what is due at the same instant keeps its order."""
        self._serial += 1
        heappush(self._calendar, (time_ns, self._serial, act, arguments))

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As of any event loop."""
        call = _Call(callback, args, context)
        self._ready.append(call)
        return call

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As of any event loop."""
        due_ns = self.now_ns + math.ceil(delay * NS_PER_S)
        call = _Call(callback, args, context)
        call.due_ns = due_ns
        self.at(due_ns, self._ring, call)
        return call

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As of any event loop."""
        return self.call_later(when - self.time(), callback, *args, context=context)

    def _ring(self, call: _Call) -> None:
        if not call._cancelled:  # noqa: SLF001 - as in any event loop
            try:
                call.context.run(call.act, *call.arguments)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - as in any event loop
                self.call_exception_handler({"message": f"Exception in {call}", "exception": error, "handle": call})

    def _run_once(self) -> None:
        """What ``run_forever`` repeats until it is told to stop: here one call does it all."""
        ready, calendar, ring = self._ready, self._calendar, self._ring
        while not self._stopping:
            if ready:
                ring(ready.popleft())
            elif calendar:
                due_ns, _, act, arguments = heappop(calendar)
                if due_ns > self.now_ns:  # noqa: PLR1730 - a call of max costs more, for every event
                    self.now_ns = due_ns
                act(*arguments)
            else:
                raise ChaosError("the simulation has come to rest: nothing is left to happen, and somebody waits")


def _baton() -> threading.Lock:
    """What one thread hands to another: to acquire it is to wait until somebody releases it."""
    baton = threading.Lock()
    baton.acquire()
    return baton


class _Strand:
    """A thread that runs only when it is let, and lets others run when it waits."""

    def __init__(self, keeper: "VirtualTime") -> None:
        self._keeper = keeper
        self._go = _baton()
        self._job: Callable[[], object] | None = None
        self._over = False
        self._thread = threading.Thread(target=self._run, name="strand", daemon=True)
        self._thread.start()

    def begin(self, job: Callable[[], object]) -> None:
        self._job = job

    def resume(self) -> None:
        """Let it run until it waits or has ended; called in the event loop."""
        self._keeper.running = self
        self._go.release()
        self._keeper.back.acquire()
        self._keeper.running = None

    def wait(self) -> None:
        """Hand over, until somebody resumes it."""
        if not self._over:
            self._keeper.back.release()
            self._go.acquire()
        if self._over:
            raise _Abandoned

    def abandon(self) -> None:
        """End it, wherever it waits."""
        self._over = True
        self.resume()

    def _run(self) -> None:
        while True:
            self._go.acquire()
            job, self._job = self._job, None
            try:
                if job is not None and not self._over:
                    job()
            except _Abandoned:
                pass
            if not self._over:
                self._keeper.idle.append(self)
            self._keeper.back.release()
            if self._over:
                return


class _Flag:
    """A ``chaos.core.waiting.Flag``."""

    def __init__(self, keeper: "VirtualTime") -> None:
        self._keeper = keeper
        self._set = False
        self._waiting: list[Callable[[], None]] = []

    def set(self) -> None:
        self._set = True
        self._keeper.wake(self._waiting)

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            self._keeper.park(timeout, self._waiting)
        return self._set


class _Condition:
    """A ``chaos.core.waiting.Condition``: one strand runs at a time, so nothing has to be locked."""

    def __init__(self, keeper: "VirtualTime") -> None:
        self._keeper = keeper
        self._waiting: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def wait(self, timeout: float | None = None) -> bool:
        self._keeper.park(timeout, self._waiting)
        return True

    def notify_all(self) -> None:
        self._keeper.wake(self._waiting)


class _Started:
    """A ``chaos.core.waiting.Thread``."""

    def __init__(self, ended: _Flag) -> None:
        self._ended = ended

    def join(self, timeout: float | None = None) -> None:
        self._ended.wait(timeout)


class VirtualTime:
    """The time of one run; made in the thread that will let it pass, which is the only one that runs the loop."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.at = self.loop.at
        self.running: _Strand | None = None
        self.back = _baton()
        self.idle: list[_Strand] = []
        self._strands: list[_Strand] = []

    def now_ns(self) -> int:
        """The simulated time."""
        return self.loop.now_ns

    def sleep(self, seconds: float) -> None:
        """See ``Timekeeper``."""
        self.park(max(0.0, seconds), [])

    def flag(self) -> _Flag:
        """See ``Timekeeper``."""
        return _Flag(self)

    def condition(self) -> _Condition:
        """See ``Timekeeper``."""
        return _Condition(self)

    def thread(self, target: Callable[[], object], name: str) -> _Started:  # noqa: ARG002 - strands need no names
        """See ``Timekeeper``; what the target raises is shouted about by the event loop."""
        ended = _Flag(self)

        def job() -> None:
            try:
                target()
            except Exception as error:  # noqa: BLE001 - as an exception that ends a thread
                context = {"message": "a strand ended by an exception", "exception": error}
                self.loop.call_soon(self.loop.call_exception_handler, context)
            finally:
                ended.set()

        self.loop.call_soon(self._begin, job)
        return _Started(ended)

    def _begin(self, job: Callable[[], object]) -> None:
        if not self.idle:
            strand = _Strand(self)
            self._strands.append(strand)
            self.idle.append(strand)
        strand = self.idle.pop()
        strand.begin(job)
        strand.resume()

    def at_once(self, actions: Sequence[Callable[[], T]], name: str) -> list[T]:
        """See ``Timekeeper``."""
        if len(actions) == 1:
            return [actions[0]()]
        results: dict[int, T] = {}
        errors: dict[int, Exception] = {}

        def attempt(position: int, action: Callable[[], T]) -> None:
            try:
                results[position] = action()
            except Exception as error:  # noqa: BLE001 - raised below
                errors[position] = error

        for one in [self.thread(partial(attempt, *numbered), name) for numbered in enumerate(actions)]:
            one.join()
        if errors:
            raise errors[min(errors)]
        return [results[position] for position in range(len(actions))]

    def park(self, timeout: float | None, waiting: list[Callable[[], None]]) -> None:
        """Let the caller wait until ``wake`` or for ``timeout`` seconds; ``waiting`` holds what wakes it."""
        strand = self.running
        future = None if strand is not None else self.loop.create_future()
        woken = False

        def wake() -> None:
            nonlocal woken
            if woken:
                return
            woken = True
            if wake in waiting:
                waiting.remove(wake)
            if timer is not None:
                timer.cancel()
            if strand is not None:
                strand.resume()
            elif future is not None and not future.done():
                future.set_result(None)

        timer = None if timeout is None else self.loop.call_later(timeout, wake)
        waiting.append(wake)
        if strand is not None:
            strand.wait()
        elif future is not None:
            self.loop.run_until_complete(future)

    def wake(self, waiting: list[Callable[[], None]]) -> None:
        """Let everybody go on who waits."""
        woken = list(waiting)
        waiting.clear()
        for each in woken:
            self.loop.call_soon(each)

    def close(self) -> None:
        """End all that still goes on; nothing happens afterwards."""
        for strand in self._strands:
            strand.abandon()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()
