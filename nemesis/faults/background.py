"""What a fault does on and on until its end, in a thread of its own that never outlives the healing."""

from collections.abc import Callable
from typing import Final

from chaos.core import waiting
from chaos.core.errors import ChaosError
from nemesis.faults.fault import one_line

_SLICE_S: Final = 0.02


class Background:
    """One piece of work that goes on beside the clock. ``failed``: why it ended early, empty if it did not."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._halt = waiting.flag()
        self._over = waiting.flag()
        self._over.set()
        self.failed = ""

    def start(self, work: Callable[[], None]) -> None:
        """Begin; ``work`` asks ``halted`` or ``sleep`` often, and returns soon after they say so."""

        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - kept: a fault that ended early is not proven
                self.failed = one_line(error)
            finally:
                self._over.set()

        self._over.clear()
        waiting.thread(run, self._name)

    @property
    def halted(self) -> bool:
        """Whether the work is to end."""
        return self._halt.is_set()

    def sleep(self, seconds: float) -> bool:
        """Wait so long; whether the work is to end."""
        return self._halt.wait(seconds)

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Wait, from another thread, until something is so or the work ended; whether it is so."""
        left = round(limit_s / _SLICE_S)
        while not condition() and left > 0 and not self._over.wait(_SLICE_S):
            left -= 1
        return condition()

    def end(self, limit_s: float) -> None:
        """Have the work end and wait for that; may be called again.

        Raises:
            ChaosError: it goes on.
        """
        self._halt.set()
        if not self._over.wait(limit_s):
            raise ChaosError(f"{self._name} does not end within {limit_s:g} s")
