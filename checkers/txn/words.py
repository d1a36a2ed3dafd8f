"""Transactions and what they do, in words."""

from typing import Any, Final

from chaos.core.op import Type
from checkers.txn.transactions import Kind, Transactions

_LONG: Final = 24


def as_edn(value: Any) -> str:
    """A value as EDN has it."""
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(as_edn, value))}]"
    return "nil" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


class Words:
    """The words for one history's transactions. ``lists``: whether reads are of lists."""

    def __init__(self, transactions: Transactions, *, lists: bool) -> None:
        self.t = transactions
        self.lists = lists

    def name(self, transaction: int) -> str:
        """How people find a transaction."""
        return f"transaction {int(self.t.number[transaction])}"

    def who(self, transaction: int) -> str:
        """A transaction with its process."""
        return f"{self.name(transaction)} of process {int(self.t.process[transaction])}"

    def key(self, micro: int) -> str:
        """The key of a micro-operation."""
        return f"key {self.key_id(int(self.t.key[micro]))}"

    def key_id(self, key: int) -> str:
        """A key's name."""
        return as_edn(self.t.keys[key])

    def value(self, value: int) -> str:
        """A value or an element."""
        return as_edn(self.t.shown(value))

    def read(self, micro: int) -> str:
        """What a micro-operation read; the middle of a long list is left out."""
        if not self.t.known[micro]:
            return "nobody knows what"
        if not self.lists:
            return self.value(int(self.t.value[micro]))
        elements = [self.value(one) for one in self.t.read_of(micro)]
        if len(elements) > _LONG:
            elements = [*elements[: _LONG // 2], f"… {len(elements) - _LONG} more …", *elements[-_LONG // 2 :]]
        return f"[{' '.join(elements)}]"

    def micro(self, micro: int) -> str:
        """A micro-operation: ``append x 3``, ``r x [1 3]``."""
        kind = Kind(int(self.t.kind[micro]))
        what = self.read(micro) if kind is Kind.READ else self.value(int(self.t.value[micro]))
        return f"{kind.word} {self.key_id(int(self.t.key[micro]))} {what}"

    def transaction(self, transaction: int) -> str:
        """All that a transaction did: ``[append x 3] [r y nil]``."""
        lo, hi = int(self.t.first[transaction]), int(self.t.first[transaction + 1])
        return " ".join(f"[{self.micro(one)}]" for one in range(lo, hi))

    def outcome(self, transaction: int) -> str:
        """What became of it."""
        return Type(int(self.t.type[transaction])).word
