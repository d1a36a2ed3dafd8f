"""The verdict as shown: its stamp, its check table, why something is unknown, and the anomalies.

Pure. Does not judge; where ``results.json`` is missing it says so.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from chaos.core.gate import State
from chaos.core.name_lists import join_names
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example, Headline, Results, Valid
from checkers.anomalies.catalogue import kind_of
from checkers.anomalies.findings import validity
from reports import words
from reports.page.columns import FACTS, Columns
from reports.page.log_clues import log_clues
from reports.page.logs import LogRow
from reports.page.marks import Mark
from reports.page.model import AnomalyView, CheckRow, ExampleView, Stamp, ThresholdRow
from reports.page.op_words import op_words
from reports.page.panels import Band, Change, Strip
from reports.page.ring import ring_of
from reports.page.trace import blamed, trace

DAMAGED: Final = "corrupt"
"""The anomaly of a record whose body is not one of ours or fails its checksum."""

NOTHING: Final = "there was nothing to examine"

ROW_REASON: Final = 120
"""Characters of a reason that a row of the verdict table holds."""

WORST_FIRST: Final = ("bad", "warn", "good")
WEIGHTS: Final = ("error", "undecided", "allowed")


def word_of(valid: Valid) -> tuple[str, str]:
    """The verdict as people read it, with its tone."""
    return words.verdict(valid), "good" if valid is True else "bad" if valid is False else "warn"


def stamp_of(results: Results | None, *, broke: bool) -> Stamp:
    """The stamp: PASS, FAIL, UNKNOWN, or what became of a run without a verdict."""
    if results is None:
        return Stamp(words.BROKE if broke else "NOT JUDGED", "warn")
    return Stamp(*word_of(results.valid))


def threshold_rows(results: Results | None) -> tuple[ThresholdRow, ...]:
    """The thresholds, those that do not hold first."""
    rows = results.thresholds if results is not None else ()
    told: list[tuple[State, Valid]] = [("broken", False), ("unknown", UNKNOWN), ("held", True)]
    return tuple(
        ThresholdRow(text=row.text, word=word_of(valid)[0], tone=word_of(valid)[1], said=row.measured or row.reason)
        for state, valid in told
        for row in rows
        if row.state == state
    )


def anomaly_views(
    results: Results,
    shaded: Sequence[Band],
    changes: Sequence[Change],
    reasons: Mapping[str, str],
    key: str = "queue",
    marks: Sequence[Mark] = (),
    *,
    folder: str = "",
    lines: Sequence[LogRow] = (),
    nodes: Sequence[str] = (),
) -> tuple[AnomalyView, ...]:
    """Errors first, each with the kinds of the same cause under it.

    ``reasons``: why one is allowed. ``key``: what a key names. ``marks``: where occurrences are on the time axis.
    ``folder``: of the run, for commands. ``lines``: of nodes' logs, which give ``nodes`` by their place.
    """
    numbers = {(mark.name, mark.number): at for at, mark in enumerate(marks)}

    def view(name: str, anomaly: Anomaly, parts: tuple[AnomalyView, ...]) -> AnomalyView:
        examples = []
        for number, example in enumerate(anomaly.examples):
            columns = tuple(dict.fromkeys(key for op in example.ops for key, value in op.items() if value is not None))
            rows = tuple(tuple(words.cell(op.get(key)) for key in columns) for op in example.ops)
            picture = trace(example, shaded, changes)
            place = numbers.get((name, number))
            examples.append(
                ExampleView(
                    anchor=anchor_of(name, number),
                    name=name,
                    number=number + 1,
                    sentence=example.sentence,
                    command=_show(folder, name, number, example),
                    facts=facts_of(
                        example,
                        key,
                        _told_of(name, number, results),
                        promise=_promise(example, made=name in reasons, allowed=anomaly.allowed),
                        record=_record(example) if name == DAMAGED else "",
                    ),
                    about=_about(example),
                    ring=ring_of(example.circle, _labels(example)),
                    edges=tuple((edge.kind, edge.reason) for edge in example.circle),
                    unplaced=op_words(example.ops[0]) if example.order else "",
                    order=_ordered(example),
                    trace=picture,
                    mark=place,
                    log_clues=()
                    if place is None
                    else log_clues(lines, nodes, marks[place].at, blamed(example, shaded), _about(example)["node"]),
                    columns=columns,
                    rows=rows,
                )
            )
        return AnomalyView(
            name=name,
            anchor=anchor_of(name),
            meaning=kind_of(name).meaning,
            expected=kind_of(name).expected,
            rule=words.rule(kind_of(name).rule),
            count=anomaly.count,
            weight=weight_of(name, anomaly),
            why_allowed=reasons.get(name, "") if anomaly.allowed else "",
            examples=tuple(examples),
            parts=parts,
        )

    found = results.anomalies
    heads = {name: _headline(name, found) for name in found}
    ordered = sorted(
        (name for name in found if heads[name] == name), key=lambda name: WEIGHTS.index(weight_of(name, found[name]))
    )
    return tuple(
        view(head, found[head], tuple(view(n, a, ()) for n, a in found.items() if heads[n] == head and n != head))
        for head in ordered
    )


def _labels(example: Example) -> dict[int, str]:
    """What the operations of a circle are called in its boxes."""
    return {op["op"]: f"{op['op']}: {op_words(op)}" for op in example.ops} if example.circle else {}


def _ordered(example: Example) -> tuple[str, ...]:
    """The operations of an order that explains all but the first, in words."""
    own = {op["op"]: op_words(op) for op in example.ops} if example.order else {}
    return tuple(own[number] for number in example.order if number in own)


def anchor_of(name: str, number: int | None = None) -> str:
    """Where on the page an anomaly is told, or its example of that number from 0."""
    return f"anomaly-{name}" if number is None else f"example-{name}-{number + 1}"


def _show(folder: str, name: str, number: int, example: Example) -> str:
    """The command that prints the history around an occurrence; empty where it would not know what to look for."""
    if example.value is None and example.offset is None and example.at_ns is None:
        return ""
    return shlex.join(["chaos", "show", folder, "--around", f"{name}/{number + 1}", "--context", "20"])


def _told_of(name: str, number: int, results: Results) -> Headline | None:
    """What the headline blames, if it is this example that stands beside it at the top of the page."""
    told = results.headline
    return told if told is not None and (told.anomaly, 0) == (name, number) else None


def _promise(example: Example, *, made: bool, allowed: bool) -> str:
    """What the system's promises say of an occurrence that one of them can cover; empty where none can.

    ``made``: the system makes the promise. ``allowed``: it covers every occurrence of the kind.
    """
    if not example.excused:
        return ""
    if not made:
        return "none: a system that promises less could be allowed this, and this one is not"
    return "covers it" if allowed else "covers it, but not every one of its kind"


def _record(example: Example) -> str:
    """Which of the two a record is that does not prove itself, as far as the history tells them apart."""
    if example.value is None:
        return "damaged or foreign: nothing of ours is known to have stood here"
    return f"probably {example.value}, damaged: that was acknowledged here"


def facts_of(
    example: Example, key: str, told: Headline | None = None, *, promise: str = "", record: str = ""
) -> tuple[tuple[str, str], ...]:
    """What an occurrence is about, as far as it is known.

    ``promise``: what the system's promises say of it. ``record``: what a record probably is that does not prove itself.
    ``told``: what the headline blames, where it is about this occurrence. It knows the whole run and may blame another
    node and another fault than the occurrence alone would: both are said, so that the page does not contradict itself.
    """
    queue = "" if example.key is None else f"{key} {example.key}"
    offset = "" if example.offset is None else f"offset {example.offset}"
    fault = "" if example.fault is None else str(example.fault)
    look_at = ""
    if told is not None and told.nodes not in ((), (example.node,)):
        look_at = f"{join_names(told.nodes)}, as the headline says"
    if told is not None and told.fault not in (None, example.fault):
        fault = f"{told.fault}, as the headline says{f'; by its time {fault}' if fault else ''}"
    named = (
        ("node", example.node or ""),
        ("message", example.value or ""),
        ("place", ", ".join(filter(None, (queue, offset)))),
        ("look at", look_at),
        ("fault", fault),
        ("record", record),
        ("promise", promise),
        ("should be", example.expected),
    )
    return tuple((name, value) for name, value in named if value)


def explained(views: Sequence[AnomalyView]) -> Columns:
    """What some facts of the examples say, of those that are told."""
    told = {name for view in views for part in (view, *view.parts) for one in part.examples for name, _ in one.facts}
    return tuple(row for row in FACTS if row[0] in told)


def _about(example: Example) -> dict[str, list[str]]:
    """What an occurrence can be found by: nodes, objects, processes, errors, faults."""
    named: dict[str, list[Any]] = {
        "node": [example.node, *(op.get("node") for op in example.ops)],
        "key": [example.key, *(op.get("key") for op in example.ops)],
        "process": [op.get("process") for op in example.ops],
        "error": [op.get("error") for op in example.ops],
        "fault": [example.fault],
    }
    return {name: sorted({str(one) for one in said if one not in (None, "")}) for name, said in named.items()}


def weight_of(name: str, anomaly: Anomaly) -> str:
    """What the anomaly does to the verdict, in the checks' own words."""
    valid = validity({name: anomaly})
    return "allowed" if valid is True else "error" if valid is False else "undecided"


def _headline(name: str, found: Mapping[str, Anomaly]) -> str:
    """The anomaly under which this one is shown: the end of its ``part_of`` chain, itself if that is a ring."""
    seen, at = {name}, name
    while (above := found[at].part_of) is not None and above in found:
        if above in seen:
            return name
        seen.add(above)
        at = above
    return at


def why_unknown(results: Results | None) -> tuple[tuple[str, str], ...]:
    """(checks, reason) for everything that is unknown; a reason that no check gives stands first, without a name.

    Several reasons in one text are told apart at their semicolons.
    """
    if results is None:
        return ()
    rows = [(check.name, check.reason) for check in results.checks if check.valid == "unknown" and check.reason]
    said = list(dict.fromkeys(reason for _, reason in rows))
    if results.valid == "unknown" and results.reason and results.reason not in (*said, "; ".join(said)):
        rows.insert(0, ("", results.reason))
    grouped: dict[str, list[str]] = {}
    for name, reasons in rows:
        for reason in reasons.split("; "):
            grouped.setdefault(reason, []).extend([name] if name else [])
    return tuple((", ".join(names), reason) for reason, names in grouped.items())


def superseded(strips: Sequence[Strip]) -> str:
    """The first node that led while a newer leader was known, and when; empty if none did."""
    found = [
        (interval.start, f"{strip.name} ({interval.label}) from {words.at(interval.start)} to {words.at(interval.end)}")
        for strip in strips
        for interval in strip.intervals
        if interval.tone == "stale"
    ]
    return min(found)[1] if found else ""


TWO_LEADERS: Final = {
    "roles": "{} led beside a newer leader and may not have known of it: that is no contradiction. "
    "Two leaders of one epoch or term would be one.",
    "min-in-sync": "{} led beside a newer leader: each is judged by the set with which it acknowledged. "
    "Whether a message was lost is said by no-loss.",
}
"""Why these checks pass though the page shows two leaders at the same time; with whom it shows."""


def _examined_nothing(check: CheckResult) -> bool:
    """Whether what the check says it found is true only because there was nothing."""
    explained = check.anomalies or (check.reason and check.reason in check.found)
    return check.valid == UNKNOWN and check.examined.startswith("0 ") and not explained


def check_rows(results: Results | None, two_leaders: Mapping[str, str]) -> tuple[CheckRow, ...]:
    """The verdict table, what failed first; a reason that is long or that several rows share stands above it only.

    ``two_leaders``: of a check, who led though it had been superseded; empty if nobody did.
    """
    if results is None:
        return ()
    reasons = [check.reason for check in results.checks]
    rows = []
    for check in results.checks:
        word, tone = word_of(check.valid)
        own = check.reason not in check.found and reasons.count(check.reason) == 1 and len(check.reason) <= ROW_REASON
        seen = two_leaders.get(check.name, "") if check.valid is True else ""
        note = TWO_LEADERS[check.name].format(seen) if seen else ""
        shown = [name for name in check.anomalies if name in results.anomalies]
        rows.append(
            CheckRow(
                name=check.name,
                word=word,
                tone=tone,
                found=NOTHING if _examined_nothing(check) else check.found,
                reason=(check.reason if own else "") or note,
                examined=check.examined or "—",
                took=words.seconds(check.took_s) if check.took_s else "—",
                link=anchor_of(shown[0]) if shown else "",
            )
        )
    return tuple(sorted(rows, key=lambda row: WORST_FIRST.index(row.tone)))
