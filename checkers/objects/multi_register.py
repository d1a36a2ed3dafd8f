"""Several registers that are read and written together: every transaction takes effect at one moment.

Source: ``knossos.model/multi-register``. The search is that of all objects; its state is what all registers hold.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls, freeze
from checkers.objects.finding import Answer, show
from checkers.objects.linearization_answer import linearization_answer
from checkers.objects.linearization_search import Left, Step
from checkers.objects.rules import Budget, Rules

_MICRO: Final = 3
_READS: Final = ("r", "read")
_WRITES: Final = ("w", "write")
NOTHING: Final = freeze(None)
"""What a register holds before it is written."""
UNREAD: Final = ("unread",)
"""What a register holds that nobody is left to read; no value of a history, which are frozen, is equal to it."""


class Micro(NamedTuple):
    """A read that found a value, or a write of one."""

    is_write: bool
    key: Hashable
    value: Hashable


State = frozenset[tuple[Hashable, Hashable]]
"""What each register holds that was written."""


class MultiRegisterSpec:
    """Registers. A step is a tuple of ``Micro``, done in their order.

    Args:
        steps: of the search.
        init: what each register holds at first.
    """

    def __init__(self, steps: Sequence[Step], init: Hashable) -> None:
        self.lacking = -1
        self._init = init
        self._makers: dict[tuple[Hashable, Hashable], list[int]] = {}
        self._seekers: dict[tuple[Hashable, Hashable], list[int]] = {}
        for i in range(len(steps) - 1, -1, -1):  # from the back: what is left is mostly there
            written: set[Hashable] = set()
            for one in steps[i].what:
                if one.is_write:
                    written.add(one.key)
                    self._makers.setdefault((one.key, one.value), []).append(i)
                elif steps[i].complete != NEVER and one.key not in written:
                    self._seekers.setdefault((one.key, one.value), []).append(i)

    def initial(self) -> Hashable:
        """Nothing was written."""
        return frozenset()

    def apply(self, state: State, what: tuple[Micro, ...]) -> Hashable | None:
        """What the registers hold behind the operation."""
        held = dict(state)
        for one in what:
            if one.is_write:
                held[one.key] = one.value
            elif held.get(one.key, self._init) != one.value:
                return None
        return frozenset(held.items())

    def onward(self, before: State, after: State, left: Left) -> Any:
        """None if a value is overwritten that is still to be read, and nobody is left who would write it again.

        Values of a register that nobody is left to read are one.
        """
        new = dict(after)
        for pair in self._left_behind(dict(before), new):
            seeker = next((i for i in self._seekers.get(pair, ()) if not left.taken(i)), -1)
            if seeker >= 0 and all(left.taken(i) for i in self._makers.get(pair, ())):
                self.lacking = seeker
                return None
        return frozenset((key, value if self._is_sought(key, value, left) else UNREAD) for key, value in after)

    def _is_sought(self, key: Hashable, value: Hashable, left: Left) -> bool:
        """Whether somebody is left who reads a value."""
        return any(not left.taken(i) for i in self._seekers.get((key, value), ()))

    def _left_behind(
        self, old: Mapping[Hashable, Hashable], new: Mapping[Hashable, Hashable]
    ) -> Iterator[tuple[Hashable, Hashable]]:
        for key, value in new.items():
            before = old.get(key, self._init)
            if before != value:
                yield key, before


def _micros(value: Any, call: Call) -> list[tuple[str, Any, Any]]:
    """The micro-operations of a value. Raises HistoryError."""
    if not isinstance(value, tuple | list):
        raise HistoryError(f"op {call.number}: a transaction is a list of micro-operations, not {show(value)}")
    found = []
    for micro in value:
        if not isinstance(micro, tuple | list) or len(micro) != _MICRO:
            raise HistoryError(f"op {call.number}: a micro-operation is a word, a key and a value, not {show(micro)}")
        word = str(micro[0]).removeprefix(":")
        if word not in (*_READS, *_WRITES):
            raise HistoryError(f"op {call.number}: a register has no {word}")
        found.append((word, freeze(micro[1]), micro[2]))
    return found


def step_of(call: Call, rules: Rules) -> Step | None:
    """What an operation says, a tuple of ``Micro``; None if it says nothing.

    Raises:
        HistoryError: registers do not have it.
    """
    if call.outcome is Type.FAIL:
        return None
    is_ok = call.outcome is Type.OK
    micros = [
        Micro(word in _WRITES, key, freeze(value))
        for word, key, value in _micros(call.output if is_ok and call.output is not None else call.argument, call)
        if word in _WRITES or (is_ok and not (value is None and rules.nil_means == "any"))
    ]
    if not micros:
        return None
    changes = any(one.is_write for one in micros)
    return Step(tuple(micros), changes=changes, invoke=call.invoke, complete=call.complete if is_ok else NEVER)


def _sought(steps: Sequence[Step]) -> set[tuple[Hashable, Hashable]]:
    """The values of registers that complete steps read."""
    return {(one.key, one.value) for step in steps if step.complete != NEVER for one in step.what if not one.is_write}


def _helps(step: Step, sought: set[tuple[Hashable, Hashable]]) -> bool:
    """Whether an open step may explain a read; one that writes what nobody reads can only be in the way."""
    return any((one.key, one.value) in sought for one in step.what if one.is_write)


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
    """Whether the operations of one group of registers are linearizable.

    Raises:
        HistoryError: an operation that registers do not have.
    """
    told = [(call, step) for call in calls.all if (step := step_of(call, rules)) is not None]
    sought = _sought([step for _, step in told])
    told = [one for one in told if one[1].complete != NEVER or _helps(one[1], sought)]
    return linearization_answer(told, lambda steps: MultiRegisterSpec(steps, freeze(rules.init)), budget)
