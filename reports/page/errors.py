"""The errors that clients met, as a table by node and fault. Pure.

Counts nothing: the figures come from ``results.json``. The most frequent stand first, the rest is folded.
"""

from typing import Final

from chaos.core.verdict import Results
from reports import words
from reports.page import columns
from reports.page.model import Moment, Table

ERRORS: Final = 40
OPEN: Final = 8
"""Rows that are shown before somebody asks for all of them."""
_ENDED: Final = {"fail": "failed", "info": "unknown"}


def errors_of(results: Results | None, origin_ns: int) -> Table | None:
    """Errors by node and fault, refusals by design behind them; None if nothing was counted."""
    if results is None or not results.errors:
        return None
    names = {fault.id: f"{fault.id} {fault.name}" for fault in results.faults}
    ordered = sorted(results.errors, key=lambda one: (one.by_design, -one.count))
    rows = [
        (
            one.error,
            "refused by design" if one.by_design else _ENDED.get(one.type, one.type),
            one.node or "nobody",
            "none" if one.fault is None else names.get(one.fault, str(one.fault)),
            words.count(one.count),
            Moment(words.seconds_since(one.first_ns, origin_ns)),
            Moment(words.seconds_since(one.last_ns, origin_ns)),
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
