"""What a run shows while it goes: a picture on a terminal, lines elsewhere, or JSON for programs.

Everything goes through a bounded queue to one thread, so that a terminal that stands still or goes away holds nobody
up: what does not fit is left out, what cannot be written ends the showing and not the run. Does not influence the run.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any, Final, Literal

from chaos.cli.live import json_lines
from chaos.cli.live.news import Board
from chaos.cli.live.picture import Picture
from chaos.core.clock import NS_PER_S, is_simulated, now_ns
from chaos.core.events import Event
from chaos.run.watching import Beat, Opening

QUEUE_MAX: Final = 1000
_CLOSE_TIMEOUT_S: Final = 5.0
_REFRESH_PER_S: Final = 4

Form = Literal["rich", "plain", "json"]


class Clock:
    """The clock of the console: that of the load from its beginning on, seconds of setting up before."""

    def __init__(self, now: Callable[[], int] = now_ns) -> None:
        self._now = now
        self._began_ns = self._last_ns = now()
        self._shift_ns = 0
        self._simulated = False
        self.origin_ns: int | None = None

    def now_ns(self) -> int:
        """The instant. A simulation begins with the display; afterwards the time goes on from where it has ended."""
        at_ns = self._now()
        if is_simulated() != self._simulated:
            self._simulated = not self._simulated
            if self._simulated:
                self._began_ns = at_ns
            else:
                self._shift_ns = self._last_ns - at_ns
        self._last_ns = at_ns + (0 if self._simulated else self._shift_ns)
        return self._last_ns

    def load_s(self, at_ns: int) -> float | None:
        """Seconds of the load; None before it begins. What is told just before is told at 0."""
        return None if self.origin_ns is None else max(0.0, (at_ns - self.origin_ns) / NS_PER_S)

    def elapsed_s(self, at_ns: int) -> float:
        """Seconds since the command began."""
        return (at_ns - self._began_ns) / NS_PER_S

    def stamp(self, at_ns: int) -> str:
        """What stands before a line: ``[setup   3.1]``, then ``[       10.0]``."""
        load_s = self.load_s(at_ns)
        return f"[setup {self.elapsed_s(at_ns):5.1f}]" if load_s is None else f"[{load_s:11.1f}]"


class Display:
    """Shows a run on a stream.

    Args:
        stream: where it is shown.
        form: ``rich`` draws a picture below the lines, ``plain`` writes lines, ``json`` one object a line.
        clock: tells the time.
    """

    def __init__(self, stream: IO[str], form: Form, clock: Clock | None = None) -> None:
        self._stream = stream
        self.form = form
        self._clock = clock if clock is not None else Clock()
        self._queue: SimpleQueue[tuple[str, int, Any]] = SimpleQueue()
        self._board = Board()
        self._failed = False
        self._left_out = 0
        self._thread = threading.Thread(target=self._run, name="display", daemon=True)
        self._thread.start()

    def _put(self, kind: str, at_ns: int, what: Any) -> None:
        # A signal handler may come here while the same thread is inside: only this kind of queue allows that.
        if self._queue.qsize() < QUEUE_MAX:
            self._queue.put((kind, at_ns, what))
        else:
            self._left_out += 1

    def say(self, text: str) -> None:
        """See ``Watcher``."""
        self._put("line", self._clock.now_ns(), text)

    def opening(self, opening: Opening) -> None:
        """See ``Watcher``."""
        self._put("opening", opening.origin_ns, opening)

    def event(self, event: Event) -> None:
        """See ``Watcher``."""
        self._put("event", event.time_ns, event)

    def beat(self, beat: Beat) -> None:
        """See ``Watcher``."""
        self._put("beat", beat.now_ns, beat)

    def close(self) -> None:
        """Show what is waiting and end; a terminal that stands still is left after some seconds."""
        self._queue.put(("end", self._clock.now_ns(), None))
        self._thread.join(_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        try:
            picture = Picture(self._stream) if self.form == "rich" else None
        except Exception:  # noqa: BLE001 - a terminal that cannot be drawn on still takes lines
            picture = None
        while True:
            try:
                kind, at_ns, what = self._queue.get(timeout=1 / _REFRESH_PER_S)
            except Empty:
                kind, at_ns, what = "", 0, None
            self._show(self._lines(kind, at_ns, what), picture)
            if kind == "end":
                break
        if picture is not None:
            with suppress(Exception):
                picture.close()

    def _lines(self, kind: str, at_ns: int, what: Any) -> list[str]:
        """What a piece is worth as lines."""
        if kind == "opening":
            self._board.opening, self._clock.origin_ns = what, what.origin_ns
        lines = [what] if kind == "line" else []
        if kind == "event":
            lines = self._board.take_event(what)
        elif kind == "beat":
            lines = self._board.take_beat(what)
        if self.form == "json":
            one = json_lines.object_of(kind, what, self._board)
            times = {"t": self._clock.load_s(at_ns), "elapsed": self._clock.elapsed_s(at_ns)}
            return [] if one is None else [json_lines.line_of(one, times)]
        return [f"{self._clock.stamp(at_ns)} {line}" for line in lines]

    def _show(self, lines: list[str], picture: Picture | None) -> None:
        """Write lines and draw; the first failure ends the showing."""
        if self._failed:
            return
        left, self._left_out = self._left_out, 0
        if left:
            lines = [*lines, self._left_out_line(left)]
        self._board.recent.extend(lines)
        try:
            if picture is not None:
                picture.show(lines, self._board)
                return
            for line in lines:
                self._stream.write(line + "\n")
            self._stream.flush()
        except Exception:  # noqa: BLE001 - closed, full, gone: the run goes on without its terminal
            self._failed = True

    def _left_out_line(self, number: int) -> str:
        if self.form == "json":
            return json_lines.line_of({"type": "left-out", "number": number}, {})
        return f"({number} left out: the terminal did not take them)"


def choose_display(live: str) -> Display:
    """The display that ``--live`` asks for: auto is the picture on a terminal that can move its cursor."""
    if live == "auto":
        terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        return Display(sys.stdout, "rich" if terminal else "plain")
    forms: dict[str, Form] = {"rich": "rich", "json": "json"}
    return Display(sys.stdout, forms.get(live, "plain"))
