"""What the panels draw: from events and series to intervals, lines and packed points on one time axis.

Pure. Times are seconds since the load began. Does not smooth: a node that was not asked is blank, a node that did not
answer says so, a step without an ok operation has no quantile.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.events import Claim, Event, Observation, Phase
from chaos.core.op import Type
from chaos.core.series import REFUSED, REFUSED_WORD, Series
from chaos.core.verdict import FaultResult
from chaos.storage.runinfo import RunInfo
from checkers.history.timeline import fault_spans
from reports.page.error_variants import labels_of
from reports.page.logs import utc_origin_s
from reports.page.replica_lag import lags
from reports.terms import Terms

SUBJECTS_NAMED: Final = 2
"""Of what a node leads so many subjects are named, of more only the number."""
SETS_SHOWN: Final = 8
NODES_SHOWN: Final = 12
OVER_TIME: Final = 5
"""Errors with a curve of their own; the others share one."""
OTHERS: Final = "other errors"
BLIND_PERIODS: Final = 3.5
"""A pause in a node's observations longer than this many periods is drawn blank."""
UNSHOWN_PHASES: Final = frozenset({"fetch", "deploy", "ready", "collect", "replicas"})
"""Phases of the harness before the load and behind the final phases. A workload names its final phases as it likes."""


class Interval(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of one state. Tones: lead, stale, follow, silent, whole, shrunk."""

    start: float
    end: float
    tone: str
    label: str


class Strip(msgspec.Struct, frozen=True, kw_only=True):
    """One row of states. ``role`` groups rows; ``node`` is empty for a row about the whole group."""

    name: str
    role: str
    node: str
    intervals: tuple[Interval, ...]


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """A fault on the time axis: from its injection to ``end`` (healing began), whole again at ``healed``."""

    id: int
    name: str
    colour: str
    start: float
    end: float
    healed: float
    targets: tuple[str, ...]
    proven: bool


class PhaseSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A phase that is drawn; ``ok`` false: it broke or never ended."""

    name: str
    start: float
    end: float
    ok: bool


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A node was first seen leading in an epoch that was the newest then."""

    time: float
    node: str
    words: str


class Charts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page's script draws, beside the packed points."""

    end: float
    utc_ms: float | None
    step: float
    faults: tuple[Band, ...]
    phases: tuple[PhaseSpan, ...]
    strips: tuple[Strip, ...]
    nodes: tuple[str, ...]
    ops: dict[int, str]
    outcomes: dict[int, str]
    operations: int
    quantiles: dict[str, list[float | None]]
    latencies: dict[str, dict[str, list[list[int]]]]
    bucket_ms: list[float]
    rate: dict[str, dict[str, list[int]]]
    lag: dict[str, list[tuple[float, int | None]]]
    unread: list[int]
    errors: dict[str, list[int]]
    by_node: dict[str, dict[str, list[int]]]


def faults_of_events(events: Iterable[Event]) -> tuple[FaultResult, ...]:
    """The fault table of a run that was never judged: what its events, in order of time, say of each fault."""
    return tuple(span.row() for span in fault_spans(events))


def fault_bands(faults: Sequence[FaultResult], origin_ns: int, end: float) -> tuple[Band, ...]:
    """Faults that began, in order; one that was never healed lasts to the end."""
    drawn = []
    for fault in faults:
        if fault.inject_ns is None:
            continue
        start = (fault.inject_ns - origin_ns) / NS_PER_S
        stop = end if fault.heal_ns is None else (fault.heal_ns - origin_ns) / NS_PER_S
        whole = (
            (end if fault.heal_ns is None else stop)
            if fault.healed_ns is None
            else (fault.healed_ns - origin_ns) / NS_PER_S
        )
        drawn.append(
            Band(
                id=fault.id,
                name=fault.name,
                colour=fault.colour,
                start=round(start, 3),
                end=round(stop, 3),
                healed=round(max(stop, whole), 3),
                targets=fault.targets,
                proven=fault.proven,
            )
        )
    return tuple(sorted(drawn, key=lambda band: band.start))


def phase_spans(events: Iterable[Event], origin_ns: int, end: float) -> tuple[PhaseSpan, ...]:
    """The phases from the load to the last final one; one that never ended lasts to the end and is not ok."""
    spans: list[PhaseSpan] = []
    begun: dict[str, float] = {}
    for event in events:
        if not isinstance(event, Phase) or event.name in UNSHOWN_PHASES:
            continue
        at = round((event.time_ns - origin_ns) / NS_PER_S, 3)
        if event.edge == "start":
            begun[event.name] = at
        elif event.name in begun:
            spans.append(PhaseSpan(name=event.name, start=begun.pop(event.name), end=at, ok=event.ok))
    spans += [PhaseSpan(name=name, start=start, end=end, ok=False) for name, start in begun.items()]
    return tuple(sorted(spans, key=lambda span: span.start))


class _Seen(msgspec.Struct, frozen=True):
    """One observation of a strip: from when on, and what."""

    time: float
    tone: str
    label: str


def _intervals_of(seen: Sequence[_Seen], end: float) -> tuple[Interval, ...]:
    """Observations as intervals: equal neighbours merge, a long pause stays blank."""
    if not seen:
        return ()
    times = np.array([each.time for each in seen])
    period = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    out: list[Interval] = []
    for i, each in enumerate(seen):
        following = float(times[i + 1]) if i + 1 < len(seen) else each.time + period
        stop = following if following - each.time <= BLIND_PERIODS * period else each.time + period
        start, stop = round(max(0.0, each.time), 3), round(min(end, stop), 3)
        if stop <= start:
            continue
        last = out[-1] if out else None
        if last and (last.tone, last.label, last.end) == (each.tone, each.label, start):
            out[-1] = Interval(last.start, stop, last.tone, last.label)
        else:
            out.append(Interval(start, stop, each.tone, each.label))
    return tuple(out)


def _epoch(claim: Claim) -> int:
    """The epoch of a claim; -1 where it has none: 0 is nobody's, as of a leader whose epoch nobody has named yet."""
    return claim.epoch or -1


class _Leading:
    """What nodes claim to lead, in words, as observations come in order of time."""

    def __init__(self, run: RunInfo) -> None:
        self._run = run
        self._newest: dict[str, int] = {}
        self._alike = Counter[str](subject.kind for subject in run.subjects)
        self.changes: list[Change] = []

    def seen(self, event: Observation, time: float) -> _Seen:
        """The state of a node that answered; notes who leads in an epoch later than any before."""
        led = event.led()
        if not led:
            return _Seen(time, "follow", event.role or "up")
        later = [claim for claim in led if _epoch(claim) > self._newest.get(claim.subject, -1)]
        stale = all(0 <= _epoch(claim) < self._newest.get(claim.subject, -1) for claim in led)
        self._newest |= {claim.subject: _epoch(claim) for claim in later}
        if later:
            said = f"{event.node} is {self._words(event, later)}"
            self.changes.append(Change(time=round(time, 3), node=event.node, words=said))
        return _Seen(time, "stale" if stale else "lead", self._words(event, led))

    def _words(self, event: Observation, led: Sequence[Claim]) -> str:
        """``master, epoch 3``; ``master of brokers-2, epoch 3`` where there are several such subjects."""
        role = event.role or "leader"
        if len(led) > SUBJECTS_NAMED:
            return f"{role} of {len(led)} subjects"
        return "; ".join(self._word(role, claim) for claim in led)

    def _word(self, role: str, claim: Claim) -> str:
        kind = self._run.kind_of(claim.subject)
        of = f" of {claim.subject}" if self._alike[kind] > 1 else ""
        word = self._run.epoch_word(claim.subject)
        epoch = "" if claim.epoch is None else f", {word} {claim.epoch}" if claim.epoch else f", {word} not known yet"
        return f"{role}{of}{epoch}"


def strips_and_changes(
    events: Iterable[Event], run: RunInfo, origin_ns: int, end: float
) -> tuple[tuple[Strip, ...], tuple[Change, ...]]:
    """Who was what when, per node, a row for each in-sync set, and every change of leader.

    A node that claims to lead in an epoch older than the newest one claimed of its subject is ``stale``.
    """
    seen: dict[str, list[_Seen]] = {}
    leading = _Leading(run)
    observed = sorted((e for e in events if isinstance(e, Observation)), key=lambda e: e.time_ns)
    for event in observed:
        time = ((event.time_ns if event.alive else event.asked_ns) - origin_ns) / NS_PER_S
        rows = seen.setdefault(event.node, [])
        time = max(time, rows[-1].time) if rows else time
        rows.append(leading.seen(event, time) if event.alive else _Seen(time, "silent", "no answer"))
    strips = [
        Strip(name=node.name, role=node.role, node=node.name, intervals=_intervals_of(seen.get(node.name, ()), end))
        for node in run.nodes
    ]
    strips += [
        Strip(name="in sync", role=subject, node="", intervals=_intervals_of(rows, end))
        for subject, rows in sorted(_in_sync(observed, run, origin_ns).items())
    ]
    return (tuple(strips) if observed else ()), tuple(leading.changes)


def asked_every_s(events: Iterable[Event]) -> float | None:
    """How often a node was asked what it is, the middle of all pauses between two answers; None without any."""
    heard: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, Observation) and event.alive:
            heard.setdefault(event.node, []).append(event.time_ns)
    pauses = [pause for times in heard.values() for pause in np.diff(np.sort(times)).tolist()]
    return float(np.median(pauses)) / NS_PER_S if pauses else None


def _in_sync(observed: Sequence[Observation], run: RunInfo, origin_ns: int) -> dict[str, list[_Seen]]:
    """Subject → its in-sync set over time, as leading controllers told it, else as leaders did.

    Of many subjects those that lacked a member, the first ones by name.
    """
    by_controllers: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    by_leaders: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for event in observed:
        controls = any(run.kind_of(claim.subject) == "controller" for claim in event.led())
        for claim in event.claims or ():
            if claim.members is not None:
                told = by_controllers if controls else by_leaders
                at = (event.time_ns - origin_ns) / NS_PER_S
                told.setdefault(claim.subject, []).append((at, tuple(sorted(claim.members))))
    rows = {}
    for subject, sets in sorted((by_leaders | by_controllers).items()):
        full = max(len(members) for _, members in sets)
        rows[subject] = [
            _Seen(at, "whole" if len(members) == full else "shrunk", " ".join(members) or "nobody")
            for at, members in sets
        ]
    if len(rows) <= SETS_SHOWN:
        return rows
    shrunk = [subject for subject, own in rows.items() if any(one.tone == "shrunk" for one in own)]
    return {subject: rows[subject] for subject in shrunk[:SETS_SHOWN]}


def last_moment(events: Iterable[Event], series: Series | None, origin_ns: int) -> float:
    """Where the time axis ends: the last thing that is drawn, at least one second."""
    times = [
        (event.time_ns - origin_ns) / NS_PER_S
        for event in events
        if not isinstance(event, Phase) or event.name not in UNSHOWN_PHASES
    ]
    return round(max([1.0, series.duration_s if series else 0.0, *times]), 3)


def errors_over_time(series: Series) -> dict[str, list[int]]:
    """Error → how often per step, the most frequent first and all that are rarer together."""
    labels, errors = labels_of(series.errors), dict[str, list[int]]()
    for text, steps in series.errors.items():
        before = errors.get(labels[text], [0] * len(steps))
        errors[labels[text]] = [one + other for one, other in zip(steps, before, strict=True)]
    ordered = sorted(errors, key=lambda text: (text == OTHERS, -sum(errors[text]), text))
    out = {text: errors[text] for text in ordered[:OVER_TIME]}
    if rest := [errors[text] for text in ordered[OVER_TIME:]]:
        out[OTHERS] = [sum(column) for column in zip(*rest, *([out[OTHERS]] if OTHERS in out else []), strict=True)]
    return out


def _nodes_by_answers(series: Series) -> list[str]:
    """The nodes that are drawn, those with the most answers, by name."""
    answers = {name: sum(map(sum, by_type.values())) for name, by_type in series.nodes.items()}
    return sorted(sorted(answers, key=lambda name: (-answers[name], name))[:NODES_SHOWN])


def charts(
    run: RunInfo,
    terms: Terms,
    series: Series | None,
    faults: Sequence[FaultResult],
    events: Sequence[Event],
    origin_ns: int,
) -> tuple[Charts, tuple[Change, ...]]:
    """All panels' data, and the changes of leader, which the anomalies' traces show too."""
    end = last_moment(events, series, origin_ns)
    strips, changes = strips_and_changes(events, run, origin_ns, end)
    unread = [a - r for a, r in zip(series.acked, series.read, strict=False)] if series and terms.is_log else []
    quantiles: Mapping[str, list[float | None]] = series.quantiles if series else {}
    drawn = Charts(
        end=end,
        utc_ms=None if (utc_s := utc_origin_s(run)) is None else round(utc_s * 1000, 3),
        step=series.step_s if series else 1.0,
        faults=fault_bands(faults, origin_ns, end),
        phases=phase_spans(events, origin_ns, end),
        strips=strips,
        nodes=tuple(node.name for node in run.nodes),
        ops=dict(terms.words),
        outcomes={int(t): t.word for t in (Type.OK, Type.FAIL, Type.INFO, Type.NOT_SENT)} | {REFUSED: REFUSED_WORD},
        operations=series.operations if series else 0,
        quantiles={word: [None if v is None else round(v, 3) for v in row] for word, row in quantiles.items()},
        rate=series.rate if series else {},
        latencies=series.latencies if series else {},
        bucket_ms=series.bucket_ms if series else [],
        lag=lags(events, run, origin_ns),
        unread=unread,
        errors=errors_over_time(series) if series else {},
        by_node={name: series.nodes[name] for name in _nodes_by_answers(series)} if series else {},
    )
    return drawn, changes
