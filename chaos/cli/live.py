"""The terminal of a run: a live picture where there is a terminal, lines elsewhere.

Everything goes through a bounded queue to one thread, so that a terminal that stands still or goes away holds nobody
up: what does not fit is left out, what cannot be written ends the showing and not the run. ``Board`` is what is known
and pure; ``Display`` is the thread. The module refuses to influence the run.
"""

import sys
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any, Final

from chaos.core.clock import NS_PER_S
from chaos.core.events import Event, Fault, Phase
from chaos.run.watching import Beat, Opening
from cluster.leaders import Lead

QUEUE_MAX: Final = 1000
BEAT_EVERY_S: Final = 30.0
CHANGES: Final = 4
"""More changes of leaders at once than this are counted, not named."""
RECENT: Final = 6
RATES: Final = 40
_CLOSE_TIMEOUT_S: Final = 5.0
_REFRESH_PER_S: Final = 4
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"


class Board:
    """What a run has told so far, and the lines that each piece is worth where there is no picture."""

    def __init__(self) -> None:
        self.opening: Opening | None = None
        self.beat: Beat | None = None
        self.phase = ""
        self.faults: dict[int, Fault] = {}
        self.recent: deque[str] = deque(maxlen=RECENT)
        self.rates: deque[float] = deque(maxlen=RATES)
        self.worst_ack_s = 0.0
        self._line_ns: int | None = None

    def take_event(self, event: Event) -> list[str]:
        """A phase or a stage of a fault; lines for what a person would want to know at once."""
        if isinstance(event, Phase):
            self.phase = event.name if event.edge == "start" else ""
            return []
        if not isinstance(event, Fault):
            return []
        if event.stage in ("inject", "active", "heal"):
            self.faults[event.id] = event
        else:
            self.faults.pop(event.id, None)
        seen = event.evidence
        if event.stage in ("inject", "heal"):
            return []
        word = {"active": "in force", "healed": "healed", "skipped": "skipped", "broke": "BROKE"}[event.stage]
        if seen is not None and not seen.proven:
            word = f"{word}, NOT PROVEN"
        about = "; ".join(filter(None, (event.description, event.note, seen.summary if seen is not None else "")))
        return [f"fault {event.id}  {event.name}: {word}: {about}"]

    def take_beat(self, beat: Beat) -> list[str]:
        """How it stands; a line where leaders changed, and one every half minute."""
        lines = []
        before = self.beat
        if before is not None:
            lines += _changes(before, beat)
            spent_s = (beat.now_ns - before.now_ns) / NS_PER_S
            if spent_s > 0:
                self.rates.append((beat.totals.changes.get("ok", 0) - before.totals.changes.get("ok", 0)) / spent_s)
        self.beat = beat
        self.worst_ack_s = beat.totals.worst_ack_s
        if self._line_ns is None:
            self._line_ns = beat.now_ns
        if beat.now_ns - self._line_ns >= BEAT_EVERY_S * NS_PER_S:
            self._line_ns = beat.now_ns
            lines.append(self.standing())
        return lines

    def standing(self) -> str:
        """One line: seconds, counts, rate, the age of the last acknowledgement, who leads."""
        beat = self.beat
        assert beat is not None
        origin_ns = self.opening.origin_ns if self.opening is not None else beat.now_ns
        rate = sum(self.rates) / len(self.rates) if self.rates else 0.0
        return (
            f"{(beat.now_ns - origin_ns) / NS_PER_S:6.0f} s  {counts(self.changes(), beat)}  {rate:.0f}/s  "
            f"slowest ack {beat.totals.worst_ack_s * 1000:.0f} ms  last {age_s(beat):.1f} s ago  "
            f"lag {beat.totals.worst_lag_s * 1000:.0f} ms  {leader_words(beat)}"
        )

    def changes(self) -> str:
        """What operations are called that change something."""
        return self.opening.changes if self.opening is not None else "changes"

    def clock(self) -> str:
        """Seconds of the load out of all."""
        if self.opening is None or self.beat is None:
            return ""
        return f"{(self.beat.now_ns - self.opening.origin_ns) / NS_PER_S:.0f} / {self.opening.time_limit_s:g} s"

    def in_force(self) -> list[str]:
        """Each fault in force with the seconds that are left of it, else when the next one comes."""
        if self.opening is None or self.beat is None:
            return []
        at_s = (self.beat.now_ns - self.opening.origin_ns) / NS_PER_S
        rows = {row.row: row for row in self.opening.plan}
        out = []
        for number, fault in self.faults.items():
            row = rows.get(number)
            left = f"{max(0.0, row.at_s + row.duration_s - at_s):.0f} s left" if row is not None else ""
            out.append(f"fault {number} {fault.name}: {fault.description}  {left}".rstrip())
        coming = [row for row in self.opening.plan if row.at_s > at_s]
        if not out and coming:
            out.append(f"next: {coming[0].name} in {coming[0].at_s - at_s:.0f} s")
        return out

    def roles(self) -> str:
        """Every node, the leaders and the silent marked."""
        if self.opening is None:
            return ""
        beat = self.beat
        leads, silent = (beat.leads, beat.silent) if beat is not None else ({}, ())
        led: dict[str, list[Lead]] = {}
        for lead in leads.values():
            led.setdefault(lead.leader or "", []).append(lead)
        words = []
        for name in self.opening.nodes:
            mark = _mark(led.get(name, []))
            words.append(f"{name}{mark}{' silent' if name in silent else ''}")
        return "   ".join(words)


def counts(name: str, beat: Beat) -> str:
    """``sends ok 120 fail 3 unknown 1``: what became of the operations that change something."""
    seen = beat.totals.changes
    return f"{name} ok {seen.get('ok', 0)} fail {seen.get('fail', 0)} unknown {seen.get('info', 0)}"


def age_s(beat: Beat) -> float:
    """Seconds since the last acknowledged change; since the run's clock began if there was none."""
    return max(0.0, (beat.now_ns - beat.totals.last_ack_ns) / NS_PER_S) if beat.totals.last_ack_ns else float("inf")


def sparkline(values: deque[float]) -> str:
    """A line of blocks, the highest value as the full block."""
    top = max(values, default=0.0)
    return "".join(_BLOCKS[round(value / top * (len(_BLOCKS) - 1))] if top > 0 else " " for value in values)


def leader_words(beat: Beat) -> str:
    """``leader b1 epoch 3``; of several subjects how many have a leader, none where nobody leads."""
    leads = [lead for lead in beat.leads.values() if lead.kind == "replica"]
    if len(leads) != 1:
        return f"{sum(lead.leader is not None for lead in leads)} of {len(leads)} led" if leads else ""
    return f"leader {leads[0].leader or '?'} epoch {_epoch(leads[0])}"


def _epoch(lead: Lead) -> str:
    return "?" if lead.epoch is None else str(lead.epoch)


def _mark(led: list[Lead]) -> str:
    """What a node leads, behind its name."""
    of_replicas = [lead for lead in led if lead.kind == "replica"]
    if len(of_replicas) > 1:
        return f" LEADS {len(of_replicas)}"
    if of_replicas:
        return f" LEADER {_epoch(of_replicas[0])}"
    return " ACTIVE" if led else ""


def _changes(before: Beat, now: Beat) -> list[str]:
    """A line for each subject that has another leader, of many changes their number."""
    lines = []
    for name, new in now.leads.items():
        old = before.leads.get(name)
        was = old.leader if old is not None else None
        # An epoch that is not known, or was not, is no other epoch.
        same = old is not None and was == new.leader and (new.epoch == old.epoch or None in (new.epoch, old.epoch))
        if new.leader is None or same:
            continue
        if new.kind == "replica":
            lines.append(f"leader   {new.leader} of {name} epoch {_epoch(new)}, was {was or 'unknown'}")
        elif was is not None and was != new.leader:
            lines.append(f"active   {new.kind} {new.leader} term {_epoch(new)}, was {was}")
    return lines if len(lines) <= CHANGES else [f"leader   of {len(lines)} subjects changed"]


class Display:
    """Shows a run on a stream. ``rich``: as a picture that is drawn again and again below the lines."""

    def __init__(self, stream: IO[str], *, rich: bool) -> None:
        self._stream = stream
        self._rich = rich
        self._began = time.monotonic()
        self._queue: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._board = Board()
        self._failed = False
        self._left_out = 0
        self._thread = threading.Thread(target=self._run, name="display", daemon=True)
        self._thread.start()

    def _put(self, kind: str, what: Any) -> None:
        # A signal handler may come here while the same thread is inside: only this kind of queue allows that.
        if self._queue.qsize() < QUEUE_MAX:
            self._queue.put((kind, what))
        else:
            self._left_out += 1

    def say(self, text: str) -> None:
        """See ``Watcher``."""
        self._put("line", f"[{time.monotonic() - self._began:6.1f}] {text}")

    def opening(self, opening: Opening) -> None:
        """See ``Watcher``."""
        self._put("opening", opening)

    def event(self, event: Event) -> None:
        """See ``Watcher``."""
        self._put("event", event)

    def beat(self, beat: Beat) -> None:
        """See ``Watcher``."""
        self._put("beat", beat)

    def close(self) -> None:
        """Show what is waiting and end; a terminal that stands still is left after some seconds."""
        self._queue.put(("end", None))
        self._thread.join(_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        try:
            picture = _Picture(self._stream) if self._rich else None
        except Exception:  # noqa: BLE001 - a terminal that cannot be drawn on still takes lines
            picture = None
        while True:
            try:
                kind, what = self._queue.get(timeout=1 / _REFRESH_PER_S)
            except Empty:
                kind, what = "", None
            self._show(self._lines(kind, what), picture)
            if kind == "end":
                break
        if picture is not None:
            with suppress(Exception):
                picture.close()

    def _lines(self, kind: str, what: Any) -> list[str]:
        """What a piece is worth as lines."""
        if kind == "line":
            return [what]
        if kind == "opening":
            self._board.opening = what
        lines = []
        if kind == "event":
            lines = self._board.take_event(what)
        elif kind == "beat":
            lines = self._board.take_beat(what)
        return [f"[{time.monotonic() - self._began:6.1f}] {line}" for line in lines]

    def _show(self, lines: list[str], picture: "_Picture | None") -> None:
        """Write lines and draw; the first failure ends the showing."""
        if self._failed:
            return
        left, self._left_out = self._left_out, 0
        if left:
            lines = [*lines, f"({left} left out: the terminal did not take them)"]
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


class _Picture:
    """The picture below the lines, by rich."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.live import Live

        class Kept(Console):
            """Rich's own answer to a broken pipe is to end the process."""

            def on_broken_pipe(self) -> None:
                raise  # noqa: PLE0704 - called where the BrokenPipeError is handled

        console = Kept(file=stream, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()
        self._drawn = 0.0

    def show(self, lines: list[str], board: Board) -> None:
        for line in lines:
            self._live.console.print(line, soft_wrap=True)
        if board.opening is None or board.beat is None or time.monotonic() - self._drawn < 1 / _REFRESH_PER_S:
            return
        self._drawn = time.monotonic()
        self._live.update(picture(board), refresh=True)

    def close(self) -> None:
        self._live.stop()


def picture(board: Board) -> Any:
    """The live picture as something rich can draw. Pure."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    opening, beat = board.opening, board.beat
    assert opening is not None
    assert beat is not None
    faults = Text("\n".join(board.in_force()) or "no fault", style="bold red" if board.faults else "")
    rate = f"{board.rates[-1]:.0f}/s" if board.rates else "-"
    rows = [
        Text(board.roles()),
        faults,
        Text(f"{counts(board.changes(), beat)}   {rate:>7} {sparkline(board.rates)}"),
        Text(
            f"slowest ack {beat.totals.worst_ack_s * 1000:.0f} ms   last ack {age_s(beat):.1f} s ago   "
            f"in flight {beat.totals.in_flight}   lag {beat.totals.worst_lag_s * 1000:.0f} ms",
            style="yellow" if age_s(beat) > 1 else "",
        ),
    ]
    return Panel(Group(*rows), title=opening.title, subtitle=f"{board.phase} {board.clock()}", title_align="left")


def chosen(live: str) -> Display:
    """The display that ``--live`` asks for: auto is the picture on a terminal that can move its cursor."""
    import os

    terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Display(sys.stdout, rich=live == "rich" or (live == "auto" and terminal))
