"""Cycles in words: why each transaction of one comes before the next."""

from typing import Final, Protocol

import msgspec
import numpy as np

from checkers.cycles.shapes import Relation, steps_of
from checkers.history.columns import Ints
from checkers.txn.cycle_names import Cycle
from checkers.txn.dependencies import Dependencies
from checkers.txn.kinds import Found
from checkers.txn.words import Words

_SHOWN: Final = 32
"""Transactions of a component that are shown where no cycle of it is."""
_NAMED: Final = 4
"""Those of them that the sentence names."""


_DEPENDENCIES: Final = (Relation.WW, Relation.WR, Relation.RW)
_BY_ORDER: Final = (Relation.WW, Relation.RW)
"""What rests on the order of a key's values."""


class Step(msgspec.Struct, frozen=True):
    """Why one transaction of a cycle comes before the next. ``kind``: ww, wr, rw, process or realtime."""

    before: int
    after: int
    kind: str
    reason: str


class Instance(msgspec.Struct, frozen=True):
    """One occurrence.

    ``transactions``: those that show it, by position; the guilty one first, or a cycle in its order. ``witnesses``:
    others that show in which order keys took their values.
    """

    sentence: str
    transactions: tuple[int, ...]
    steps: tuple[Step, ...] = ()
    witnesses: tuple[int, ...] = ()


class Evidence(Protocol):
    """What tells in which order the keys of a history took their values."""

    def source(self, before: int, after: int) -> str:
        """Which source says that the value of one micro-operation comes before that of another; empty for reads."""

    def witnesses(self, before: int, after: int) -> tuple[int, ...]:
        """Transactions that show it."""


class Explainer:
    """The words for cycles of one history.

    Args:
        words: of the history.
        owner: of each micro-operation its transaction.
        pairs: dependencies among the transactions that are on cycles.
        evidence: of the order of values.
    """

    def __init__(self, words: Words, owner: Ints, pairs: Dependencies, evidence: Evidence) -> None:
        self.words, self.owner, self.evidence = words, owner, evidence
        order = np.lexsort((pairs.relation, pairs.target, pairs.source))
        self.pairs = pairs.only(order)

    def cycle(self, cycle: Cycle) -> Instance:
        """A cycle with the reason of each step."""
        pairs = list(zip(steps_of(cycle.nodes), cycle.steps, strict=True))
        shown = [self._shown(a, b, relation) for (a, b), relation in pairs]
        steps = tuple(
            Step(a, b, relation.word, self._reason(a, b, relation, micros) + self._second(cycle, place))
            for place, (((a, b), relation), micros) in enumerate(zip(pairs, shown, strict=True))
        )
        count = len(cycle.nodes)
        told = "; ".join(step.reason for step in steps)
        who = "both come before the other" if count == 2 else f"all {count} come before each other"  # noqa: PLR2004 - a pair
        ordered = [micros for (_, relation), micros in zip(pairs, shown, strict=True) if relation in _BY_ORDER]
        beside = dict.fromkeys(one for micros in ordered if micros for one in self.evidence.witnesses(*micros))
        witnesses = tuple(one for one in beside if one not in cycle.nodes)
        return Instance(f"{told}: so {who}", cycle.nodes, steps, witnesses)

    def _reason(self, a: int, b: int, relation: Relation, micros: tuple[int, int] | None) -> str:
        one, other = self.words.name(a), self.words.name(b)
        if relation is Relation.REALTIME:
            return f"{one} was over before {other} began"
        if micros is None:
            return f"process {int(self.words.t.process[a])} ran {one} before {other}"
        return self.dependency(relation, *micros)

    def _second(self, cycle: Cycle, place: int) -> str:
        """A second reason of a step, as the end of the first one; empty without."""
        relation = cycle.second_reasons.get(place)
        if relation is None:
            return ""
        a, b = steps_of(cycle.nodes)[place]
        return f", and {self._reason(a, b, relation, self._shown(a, b, relation))}"

    def dependency(self, relation: Relation, before: int, after: int) -> str:
        """Why the transaction of one micro-operation comes before that of another, by ww, wr or rw."""
        return (self._of_list if self.words.lists else self._of_register)(relation, before, after)

    def _shown(self, a: int, b: int, relation: Relation) -> tuple[int, int] | None:
        """The micro-operations that show a dependency; None for an order of whole transactions."""
        if relation not in _DEPENDENCIES:
            return None
        lo, hi = (int(np.searchsorted(self.pairs.source, a, side=side)) for side in ("left", "right"))
        own = (self.pairs.target[lo:hi] == b) & (self.pairs.relation[lo:hi] == int(relation))
        at = lo + int(np.flatnonzero(own)[0])
        return int(self.pairs.before[at]), int(self.pairs.after[at])

    def _names(self, before: int, after: int) -> tuple[str, str, str, str, str]:
        """Both transactions, the key, and both values in words."""
        words, value = self.words, self.words.t.value
        one, other = (words.name(int(self.owner[micro])) for micro in (before, after))
        return one, other, words.key(after), words.value(int(value[before])), words.value(int(value[after]))

    def _of_list(self, relation: Relation, before: int, after: int) -> str:
        one, other, key, first, second = self._names(before, after)
        if relation is Relation.WW:
            return f"{other} appended {second} to {key} behind {first} of {one}"
        if relation is Relation.WR:
            return f"{other} read {key} up to {first}, which {one} had appended"
        return f"{one} read {key} as {self.words.read(before)}, without {second}, which {other} appended"

    def _of_register(self, relation: Relation, before: int, after: int) -> str:
        one, other, key, first, second = self._names(before, after)
        if relation is Relation.WR:
            return f"{other} read {key} as {second}, which {one} had written"
        source = self.evidence.source(before, after)
        if relation is Relation.WW:
            return f"{other} wrote {second} to {key} after {first} of {one} (by {source})"
        return f"{one} read {key} as {first}, before {other} wrote {second} (by {source})"

    def component(self, one: Found) -> Instance:
        """A component of which only that it holds a forbidden cycle is told."""
        members = tuple(one.members[:_SHOWN].tolist())
        named = ", ".join(map(self.words.name, members[:_NAMED]))
        more = f" and {len(one.members) - _NAMED} more" if len(one.members) > _NAMED else ""
        return Instance(f"some of {named}{more} come before each other", members)
