"""What is known of a run that goes, and the line that each piece of news is worth. Pure.

Times are those of the load: 0 is when its first operation is due, as on the page.
"""

from collections import deque
from typing import Final

from chaos.core.clock import NS_PER_S
from chaos.core.events import Event, Fault, Phase
from chaos.core.refusals import REFUSED
from chaos.run.watching import Beat, Opening
from cluster.leaders import Lead

BEAT_EVERY_S: Final = 30.0
CHANGES: Final = 4
"""More changes of leaders at once than this are counted, not named."""
RECENT: Final = 6
RATES: Final = 40
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
            lines.append(self.status_line())
        return lines

    def status_line(self) -> str:
        """One line: the phase, counts, rate, the age of the last acknowledgement, who leads."""
        beat = self.beat
        assert beat is not None
        rate = sum(self.rates) / len(self.rates) if self.rates else 0.0
        return (
            f"{self.phase or 'load':<8} {counts(self.changes(), beat)}  {rate:.0f}/s  "
            f"slowest ack {beat.totals.worst_ack_s * 1000:.0f} ms  last {age_s(beat):.1f} s ago  "
            f"lag {beat.totals.worst_lag_s * 1000:.0f} ms  {leader_words(beat)}"
        ).rstrip()

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
    """``sends ok 120 fail 3 unknown 1``: what became of the operations that change something.

    ``refused by design`` stands between them where a node refused what it must not serve.
    """
    seen = beat.totals.changes
    refused = f" refused by design {seen[REFUSED]}" if seen.get(REFUSED) else ""
    return f"{name} ok {seen.get('ok', 0)} fail {seen.get('fail', 0)}{refused} unknown {seen.get('info', 0)}"


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
    return f"leader {leads[0].leader}{_epoch(leads[0])}" if leads[0].leader else "nobody leads"


def _epoch(lead: Lead, word: str = " epoch ") -> str:
    """`` epoch 3``; nothing where the system has no epochs or nobody has said it yet."""
    return "" if lead.epoch is None else f"{word}{lead.epoch}"


def was_words(was: str | None) -> str:
    """``, was b3``; nothing where nobody is known to have led before."""
    return f", was {was}" if was else ""


def _mark(led: list[Lead]) -> str:
    """What a node leads, behind its name."""
    of_replicas = [lead for lead in led if lead.kind == "replica"]
    if len(of_replicas) > 1:
        return f" LEADS {len(of_replicas)}"
    if of_replicas:
        return f" LEADER{_epoch(of_replicas[0], ' ')}"
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
            lines.append(f"leader   {new.leader} of {name}{_epoch(new)}{was_words(was)}")
        elif was is not None and was != new.leader:
            lines.append(f"active   {new.kind} {new.leader}{_epoch(new, ' term ')}{was_words(was)}")
    return lines if len(lines) <= CHANGES else [f"leader   of {len(lines)} subjects changed"]
