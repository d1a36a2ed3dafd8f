"""The errors that clients met, as a table by node and fault. Pure.

Counts nothing: the figures come from ``results.json``. The most frequent stand first, the rest is folded.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import ErrorResult, Results
from checkers.anomalies.findings import digits_beside
from reports import words
from reports.page import columns
from reports.page.error_variants import labels_of
from reports.page.model import Moment, Table

ERRORS: Final = 40
OPEN: Final = 8
"""Rows that are shown before somebody asks for all of them."""
_ENDED: Final = {"fail": "failed", "info": "unknown"}


def _joined(errors: Sequence[ErrorResult]) -> list[ErrorResult]:
    """The same with those of one node and fault added up whose texts differ in numbers alone."""
    labels = labels_of(one.error for one in errors)
    out: dict[tuple[str, str, str, int | None, bool], ErrorResult] = {}
    for one in errors:
        label = labels[one.error]
        place = (label, one.type, one.node, one.fault, one.by_design)
        before = out.get(place)
        out[place] = replace(
            one,
            error=label,
            count=one.count + (before.count if before else 0),
            first_ns=min(one.first_ns, before.first_ns if before else one.first_ns),
            last_ns=max(one.last_ns, before.last_ns if before else one.last_ns),
        )
    return list(out.values())


def errors_of(results: Results | None, origin_ns: int) -> Table | None:
    """Errors by node and fault, refusals by design behind them; None if nothing was counted."""
    if results is None or not results.errors:
        return None
    edges_s = [
        (at - origin_ns) / NS_PER_S
        for fault in results.faults
        for at in (fault.inject_ns, fault.heal_ns)
        if at is not None
    ]

    def moment(at_ns: int) -> Moment:
        at_s = (at_ns - origin_ns) / NS_PER_S
        return Moment(at_s, digits_beside(at_s, edges_s))

    names = {fault.id: f"{fault.id} {fault.name}" for fault in results.faults}
    ordered = sorted(_joined(results.errors), key=lambda one: (one.by_design, -one.count))
    rows = [
        (
            one.error,
            "refused by design" if one.by_design else _ENDED.get(one.type, one.type),
            one.node or "nobody",
            "none" if one.fault is None else names.get(one.fault, str(one.fault)),
            words.count(one.count),
            moment(one.first_ns),
            moment(one.last_ns),
        )
        for one in ordered[:ERRORS]
    ]
    more = len(ordered) - len(rows)
    return Table(
        title=f"Errors by node and fault{f', the {ERRORS} most frequent of {len(ordered)}' if more > 0 else ''}",
        columns=tuple(name for name, _ in columns.ERRORS),
        heads=columns.ERRORS,
        rows=tuple(rows),
        open=OPEN if len(rows) > OPEN else None,
    )
