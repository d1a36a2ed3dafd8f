"""A verdict with its thresholds, and what its exit code says (SEMANTICS 27, 28). Pure.

Does not read or write: ``chaos.run.judging`` does.
"""

import math
from collections.abc import Sequence
from datetime import date
from typing import Final

import msgspec

from chaos.core.gate import (
    ANOMALIES,
    FAIL_ON,
    THRESHOLDS,
    GateResult,
    Gates,
    State,
    ThresholdResult,
    gate_words,
    threshold_words,
)
from chaos.core.verdict import UNKNOWN, Results, Valid, worst_of
from chaos.gate.measure import Measured, measure
from chaos.gate.threshold import Threshold, budget, parse
from chaos.storage.runinfo import RunInfo

BUDGET: Final = "rto-budget"
"""The anomaly that is the threshold ``rto<=D`` as well."""
_STATES: Final[dict[str, Valid]] = {"held": True, "broken": False, "unknown": UNKNOWN}
_UPPER: Final = ("==", "<", "<=")


def gates_of(run: RunInfo, instead: Gates | None = None) -> Gates:
    """What is wanted of a run, or something else instead, with its budget of recovery times among the thresholds."""
    gates, limit_s = instead or run.gates, run.rto_budget_s
    if limit_s is None or any(one.is_budget and one.limit <= limit_s for one in map(parse, gates.thresholds)):
        return gates
    return msgspec.structs.replace(gates, thresholds=(*gates.thresholds, budget(limit_s)))


def with_gate(results: Results, run: RunInfo | None, gates: Gates, today: date) -> Results:
    """A verdict with its thresholds and its gate.

    Args:
        results: what the checks found.
        run: the run, None of an imported history.
        gates: what is wanted.
        today: the day (UTC) on which allowed findings are looked at.
    """
    rows = tuple(judge(parse(text), results, run) for text in gates.thresholds)
    told = with_thresholds(results, rows)
    gate = gate_of(told, gates, run.system if run is not None else "", today)
    return msgspec.structs.replace(told, gate=gate, sentence=f"{told.sentence}{gate_words(gate)}")


def judge(threshold: Threshold, results: Results, run: RunInfo | None) -> ThresholdResult:
    """What became of one threshold."""
    found = measure(threshold, results, run)
    state, reason = _state(threshold, found)
    value = found.value if found.value is not None and math.isfinite(found.value) else None
    return ThresholdResult(
        text=threshold.text,
        state=state,
        measured=found.words if state != "unknown" else "",
        value=None if value is None else round(value, 9),
        reason=reason,
    )


def _state(threshold: Threshold, found: Measured) -> tuple[State, str]:
    if found.value is None:
        return "unknown", found.reason
    if found.lower and not _certain(threshold, found.value):
        return "unknown", f"{found.words}: {found.reason}"
    if not threshold.holds(found.value):
        return "broken", ""
    if found.resolution > threshold.limit:
        return "unknown", f"recovery is measured to {found.resolution:.3g} s only"
    return "held", ""


def _certain(threshold: Threshold, least: float) -> bool:
    """Whether a figure that is at least so high decides the threshold."""
    if threshold.comparison in _UPPER:
        return least > threshold.limit or not (threshold.holds(least) or least < threshold.limit)
    return threshold.comparison in (">", ">=") and threshold.holds(least)


def with_thresholds(results: Results, rows: Sequence[ThresholdResult]) -> Results:
    """A verdict that its thresholds count for, and whose sentence begins with those that do not hold."""
    unknown = [row for row in rows if row.state == "unknown"]
    reasons = [results.reason, *(f"threshold {row.text}: {row.reason}" for row in unknown)]
    return msgspec.structs.replace(
        results,
        valid=worst_of((results.valid, *(_STATES[row.state] for row in rows))),
        sentence=" ".join(part for part in (*threshold_words(rows), results.sentence) if part),
        reason="; ".join(one for one in reasons if one),
        thresholds=tuple(rows),
    )


def gate_of(results: Results, gates: Gates, system: str, today: date) -> GateResult | None:
    """What the exit code says; None where nobody decided anything about it."""
    found = findings(results)
    own = [one for one in gates.allow if one.system == system and any(one.anomaly in names for names in found.values())]
    live = [one for one in own if one.until is None or date.fromisoformat(one.until) >= today]
    if gates.fail_on == FAIL_ON and not own:
        return None
    names = {one.anomaly for one in live}
    allowed = [what for what, covered in found.items() if not names.isdisjoint(covered)]
    rest = [what for what in found if what not in allowed]
    failed = [what for what in rest if _fails(what, results, gates)]
    return GateResult(
        valid=_answer(results, gates, failed=bool(failed)),
        fail_on=gates.fail_on,
        failed_by=tuple(failed),
        allowed=tuple(live),
        expired=tuple(one for one in own if one not in live),
        ignored=tuple(what for what in rest if what not in failed),
    )


def findings(results: Results) -> dict[str, frozenset[str]]:
    """Whatever makes a verdict invalid, and the names under which it may be allowed.

    An anomaly by its name (or that of the one with the same cause), a threshold by its text, a check that is invalid
    and names no anomaly by its own.
    """
    from checkers.anomalies.catalogue import kind_of

    out: dict[str, frozenset[str]] = {}
    for name, one in results.anomalies.items():
        if not one.allowed and kind_of(name).consequence == "invalid":
            out[name] = frozenset({name, *([one.part_of] if one.part_of else [])})
    for row in results.checks:
        if row.valid is False and not any(not one.allowed for one in row.anomalies.values()):
            out[row.name] = frozenset({row.name})
    for threshold in results.thresholds:
        if threshold.state == "broken":
            out[threshold.text] = frozenset({BUDGET}) if parse(threshold.text).is_budget else frozenset()
    return out


def _fails(what: str, results: Results, gates: Gates) -> bool:
    if any(row.text == what for row in results.thresholds):
        return THRESHOLDS in gates.fail_on
    return ANOMALIES in gates.fail_on or what in gates.fail_on


def _answer(results: Results, gates: Gates, *, failed: bool) -> Valid:
    if failed or (results.valid is False and not findings(results)):
        return False
    rows = (*(row.valid for row in results.checks), *(_STATES[row.state] for row in results.thresholds))
    if results.valid == UNKNOWN or UNKNOWN in rows:
        return False if UNKNOWN in gates.fail_on else UNKNOWN
    return True
