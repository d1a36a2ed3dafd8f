"""What was found, in a form that adds up: exact counts, and as many cases as were asked for.

A case's ``body`` is the canonical list of the conformance suite (research: samples/kafka): the same facts in the same
order for every checker that is compared. Does not decide what is an error.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checkers.history.columns import Ints


@dataclass(frozen=True, slots=True)
class Case:
    """One occurrence. ``ops``: numbers (``:index``) of the records that show it, in their order. ``key``: the log.

    ``kinds``: of a circle, the kinds of its edges; the reasons are its body, and each leads to the next record.
    """

    body: tuple[Any, ...]
    ops: tuple[int, ...]
    key: object = None
    kinds: tuple[str, ...] = ()


@dataclass(slots=True)
class CaseCounts:
    """All occurrences of one name: ``count`` is exact, ``cases`` are the first of them.

    ``unsure``: how many of them a failure of a send that is still open would undo.
    """

    count: int = 0
    cases: list[Case] = field(default_factory=list)
    unsure: int = 0


@dataclass(slots=True)
class Cases:
    """A table of findings by name. ``keep``: how many cases are written out per name, None for all."""

    keep: int | None = None
    found: dict[str, CaseCounts] = field(default_factory=dict)

    def add(self, name: str, which: Iterable[Any] | Ints, tell: Callable[[int], Case], unsure: int = 0) -> None:
        """Count occurrences, and write the first of them out.

        Args:
            name: the anomaly.
            which: what ``tell`` needs to know of each (a row, a value).
            tell: makes the case of one.
            unsure: how many of them a failure of an open send would undo.
        """
        rows = which.tolist() if isinstance(which, np.ndarray) else list(which)
        if not rows:
            return
        found = self.found.setdefault(name, CaseCounts())
        found.count += len(rows)
        found.unsure += unsure
        found.cases += [tell(one) for one in (rows if self.keep is None else rows[: self.keep])]

    def merge(self, other: "Cases") -> "Cases":
        """Both tables in one; of the cases the earliest are kept."""
        both = Cases(self.keep)
        for name in sorted(self.found.keys() | other.found.keys()):
            left, right = self.found.get(name, CaseCounts()), other.found.get(name, CaseCounts())
            cases = sorted([*left.cases, *right.cases], key=lambda case: (case.ops, repr(case.body)))
            kept = cases if self.keep is None else cases[: self.keep]
            both.found[name] = CaseCounts(left.count + right.count, kept, left.unsure + right.unsure)
        return both
