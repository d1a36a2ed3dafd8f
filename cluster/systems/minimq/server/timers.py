"""A core's named timers in an event loop: the shell's half of ``SetTimer`` and ``CancelTimer``."""

import asyncio
from collections.abc import Callable


class Timers:
    """Named timers over one handle of the loop each.

    Most timers are set anew long before they run out: then only the time is noted, and the handle, when it comes,
    waits for the rest.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_timer: Callable[[str], None]) -> None:
        self._loop = loop
        self._on_timer = on_timer
        self._due_s: dict[str, float] = {}
        self._handles: dict[str, asyncio.TimerHandle] = {}

    def set(self, name: str, delay_ms: int) -> None:
        """Let the timer run out after ``delay_ms``, whatever was set before."""
        due_s = self._loop.time() + delay_ms / 1000
        self._due_s[name] = due_s
        handle = self._handles.get(name)
        if handle is not None and handle.when() > due_s:
            handle.cancel()
            handle = None
        if handle is None:
            self._handles[name] = self._loop.call_at(due_s, self._run_out, name)

    def cancel(self, name: str) -> None:
        """Let it never run out."""
        self._due_s.pop(name, None)

    def _run_out(self, name: str) -> None:
        del self._handles[name]
        due_s = self._due_s.get(name)
        if due_s is None:
            return
        if self._loop.time() < due_s:
            self._handles[name] = self._loop.call_at(due_s, self._run_out, name)
            return
        del self._due_s[name]
        self._on_timer(name)
