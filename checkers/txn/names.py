"""The names of all anomalies of transactions, as the reference checker has them."""

from typing import Final, Literal

from checkers.txn.kinds import KINDS
from checkers.txn.models import COMMIT_ORDER_CYCLE, CYCLE_EXISTS

LIST_APPEND: Final = "list-append"
RW_REGISTER: Final = "rw-register"
Model = Literal["list-append", "rw-register"]
"""What the keys of transactions are."""

EMPTY: Final = "empty-transaction-graph"
"""No transaction depends on any other."""

CYCLES: Final = (*KINDS, *CYCLE_EXISTS.values(), *COMMIT_ORDER_CYCLE.values())
"""What an order of transactions shows."""

SCANS: Final = (
    "G1a",
    "G1b",
    "cyclic-versions",
    "dirty-update",
    "duplicate-elements",
    "future-read",
    "incompatible-order",
    "internal",
    "lost-update",
    "phantom",
)
"""What needs no cycle."""

UNDONE: Final = frozenset({"phantom", EMPTY})
"""What the rest of a history that is cut off may undo whatever is missing: somebody may yet have brought the value."""
