"""The verdict as shown: its stamp, its thresholds, its check table, and why something is unknown.

Pure. Does not judge; where ``results.json`` is missing it says so.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from chaos.core.gate import State
from chaos.core.verdict import UNKNOWN, CheckResult, Results, Valid
from reports import words
from reports.page.anomalies import anchor_of
from reports.page.model import CheckRow, Stamp, ThresholdRow
from reports.page.panels import Strip

NOTHING: Final = "there was nothing to examine"

ROW_REASON: Final = 120
"""Characters of a reason that a row of the verdict table holds."""

WORST_FIRST: Final = ("bad", "warn", "good")


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


def first_superseded_leader(strips: Sequence[Strip]) -> str:
    """The first node that led while a newer leader was known, and when; empty if none did."""
    found = [
        (
            interval.start,
            f"{strip.name} ({interval.label}) from {words.moment(interval.start)} to {words.moment(interval.end)}",
        )
        for strip in strips
        for interval in strip.intervals
        if interval.tone == "stale"
    ]
    return min(found)[1] if found else ""


TWO_LEADERS: Final = {
    "roles": "{} said to lead beside a newer leader. Judged is only whether two leaders were of one epoch or term: "
    "these were not.",
    "min-in-sync": "{} said to lead beside a newer leader: each is judged by the set that was seen of it. "
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
