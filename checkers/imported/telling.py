"""Findings of imported histories in the shape of ``results.json``.

The module refuses to judge.
"""

from collections.abc import Mapping

from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Results, Valid
from checkers.imported.figures import Figures

SEPARATOR = "; "


def results(
    *, model: str, engine: str, valid: Valid, anomalies: Mapping[str, Anomaly], reason: str, cut_off: str | None,
    examined: str, figures: Figures, counts: Mapping[str, int] | None = None,
) -> Results:  # fmt: skip
    """The verdict tree of one file.

    ``reason``: why unknown. ``cut_off``: where the file ends too early; it is judged as far as it goes, and says so.
    """
    if valid is True and not figures.kinds:
        valid, reason = UNKNOWN, "no client did anything in it, so there is nothing to judge"
    bad = [name for name, one in anomalies.items() if not one.allowed]
    told = bad or list(anomalies)
    sentence = next((one.sentence for name in told for one in anomalies[name].examples), "")
    reasons = SEPARATOR.join(
        text for text in (reason, f"judged as far as it goes: {cut_off}" if cut_off else "") if text
    )
    found = ", ".join(f"{one.count} {name}{' (allowed)' if one.allowed else ''}" for name, one in anomalies.items())
    beside = () if figures.rpo is None else (figures.rpo,)
    row = CheckResult(
        name=model, valid=valid, found=found or "nothing", examined=examined, reason=reason if valid == UNKNOWN else "",
        anomalies=dict(anomalies),
    )  # fmt: skip
    return Results(
        valid=valid, sentence=sentence, reason=reasons, model=model, engine=engine, checks=(row, *beside),
        anomalies=dict(anomalies), counts=dict(counts or {}), kinds=figures.kinds, availability=figures.availability,
        latency=figures.latency, faults=figures.faults, absent=dict(figures.absent),
        origin_ns=figures.origin_ns,
    )  # fmt: skip
