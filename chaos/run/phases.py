"""The phases of a run: a line for people as each begins, its edges in the history, and how long it took."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import EventLog

REMIND_EVERY_S: Final = 30.0
"""A phase of which nothing else is heard gets a line this often."""


class Phases:
    """The phases so far. ``timings_s``: name → seconds.

    Args:
        events: where their edges are written.
        say: gets a line for people.
    """

    def __init__(self, events: EventLog, say: Callable[[str], None]) -> None:
        self.timings_s: dict[str, float] = {}
        self._events = events
        self._say = say
        self._name = ""
        self._began_ns = self._told_ns = now_ns()

    @contextmanager
    def phase(self, name: str, text: str = "") -> Iterator[None]:
        """A phase; ``text`` is said as it begins, if there is any."""
        with self.outside_history(name, text):
            self._events.phase(name, "start")
            try:
                yield
            except BaseException as error:
                self._events.phase(name, "end", ok=False, note=str(error) or type(error).__name__)
                raise
        self._events.phase(name, "end")

    @contextmanager
    def outside_history(self, name: str, text: str) -> Iterator[None]:
        """A phase that is no part of the history, which is closed by then."""
        began_ns = now_ns()
        self._name, self._began_ns, self._told_ns = name, began_ns, began_ns
        if text:
            self._say(f"{name:<8} {text}")
        try:
            yield
        finally:
            self.timings_s[name] = round((now_ns() - began_ns) / NS_PER_S, 3)

    def heard(self, what: str, done: int, of: int) -> None:
        """A listener for ``chaos.basics.progress``: what the phase does, and how far it is."""
        self.remind(f"{done} of {of} {what}" if of else what)

    def remind(self, text: str = "") -> None:
        """Say that the phase goes on, every half minute; to be called often."""
        at_ns = now_ns()
        if at_ns - self._told_ns >= REMIND_EVERY_S * NS_PER_S:
            self._told_ns = at_ns
            so_far = f"{(at_ns - self._began_ns) / NS_PER_S:.0f} s so far"
            self._say(f"{self._name:<8} {', '.join(filter(None, (text, so_far)))}")
