"""The interrupts of the person at the keyboard: the first asks to stop, the second to leave.

Does not stop anything: the phases of a run ask it whether to go on.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from chaos.core import waiting
from chaos.core.errors import RunInterrupted


class Interrupts:
    """Counts the interrupts of the user; the first asks to stop, the second to leave."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.asked = waiting.flag()
        self.insisted = waiting.flag()
        self._say = say

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        if self.asked.is_set():
            self.insisted.set()
        else:
            self._say("interrupted: stopping, healing, reading and judging what there is (again: heal and leave)")
            self.asked.set()

    @property
    def times(self) -> int:
        """How often somebody asked: 0, 1, or 2 for twice or more."""
        return int(self.asked.is_set()) + int(self.insisted.is_set())

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while inside."""
        old = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def check_asked(self) -> None:
        """Raise RunInterrupted after the first interrupt: for phases with nothing worth keeping yet."""
        if self.asked.is_set():
            raise RunInterrupted("interrupted before the load began; nothing to judge")

    def check_insisted(self) -> None:
        """Raise RunInterrupted after the second interrupt."""
        if self.insisted.is_set():
            raise RunInterrupted("left at the second interrupt; the history is kept")
