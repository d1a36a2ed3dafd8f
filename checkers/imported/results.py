"""Findings of imported histories in the shape of ``results.json``."""

from collections.abc import Collection, Mapping

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Results, Valid
from checkers.imported.figures import Figures

SEPARATOR = "; "


def results_of_file(
    *,
    model: str,
    engine: str,
    valid: Valid,
    anomalies: Mapping[str, Anomaly],
    reason: str,
    cut_off: str | None,
    examined: str,
    figures: Figures,
    counts: Mapping[str, int] | None = None,
    undone: Collection[str] = (),
) -> Results:
    """The verdict tree of one file.

    Args:
        model: the model that it was held against.
        engine: who judged.
        valid: the verdict on what there is.
        anomalies: what was found in it.
        reason: why ``valid`` is unknown.
        cut_off: where the file ends too early, or None. Such a history is unknown, unless an anomaly stands.
        examined: a count with its noun.
        figures: what was measured beside the verdict.
        counts: what was looked at.
        undone: the anomalies that more of the history may undo, if the file ends too early.
    """
    if valid is True and not figures.kinds:
        valid, reason = UNKNOWN, "no client did anything in it, so there is nothing to judge"
    reasons = [reason]
    if cut_off:
        loose = [name for name, one in anomalies.items() if name in undone and not one.allowed]
        anomalies = _with_allowed(anomalies, loose)
        valid = False if any(not one.allowed for one in anomalies.values()) else UNKNOWN
        reasons.append(_ending(cut_off, {name: anomalies[name].count for name in loose}))
    why = SEPARATOR.join(text for text in reasons if text)
    row = CheckResult(
        name=model,
        valid=valid,
        found=_counted(anomalies) or "nothing",
        examined=examined,
        reason=why if valid == UNKNOWN else "",
        anomalies=dict(anomalies),
    )
    return Results(
        valid=valid,
        sentence=_first_sentence(anomalies),
        reason=why,
        model=model,
        engine=engine,
        checks=(row,) if figures.rpo is None else (row, figures.rpo),
        anomalies=dict(anomalies),
        counts=dict(counts or {}),
        kinds=figures.kinds,
        availability=figures.availability,
        latency=figures.latency,
        faults=figures.faults,
        absent=dict(figures.absent),
        origin_ns=figures.origin_ns,
    )


def _with_allowed(anomalies: Mapping[str, Anomaly], names: Collection[str]) -> Mapping[str, Anomaly]:
    """The anomalies, of which these do not count as errors."""
    return {
        name: msgspec.structs.replace(one, allowed=True) if name in names else one for name, one in anomalies.items()
    }


def _ending(cut_off: str, loose: Mapping[str, int]) -> str:
    """Why a file that ends too early is judged so. ``loose``: the anomalies that its rest may undo, with counts."""
    ending = f"judged as far as it goes: {cut_off}"
    if not loose:
        return ending
    found = join_names([f"{count} {name}" for name, count in loose.items()])
    return f"{ending}; the rest of the history may undo {found}"


def _counted(anomalies: Mapping[str, Anomaly]) -> str:
    """How many of each there are, in words."""
    return ", ".join(f"{one.count} {name}{' (allowed)' if one.allowed else ''}" for name, one in anomalies.items())


def _first_sentence(anomalies: Mapping[str, Anomaly]) -> str:
    """That of the first example of an error; of what is allowed if there is no error."""
    errors = [one for one in anomalies.values() if not one.allowed]
    return next((one.sentence for anomaly in errors or anomalies.values() for one in anomaly.examples), "")
