"""What ``long-fork``, ``monotonic`` and ``multi-register`` have in common: transactions on registers of one space.

A workload says of each operation that is due which micro-operations it has. A client stays in one space, so that no
order leaves it. Groups of keys follow each other by the clock alone: all workers use the same one at a time.
"""

from collections.abc import Sequence
from typing import Any, Final

from chaos.models.transactions.words import Do, F, Micro, Transaction
from chaos.workload.final import FinalSpec, Limits, Part, Steps
from chaos.workload.objects.final_reads_of_objects import asked_until_ok, given_up_at
from chaos.workload.transactions.transactions import LastTransactions

NEEDS: Final = frozenset({F.REGISTER_TXN, F.REGISTER_READ})


class LastGroups(LastTransactions):
    """Every group of every space is read once more, each by a transaction of its own.

    Args:
        spec: the spaces, and how long an operation may take.
        width: how many keys a group has.
    """

    what = "groups of keys read once more"

    def __init__(self, spec: FinalSpec, width: int) -> None:
        super().__init__(spec, F.REGISTER_READ)
        self._width = width

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read one group after the other; ``notes`` say of each worker the highest key that it used."""
        until_ns = given_up_at(limits, now_ns)
        for group in range(max(notes, default=-1) // self._width + 1):
            argument = Transaction(reads_of_group(group, self._width))
            missing = yield from asked_until_ok(self._read, argument, self._spec.op_timeout_s, until_ns)
            if missing:
                return missing
        return ""


def reads_of_group(group: int, width: int) -> tuple[Micro, ...]:
    """A read of each key of a group. Pure."""
    return tuple(Micro(Do.READ, key) for key in range(group * width, (group + 1) * width))
