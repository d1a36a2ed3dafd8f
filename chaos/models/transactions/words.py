"""What clients of transactions ask for and are told: transactions of micro-operations on the keys of one space.

A *space* is the key of an operation. Each space has keys of its own, numbered from 0, and a transaction stays in one.
"""

from enum import IntEnum
from typing import Final, TypeAlias

import msgspec

from chaos.core.op import Word

MODEL: Final = "transaction"
"""The model's name."""


class F(Word):
    """What a transaction works on, and whether it changes anything. The numbers are part of the on-disk format."""

    LIST_TXN = 1  # appends to lists and reads them; at least one append
    LIST_READ = 2
    REGISTER_TXN = 3  # writes registers and reads them; at least one write
    REGISTER_READ = 4


OF_LISTS: Final = frozenset({F.LIST_TXN, F.LIST_READ})
"""The words whose keys are lists; those of the others are registers."""
CHANGES: Final = frozenset({F.LIST_TXN, F.REGISTER_TXN})

UNTOLD: Final = -1
"""The length of what was not told, or was not asked for."""
REGISTERS: Final = 3
"""So many registers are one group of the workload ``multi-register``: keys 0 to 2 of a space, 3 to 5, …"""
FIELDS: Final = 3
"""Numbers that store a micro-operation: what it does, its key, its value."""


class Do(IntEnum):
    """What a micro-operation does. The numbers are part of the on-disk format."""

    READ = 0
    APPEND = 1
    WRITE = 2

    @property
    def word(self) -> str:
        """The word used in tables and reports."""
        return ("r", "append", "w")[self]


class Micro(msgspec.Struct, frozen=True):
    """One micro-operation. ``value``: what is appended or written, from 0 and below 2^31; 0 of a read."""

    do: Do
    key: int
    value: int = 0


class Transaction(msgspec.Struct, frozen=True):
    """The argument of every word: micro-operations in their order."""

    micros: tuple[Micro, ...]


Seen: TypeAlias = list[int] | None
"""What one read was told: the elements of a list; of a register its value alone, or nothing. None: it was not told."""


class Reads(msgspec.Struct):
    """The result of every word: for each micro-operation what it read, None for one that is no read."""

    seen: list[Seen]
