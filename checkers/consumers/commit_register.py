"""Commits and committed-reads of one queue as a register: which answers no order of them explains (SEMANTICS 20).

The operations are taken in real time, and every state in which the register may be is kept along (just-in-time
linearization: Lowe, Testing for linearizability, 2017). An operation takes effect as late as possible: when its
completion, or that of another one, needs it. Where a completed read leaves no state, that read is impossible; it is
left out, and the others are judged as if it had not been. So all impossible answers are found in one pass, exactly,
also where values repeat and writes have no answer. The work is counted, not timed: every machine gives up at the same
operation.

Pure: columns in, positions out. The module does not know what a commit is, and names no culprit.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from chaos.storage.history import NEVER_NS
from checkers.history.columns import Ints

NONE: Final = -1
"""The value before the first write."""

OTHER: Final = -2
"""A value that no read still to come returns: all such values are one."""

WORK: Final = 2_000_000
"""So many states beside the first of each moment are looked at in one queue at most, some ten seconds."""

ALIKE: Final = 64
"""Up to so many states are compared with each other, to leave out those that can do nothing that another cannot."""

_NOTHING: Final = frozenset[int]()


class Writes(NamedTuple):
    """Columns, ``end`` NEVER_NS: nobody knows whether it took effect, and it may at any later time."""

    value: Ints
    invoke: Ints
    end: Ints


class Reads(NamedTuple):
    """Columns; every read completed."""

    value: Ints
    invoke: Ints
    complete: Ints


class Impossible(NamedTuple):
    """``reads``: positions of the impossible reads, in order of completion. ``given_up``: there may be more."""

    reads: list[int]
    given_up: bool


class _State(NamedTuple):
    """The register as it may be.

    ``done``: pending acknowledged writes that have taken effect; ``spent``: by value how many writes without an answer
    have; ``served``: pending reads that have seen their value.
    """

    value: int
    done: frozenset[int] = _NOTHING
    spent: frozenset[tuple[int, int]] = frozenset()
    served: frozenset[int] = _NOTHING


class _Overworked(Exception):  # noqa: N818 - not an error
    """There is more to look at than is allowed."""


class _Register:
    """All states in which the register may be at one moment, and what is pending."""

    def __init__(self, reads: Counter[int]) -> None:
        """``reads``: how many reads return each value."""
        self._to_come = reads
        self._states = {_State(self._value(NONE))}
        self._writes: dict[int, int] = {}
        self._loose = Counter[int]()
        self._reads: dict[int, int] = {}
        self._work = WORK

    # ------------------------------------------------------------ invocations

    def begin_write(self, op: int, value: int) -> None:
        """A write that will be acknowledged."""
        self._writes[op] = value

    def loosen(self, value: int) -> None:
        """A write that is never answered."""
        self._loose[value] += 1

    def begin_read(self, op: int, value: int) -> None:
        """A read; where the register holds its value already, it has seen it."""
        self._reads[op] = value
        self._states = {
            state._replace(served=state.served | {op}) if state.value == value else state for state in self._states
        }

    # ------------------------------------------------------------ completions

    def end_write(self, op: int) -> None:
        """It has taken effect by now, in every state."""
        after = set[_State]()
        for state in self._states:
            ways = [state] if op in state.done else self._written(state, op, self._value(self._writes[op]))
            after.update(way._replace(done=way.done - {op}) for way in ways)
        del self._writes[op]
        self._go_on(after)

    def end_read(self, op: int) -> bool:
        """It has seen its value by now; whether it can have. If not, it is as if it had not been."""
        value = self._reads[op]
        after = set[_State]()
        for state in self._states:
            after.update([state] if op in state.served else self._with_value(state, value))
        possible = bool(after)
        del self._reads[op]
        self._to_come[value] -= 1
        left = {state._replace(served=state.served - {op}) for state in (after or self._states)}
        self._go_on({_without(state, value) for state in left} if self._to_come[value] == 0 else left)
        return possible

    def _with_value(self, state: _State, value: int) -> Iterator[_State]:
        """The states behind a write of this value that takes effect now, whichever it is."""
        for op, written in self._writes.items():
            if written == value and op not in state.done:
                yield from self._written(state, op, value)
        if self._loose[value] > dict(state.spent).get(value, 0):
            yield from self._written(_spend(state, (value,)), NONE, value)

    def _written(self, state: _State, op: int, value: int) -> Iterator[_State]:
        """The states behind a write that takes effect now, after any others that may have done so just before.

        Those before it leave no trace but in reads that saw them, so it is enough to choose which did. One that no
        read to come returns is best done with: it can never be of use.
        """
        left = [one for one in self._writes if one != op and one not in state.done]
        burnt = [one for one in left if self._value(self._writes[one]) == OTHER]
        useful = [one for one in left if self._value(self._writes[one]) != OTHER]
        waiting = {self._reads[one] for one in self._reads if one not in state.served} - {value}
        spent = dict(state.spent)
        loose = sorted(one for one in waiting if self._loose[one] > spent.get(one, 0))
        self._toil((1 << min(len(useful) + len(loose), 60)) - 1)
        for chosen in _subsets(useful):
            seen = {self._writes[one] for one in chosen}
            done = state.done.union(burnt, chosen, [op] if op in self._writes else [])
            for drawn in _subsets([one for one in loose if one not in seen]):
                shown = seen.union(drawn, [value])
                served = state.served.union(one for one, wanted in self._reads.items() if wanted in shown)
                yield _spend(state, tuple(drawn))._replace(value=value, done=done, served=served)

    def _value(self, value: int) -> int:
        return value if self._to_come[value] > 0 else OTHER

    def _toil(self, states: int) -> None:
        self._work -= states
        if self._work < 0:
            raise _Overworked

    def _go_on(self, states: set[_State]) -> None:
        """Keep what is needed of these states."""
        self._toil(len(states) - 1)
        self._states = _best(states) if 1 < len(states) <= ALIKE else states


def _without(state: _State, value: int) -> _State:
    """The state where no read to come returns this value."""
    spent = frozenset(one for one in state.spent if one[0] != value)
    return state._replace(value=OTHER if state.value == value else state.value, spent=spent)


def _spend(state: _State, values: tuple[int, ...]) -> _State:
    """The state with one more unanswered write of each of these values used up."""
    if not values:
        return state
    spent = dict(state.spent)
    for value in values:
        spent[value] = spent.get(value, 0) + 1
    return state._replace(spent=frozenset(spent.items()))


def _subsets(ops: list[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(ops) + 1):
        yield from combinations(ops, size)


def _best(states: set[_State]) -> set[_State]:
    """Without the states that have used up more and served less than another that is otherwise the same."""

    def beats(one: _State, other: _State) -> bool:
        if one is other or (one.value, one.done) != (other.value, other.done) or not one.served >= other.served:
            return False
        most = dict(other.spent)
        return one != other and all(count <= most.get(value, 0) for value, count in one.spent)

    return {state for state in states if not any(beats(other, state) for other in states)}


def _thinned(writes: Writes, reads: Reads) -> Writes:
    """The writes that can make a difference; a value that no read returns any more becomes OTHER.

    Of writes nobody reads only the acknowledged ones matter, because something stood in the register between them and
    the next. Where several begin and end between two moments of what is read, one says the same as all.
    """
    values = np.unique(reads.value)
    last = np.full(len(values), -1, dtype=np.int64)
    np.maximum.at(last, np.searchsorted(values, reads.value), reads.complete)
    at = np.minimum(np.searchsorted(values, writes.value), len(values) - 1)
    read = (values[at] == writes.value) & (writes.invoke <= last[at])
    moments = np.sort(np.concatenate((reads.invoke, reads.complete, writes.invoke[read], writes.end[read])))
    hides = np.flatnonzero(~read & (writes.end != NEVER_NS))
    since = np.searchsorted(moments, writes.invoke[hides], side="left")
    until = np.searchsorted(moments, writes.end[hides], side="right")
    _, first = np.unique(np.where(since == until, since, -1 - np.arange(len(hides))), return_index=True)
    kept = np.sort(np.concatenate((np.flatnonzero(read), hides[first])))
    return Writes(np.where(read, writes.value, OTHER)[kept], writes.invoke[kept], writes.end[kept])


def impossible_reads(writes: Writes, reads: Reads) -> Impossible:
    """The reads that a register cannot have answered, each given those before it that it can have.

    A read is impossible if the operations completed until then, without the reads found impossible before, have no
    order that agrees with real time (equal instants are concurrent) and in which each read returns the value last
    written, NONE before the first.

    Args:
        writes: those that took effect or may have.
        reads: those that were answered.
    """
    if not len(reads.value):
        return Impossible([], given_up=False)
    writes = _thinned(writes, reads)
    count = len(writes.value)
    register = _Register(Counter(reads.value.tolist()))
    value = np.concatenate((writes.value, reads.value)).tolist()
    end = np.concatenate((writes.end, reads.complete))
    order = np.lexsort(
        (
            np.tile(np.arange(len(value)), 2),
            np.repeat([0, 1], len(value)),
            np.concatenate((writes.invoke, reads.invoke, end)),
        )
    )
    loose = (end == NEVER_NS).tolist()
    found = []
    try:
        for event in order.tolist():
            ended, op = divmod(event, len(value))
            if loose[op]:
                if not ended:
                    register.loosen(value[op])
            elif op < count:
                if ended:
                    register.end_write(op)
                else:
                    register.begin_write(op, value[op])
            elif not ended:
                register.begin_read(op, value[op])
            elif not register.end_read(op):
                found.append(op - count)
    except _Overworked:
        return Impossible(found, given_up=True)
    return Impossible(found, given_up=False)
