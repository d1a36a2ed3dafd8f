"""What was found, as results have it: occurrences with the transactions that show them, and the steps of cycles."""

from collections.abc import Callable
from typing import Any, Final

from chaos.core.verdict import Anomaly, Edge, Example
from checkers.txn.explain import Instance
from checkers.txn.judge import Anomalous
from checkers.txn.transactions import Kind, Transactions

SHOWN: Final = 64
"""Transactions that one example shows at most."""


class Examples:
    """The anomalies of one history.

    Args:
        transactions: all of it.
        lists: whether keys are lists.
        row: a transaction, by position, as examples show it.
        plain: a key or a value as JSON has it.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        lists: bool,
        row: Callable[[int], dict[str, Any]],
        plain: Callable[[Any], Any],
    ) -> None:
        self._t, self._lists, self._row, self._plain = transactions, lists, row, plain

    def anomaly(self, one: Anomalous, *, allowed: bool, key: int | None = None) -> Anomaly:
        """All that is told of an anomaly. ``key``: of the operations that show it, if it is one for all."""
        return Anomaly(
            count=one.count, allowed=allowed, examples=tuple(self._example(told, key=key) for told in one.told)
        )

    def micros(self, at: int) -> list[list[Any]]:
        """What a transaction did: ``[["append", 3, 7], ["r", 4, [1, 2]]]``."""
        return [self._micro(micro) for micro in range(int(self._t.first[at]), int(self._t.first[at + 1]))]

    def _example(self, instance: Instance, *, key: int | None) -> Example:
        number = self._t.number
        return Example(
            sentence=instance.sentence,
            key=key,
            at_ns=None if key is None or not instance.transactions else int(self._t.invoke[instance.transactions[0]]),
            ops=tuple(map(self._row, (*instance.transactions, *instance.witnesses)[:SHOWN])),
            circle=tuple(
                Edge(before=int(number[one.before]), after=int(number[one.after]), kind=one.kind, reason=one.reason)
                for one in instance.steps
            ),
        )

    def _micro(self, micro: int) -> list[Any]:
        t, kind = self._t, Kind(int(self._t.kind[micro]))
        value = t.shown(int(t.value[micro]))
        if self._lists and kind is Kind.READ and t.known[micro]:
            value = [t.shown(one) for one in t.read_of(micro)]
        return [kind.word, self._plain(t.keys[int(t.key[micro])]), self._plain(value)]
