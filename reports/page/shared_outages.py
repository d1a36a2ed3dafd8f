"""Outages that belong to several faults: which fault they are told with, and which others name it. Pure.

An outage belongs to every fault in whose time it lies in part (rule 18 of docs/semantics.md), so the same one stands in
several rows. It is one outage, and each of these rows says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chaos.basics.name_lists import join_names
from chaos.core.verdict import FaultResult, Rto


class Shared(NamedTuple):
    """An outage of several faults: the first of them, and all in order."""

    first: int
    faults: tuple[int, ...]

    def brief(self, fault: int) -> str:
        """``the same outage as in the row of fault 2``; in that row ``belongs to fault 3 as well``."""
        if fault != self.first:
            return f"the same outage as in the row of fault {self.first}"
        others = [str(one) for one in self.faults if one != fault]
        return f"belongs to fault{'s' if len(others) > 1 else ''} {join_names(others)} as well"


def longest_of(rtos: Sequence[Rto]) -> Rto | None:
    """The longest outage of one kind, as it was on its queue if that is known; None if there was none."""
    known = [rto for rto in rtos if rto.seconds is not None and rto.start_ns is not None]
    return max(known, key=lambda rto: (not rto.recovered, rto.seconds, rto.key >= 0), default=None)


def shared_outages(faults: Sequence[FaultResult]) -> dict[tuple[int, str], Shared]:
    """(fault, kind of operation) → its longest outage, where other faults have the same one."""
    found: dict[tuple[str, int, int | None], list[int]] = {}
    for fault in faults:
        for f in dict.fromkeys(rto.f for rto in fault.rto):
            longest = longest_of([rto for rto in fault.rto if rto.f == f])
            if longest is not None:
                found.setdefault((f, longest.key, longest.start_ns), []).append(fault.id)
    out = {}
    for (f, _, _), numbers in found.items():
        if len(numbers) > 1:
            out.update({(number, f): Shared(numbers[0], tuple(numbers)) for number in numbers})
    return out
