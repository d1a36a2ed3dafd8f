"""How the harness waits and does several things at once: by threads and the machine's clock, or in simulated time.

Whoever sleeps, waits for a flag or starts a thread does so through this module. A backend that keeps the time itself
(``cluster.host.KeepsTime``) puts a ``Timekeeper`` of its own here for as long as its run lasts; all else uses threads.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol, TypeVar

from chaos.core import clock

T = TypeVar("T")


class Flag(Protocol):
    """What of ``threading.Event`` is used."""

    def set(self) -> None:
        """Let everybody go on who waits."""
        ...

    def clear(self) -> None:
        """Let everybody wait from now on."""
        ...

    def is_set(self) -> bool:
        """Whether it is set."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, ``timeout`` seconds at most; whether it is."""
        ...


class Condition(Protocol):
    """What of ``threading.Condition`` is used."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> Any: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until notified, ``timeout`` seconds at most."""
        ...

    def notify_all(self) -> None:
        """Let everybody look again who waits."""
        ...


class Thread(Protocol):
    """What of ``threading.Thread`` is used."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, ``timeout`` seconds at most."""
        ...


class Timekeeper(Protocol):
    """Keeps the time of a run, and says who goes on when."""

    def now_ns(self) -> int:
        """The time, in nanoseconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let the caller wait."""
        ...

    def flag(self) -> Flag:
        """A new flag, not set."""
        ...

    def condition(self) -> Condition:
        """A new condition."""
        ...

    def thread(self, target: Callable[[], object], name: str) -> Thread:
        """Start something beside the caller; the program does not wait for its end."""
        ...

    def at_once(self, actions: Sequence[Callable[[], T]], name: str) -> list[T]:
        """Do all of it at the same time; see ``at_once`` of this module."""
        ...


class _Machine:
    """Threads and the machine's clock."""

    now_ns = staticmethod(time.monotonic_ns)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def flag(self) -> Flag:
        return threading.Event()

    def condition(self) -> Condition:
        return threading.Condition()

    def thread(self, target: Callable[[], object], name: str) -> Thread:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread

    def at_once(self, actions: Sequence[Callable[[], T]], name: str) -> list[T]:
        with ThreadPoolExecutor(max(1, len(actions)), thread_name_prefix=name) as pool:
            return [future.result() for future in [pool.submit(action) for action in actions]]


_MACHINE = _Machine()
_keeper: list[Timekeeper] = [_MACHINE]


@contextmanager
def kept_by(keeper: Timekeeper | None) -> Iterator[None]:
    """Have a timekeeper keep the time inside; None: whoever keeps it now."""
    if keeper is None:
        yield
        return
    _keeper.append(keeper)
    clock.use(keeper.now_ns, keeper.sleep)
    try:
        yield
    finally:
        _keeper.remove(keeper)
        clock.use(_keeper[-1].now_ns, _keeper[-1].sleep)


def sleep(seconds: float) -> None:
    """Wait so long."""
    _keeper[-1].sleep(seconds)


def flag() -> Flag:
    """A flag to wait for."""
    return _keeper[-1].flag()


def condition() -> Condition:
    """A condition to wait for."""
    return _keeper[-1].condition()


def thread(target: Callable[[], object], name: str) -> Thread:
    """Start something beside the caller; the program does not wait for its end."""
    return _keeper[-1].thread(target, name)


def at_once(actions: Sequence[Callable[[], T]], name: str) -> list[T]:
    """Do all of it at the same time and wait for all; what came of each, in order.

    Raises:
        Exception: what the first of those that failed has raised, after all have ended.
    """
    return _keeper[-1].at_once(actions, name)
