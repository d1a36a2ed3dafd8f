"""Outages that belong to several faults: which fault they are told with, and which others name it. Pure.

An outage belongs to every fault in whose time it lies in part (rule 18 of docs/semantics.md), so the same one stands in
several rows. It is one outage, and each of these rows says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chaos.core.clock import NS_PER_S
from chaos.core.name_lists import join_names
from chaos.core.verdict import FaultResult, Rto
from reports import words


class Shared(NamedTuple):
    """An outage of several faults: the first of them, all in order, its beginning and end (s; None: it did not end)."""

    first: int
    faults: tuple[int, ...]
    start: float
    end: float | None

    def words(self, fault: int) -> str:
        """What the row of a fault says below its length, with the times."""
        end = "on, without an end" if self.end is None else f"to {words.moment(self.end)}"
        return f"{self.brief(fault)}, from {words.moment(self.start)} {end}"

    def brief(self, fault: int) -> str:
        """``the same outage as in the row of fault 2``; in that row ``one outage with fault 3``."""
        if fault != self.first:
            return f"the same outage as in the row of fault {self.first}"
        others = [str(one) for one in self.faults if one != fault]
        return f"one outage with fault{'s' if len(others) > 1 else ''} {join_names(others)}"


def longest_of(rtos: Sequence[Rto]) -> Rto | None:
    """The longest outage of one kind, as it was on its queue if that is known; None if there was none."""
    known = [rto for rto in rtos if rto.seconds is not None and rto.start_ns is not None]
    return max(known, key=lambda rto: (not rto.recovered, rto.seconds, rto.key >= 0), default=None)


def shared_outages(faults: Sequence[FaultResult], origin_ns: int) -> dict[tuple[int, str], Shared]:
    """(fault, kind of operation) → its longest outage, where other faults have the same one."""
    found: dict[tuple[str, int, int | None], list[tuple[int, Rto]]] = {}
    for fault in faults:
        for f in dict.fromkeys(rto.f for rto in fault.rto):
            longest = longest_of([rto for rto in fault.rto if rto.f == f])
            if longest is not None:
                found.setdefault((f, longest.key, longest.start_ns), []).append((fault.id, longest))
    out = {}
    for (f, _, start_ns), held in found.items():
        numbers, rto = tuple(number for number, _ in held), held[0][1]
        start = ((start_ns or 0) - origin_ns) / NS_PER_S
        end = start + (rto.seconds or 0.0) if rto.recovered else None
        if len(numbers) > 1:
            out.update({(number, f): Shared(numbers[0], numbers, start, end) for number in numbers})
    return out
