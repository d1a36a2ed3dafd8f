"""What was found, as results have it: occurrences with the transactions that show them, and the steps of cycles."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Edge, Example
from checkers.txn.explain import Instance
from checkers.txn.judge import Anomalous
from checkers.txn.transactions import Kind, Transactions

SHOWN: Final = 64
"""Transactions that one example shows at most."""


class Blame(Protocol):
    """How an occurrence is told of which one transaction, by position, was answered wrongly or closed the circle.

    ``what``: it in words. ``facts``: the other fields.
    """

    def __call__(self, at: int, sentence: str, *, what: str, **facts: Any) -> Example:
        """The occurrence, with who answered the transaction and under which fault."""
        ...


class Examples:
    """The anomalies of one history.

    Args:
        transactions: all of it.
        lists: whether keys are lists.
        row: a transaction, by position, as examples show it.
        plain: a key or a value as JSON has it.
        blame: see there; None where nobody knows of nodes and faults.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        lists: bool,
        row: Callable[[int], dict[str, Any]],
        plain: Callable[[Any], Any],
        blame: Blame | None = None,
    ) -> None:
        self._t, self._lists, self._row, self._plain, self._blame = transactions, lists, row, plain, blame

    def anomaly(self, one: Anomalous, *, allowed: bool) -> Anomaly:
        """All that is told of an anomaly."""
        return Anomaly(count=one.count, allowed=allowed, examples=tuple(map(self._example, one.told)))

    def micros(self, at: int) -> list[list[Any]]:
        """What a transaction did: ``[["append", 3, 7], ["r", 4, [1, 2]]]``."""
        return [self._micro(micro) for micro in range(int(self._t.first[at]), int(self._t.first[at + 1]))]

    def _example(self, instance: Instance) -> Example:
        number, shown = self._t.number, (*instance.transactions, *instance.witnesses)
        circle = tuple(
            Edge(before=int(number[one.before]), after=int(number[one.after]), kind=one.kind, reason=one.reason)
            for one in instance.steps
        )
        if self._blame is None or not instance.transactions:
            return Example(sentence=instance.sentence, ops=tuple(map(self._row, shown[:SHOWN])), circle=circle)
        at = self._blamed(instance)
        first = (at, *(one for one in shown if one != at))
        return self._blame(
            at,
            instance.sentence,
            what=f"transaction {int(number[at])}",
            ops=tuple(map(self._row, first[:SHOWN])),
            circle=circle,
        )

    def _blamed(self, instance: Instance) -> int:
        """The transaction that was answered wrongly: the first; of a circle the last answered one, which closed it."""
        if not instance.steps:
            return instance.transactions[0]
        complete, kind = self._t.complete, self._t.type
        answered = [one for one in instance.transactions if kind[one] == Type.OK]
        return max(answered, key=lambda one: int(complete[one]), default=instance.transactions[0])

    def _micro(self, micro: int) -> list[Any]:
        t, kind = self._t, Kind(int(self._t.kind[micro]))
        value = t.shown(int(t.value[micro]))
        if self._lists and kind is Kind.READ and t.known[micro]:
            value = [t.shown(one) for one in t.read_of(micro)]
        return [kind.word, self._plain(t.keys[int(t.key[micro])]), self._plain(value)]
