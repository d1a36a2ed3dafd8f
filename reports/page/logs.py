"""Lines of nodes' logs on the run's clock: which are shown, where they are, what is said of their clocks. Pure."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import fmean
from typing import Final, NamedTuple

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.events import CLOCK_SKEW, Event, Note
from chaos.storage.runinfo import RunInfo
from reports import words
from reports.node_logs import MAX_BYTES, LogFile, LogLine

LINES: Final = 480
"""Lines shown at most, of all nodes together."""
ALIKE: Final = 4
"""Lines of a node that differ in numbers alone, at most."""
CONTEXT: Final = 20
"""Lines of all nodes that are shown before and behind an anomaly and a fault, every one of them."""
WHOLE: Final = 6000
"""Lines shown at most for that."""
BESIDE_S: Final = 30.0
"""Lines are shown from so long before the load."""
CALM: Final = 4.0
"""A line that is no warning is shown as if it were so many times as far from what happened."""

SAME_CLOCK: Final = ("netns", "docker", "sim")
"""Backends whose hosts run on the kernel of the control host, and so on its clocks, or in its simulated time."""

_NOTABLE: Final = re.compile(r"\b(warn|warning|error|fatal|panic|severe|exception)\b|\[(WRN|ERR|FTL)\]", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+")


class LogRow(msgspec.Struct, frozen=True, array_like=True):
    """A line that is shown: seconds since the load began, the place of its node, and what it says."""

    at: float
    node: int
    text: str


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that are shown, in order of time, how many there are, and what holds of their times."""

    rows: tuple[LogRow, ...] = ()
    of: int = 0
    said: tuple[str, ...] = ()


class _Clock(NamedTuple):
    """What a node's clocks are to the run's: ``wall_s`` and ``monotonic_s`` are taken off; None: not comparable."""

    wall_s: float | None
    monotonic_s: float | None


def utc_origin_s(run: RunInfo) -> float | None:
    """When the load began, in seconds since 1970; None if the run does not say."""
    try:
        return datetime.fromisoformat(run.origin_utc).timestamp()
    except ValueError:
        return None


def logs_of(
    files: Sequence[LogFile],
    run: RunInfo,
    events: Iterable[Event],
    moments: Iterable[float],
    window: tuple[float, float],
    whole: Sequence[float] = (),
) -> Logs:
    """The lines nearest to what happened, few of each kind, and all lines right before and behind some moments.

    Args:
        files: what nodes logged.
        run: for the clock.
        events: for comparisons of clocks.
        moments: when something happened: faults, changes of leader, anomalies; seconds since the load began.
        window: the first and the last second that are shown.
        whole: the moments of which all neighbouring lines are shown, the most important first.
    """
    skews = skews_of(events)
    near = sorted(moments)
    clocks = {file.node: _clock(run, skews.get(file.node)) for file in files}
    places = {node.name: place for place, node in enumerate(run.nodes)}
    placed = (
        LogRow(at, places[file.node], line.text)
        for file in files
        if file.node in places
        for line in file.lines
        if (at := _at(line, clocks[file.node])) is not None
    )
    every = sorted((row for row in placed if window[0] <= row.at <= window[1]), key=lambda row: (row.at, row.node))
    shown = _lines_beside(every, whole)
    for place in places.values():
        shown.update(_nearest_lines(every, place, near, LINES // len(places)))
    total = sum(len(file.lines) + file.unstamped for file in files)
    said = (*_clock_words(run, list(clocks), skews), *_files_left_out(files)) if total else ()
    return Logs(rows=tuple(every[number] for number in sorted(shown)), of=total, said=said)


def skews_of(events: Iterable[Event]) -> dict[str, list[tuple[int, int]]]:
    """Node → each comparison of its wall clock with the control host's: ns ahead, error in ns."""
    out: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        if isinstance(event, Note) and event.name == CLOCK_SKEW and event.node is not None:
            out.setdefault(event.node, []).append((int(event.data["ahead_ns"]), int(event.data["error_ns"])))
    return out


def _clock(run: RunInfo, skew: Sequence[tuple[int, int]] | None) -> _Clock:
    origin_s = utc_origin_s(run)
    if run.backend in SAME_CLOCK:
        return _Clock(origin_s, run.origin_ns / NS_PER_S)
    ahead_s = fmean(ahead for ahead, _ in skew) / NS_PER_S if skew else 0.0
    return _Clock(None if origin_s is None else origin_s + ahead_s, None)


def _at(line: LogLine, clock: _Clock) -> float | None:
    origin_s = clock.wall_s if line.clock == "wall" else clock.monotonic_s
    return None if origin_s is None else round(line.time_s - origin_s, 3)


def is_notable(text: str) -> bool:
    """Whether a line is a warning, an error or worse."""
    return _NOTABLE.search(text) is not None


def kind_of_line(text: str) -> str:
    """The line without its numbers: of what differs in numbers alone a few are enough."""
    return _NUMBER.sub("#", text)


def _nearest_lines(lines: Sequence[LogRow], node: int, near: Sequence[float], room: int) -> list[int]:
    """The numbers of the lines of a node that are nearest to what happened, few of each kind."""
    scored = sorted(
        (_distance(row.at, near) * (1.0 if is_notable(row.text) else CALM), row.at, row.text, number)
        for number, row in enumerate(lines)
        if row.node == node
    )
    seen: Counter[str] = Counter()
    kept: list[int] = []
    for _, _, text, number in scored:
        kind = kind_of_line(text)
        seen[kind] += 1
        if seen[kind] <= ALIKE and len(kept) < room:
            kept.append(number)
    return kept


def _lines_beside(lines: Sequence[LogRow], moments: Iterable[float]) -> set[int]:
    """The numbers of all lines right before and behind each moment, up to a bound."""
    kept: set[int] = set()
    for moment in moments:
        at = bisect_left(lines, moment, key=lambda row: row.at)
        kept.update(range(max(0, at - CONTEXT), min(len(lines), at + CONTEXT)))
        if len(kept) >= WHOLE:
            break
    return kept


def _distance(at: float, near: Sequence[float]) -> float:
    """How far a time is from the nearest moment."""
    place = bisect_left(near, at)
    return min((abs(at - moment) for moment in near[max(0, place - 1) : place + 1]), default=abs(at))


def _clock_words(run: RunInfo, nodes: Sequence[str], skews: dict[str, list[tuple[int, int]]]) -> list[str]:
    if run.backend in SAME_CLOCK:
        return ["Their hosts run on the clock of the run."]
    known = [node for node in nodes if node in skews]
    out = []
    for node in known:
        ahead_ms, error_ms = (fmean(one[part] for one in skews[node]) / 1e6 for part in (0, 1))
        how = "ahead" if ahead_ms >= 0 else "behind"
        out.append(f"The clock of {node} was {abs(ahead_ms):.1f} ms ± {error_ms:.1f} ms {how}, which is taken off.")
    raw = [node for node in nodes if node not in skews]
    if raw:
        out.append(f"Nobody compared the clock of {join_names(raw)} with the run's: times are as they were logged.")
    return out


def _files_left_out(files: Sequence[LogFile]) -> list[str]:
    bare = sum(file.unstamped for file in files)
    out = [f"{words.plural(bare, 'line')} without a time are in the files alone."] if bare else []
    return out + [
        f"Only the first {words.file_size(MAX_BYTES)} of {file.path} were looked at." for file in files if file.cut
    ]
