"""Findings of imported histories in the shape of ``results.json``."""

from collections.abc import Collection, Mapping

import msgspec

from chaos.core.name_lists import join_names
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Results, Valid
from checkers.imported.figures import Figures

SEPARATOR = "; "


def results(
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
    ending = ""
    if cut_off:
        loose = [name for name, one in anomalies.items() if name in undone and not one.allowed]
        anomalies = {
            name: msgspec.structs.replace(one, allowed=True) if name in loose else one
            for name, one in anomalies.items()
        }
        valid = False if any(not one.allowed for one in anomalies.values()) else UNKNOWN
        ending = f"judged as far as it goes: {cut_off}"
        if loose:
            found = join_names([f"{anomalies[name].count} {name}" for name in loose])
            ending += f"; the rest of the history may undo {found}"
    bad = [name for name, one in anomalies.items() if not one.allowed]
    told = bad or list(anomalies)
    sentence = next((one.sentence for name in told for one in anomalies[name].examples), "")
    reasons = SEPARATOR.join(text for text in (reason, ending) if text)
    found = ", ".join(f"{one.count} {name}{' (allowed)' if one.allowed else ''}" for name, one in anomalies.items())
    beside = () if figures.rpo is None else (figures.rpo,)
    row = CheckResult(
        name=model,
        valid=valid,
        found=found or "nothing",
        examined=examined,
        reason=reasons if valid == UNKNOWN else "",
        anomalies=dict(anomalies),
    )
    return Results(
        valid=valid,
        sentence=sentence,
        reason=reasons,
        model=model,
        engine=engine,
        checks=(row, *beside),
        anomalies=dict(anomalies),
        counts=dict(counts or {}),
        kinds=figures.kinds,
        availability=figures.availability,
        latency=figures.latency,
        faults=figures.faults,
        absent=dict(figures.absent),
        origin_ns=figures.origin_ns,
    )
