"""The check ``bank``: totals as in Jepsen's test, and each account between what was acknowledged and what was tried.

A total alone does not show reads of the past, nor a store that lost all transfers together. So each balance is bounded
as a counter is: what came in for certain before the read began, less what may have gone out before it ended, and the
other way round.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from chaos.models.transactions.bank import ACCOUNTS, MODEL, OPENING, TOTAL, F
from checkers.anomalies.catalogue import kinds_named
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Column, Ints
from checkers.objects import bank
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text
from checkers.objects.live import RULES, ObjectCheck, calls_of
from checkers.objects.rules import Budget
from checkers.txn.live import held_to
from checkers.txn.models import weaker_models

OUT_OF_BOUNDS: Final = "out-of-bounds"
_RULES: Final = msgspec.structs.replace(RULES, init=TOTAL)
_REAL_TIME: Final = "strict-serializable"
"""The consistency model by which a read shows what was over before it began."""


def _facts(columns: Mapping[str, Column], row: int) -> tuple[Any, Any]:
    """Argument and output of an operation: (source, target, amount), and balances by account."""
    if columns["f"][row] == F.TRANSFER:
        return tuple(int(columns[name][row]) for name in ("source", "target", "amount")), None
    return None, dict(enumerate(map(int, columns["balances"][row])))


class BankCheck(ObjectCheck):
    """Money that transfers move and neither make nor lose."""

    name = "bank"
    help = "every read of all accounts shows the same total, nothing below zero, and what was acknowledged"
    anomalies = kinds_named("wrong-total", "negative-balance", OUT_OF_BOUNDS)
    model = MODEL
    judge = "bank"
    clean = f"every read shows {TOTAL} in all accounts together, and in each what was acknowledged"

    def calls(self, shard: QueueShard, context: Context) -> Calls:
        """The operations of one bank."""
        return calls_of(shard, context.run.words, _facts)

    def answer(self, calls: Calls, budget: Budget, context: Context) -> Answer:
        """Totals, then bounds; bounds are allowed to be left where reads may be of the past."""
        answer = bank.check(calls, _RULES, budget)
        wrong = out_of_bounds(calls.all)
        if wrong:
            allowed = _REAL_TIME not in weaker_models(held_to(context))
            answer.found[OUT_OF_BOUNDS] = Found(count=len(wrong), allowed=allowed, examples=wrong[:EXAMPLES])
        return answer


class _Moves(NamedTuple):
    """Amounts that came into an account, or left it, in order of a moment: the moments, and the sums until then."""

    moments: Ints
    sums: Ints

    def until(self, moments: Ints, *, including: bool) -> Ints:
        """The sum of what moved before each of these moments, or at it."""
        return self.sums[np.searchsorted(self.moments, moments, side="right" if including else "left")]


def _moves(pairs: Sequence[tuple[int, int]]) -> _Moves:
    """Sums of (moment, amount)."""
    ordered = sorted(pairs)
    moments = np.array([moment for moment, _ in ordered], dtype=np.int64)
    return _Moves(moments, np.cumsum([0, *(amount for _, amount in ordered)], dtype=np.int64))


def out_of_bounds(calls: Sequence[Call]) -> list[tuple[str, tuple[Call, ...]]]:
    """Reads of an account below what it must hold or above what it can, in sentences; each read once. Pure.

    Args:
        calls: operations of one bank; those that are over at the same moment count as concurrent.
    """
    transfers = [call for call in calls if call.f == F.TRANSFER.word and call.outcome is not Type.FAIL]
    reads = [call for call in calls if call.f == F.READ.word and call.outcome is Type.OK and call.output]
    begun = np.array([call.invoke for call in reads], dtype=np.int64)
    ended = np.array([call.complete for call in reads], dtype=np.int64)
    wrong: dict[int, str] = {}
    for account in range(ACCOUNTS):
        sure, maybe = _both_ways(transfers, account)
        low = OPENING + sure[True].until(begun, including=False) - maybe[False].until(ended, including=True)
        high = OPENING + maybe[True].until(ended, including=True) - sure[False].until(begun, including=False)
        shown = np.array([call.output.get(account, OPENING) for call in reads], dtype=np.int64)
        for at in np.flatnonzero((shown < low) | (shown > high)).tolist():
            wrong.setdefault(
                at,
                f"{call_text(reads[at])} shows {shown[at]} in account {account}, "
                f"which held from {low[at]} to {high[at]} then",
            )
    return [(sentence, (reads[at],)) for at, sentence in sorted(wrong.items())]


def _both_ways(transfers: Sequence[Call], account: int) -> tuple[dict[bool, _Moves], dict[bool, _Moves]]:
    """Of one account what moved for certain, by when it was over, and what may have, by when it began.

    The keys say which way: True into the account.
    """
    own = {way: [call for call in transfers if call.argument[way] == account] for way in (False, True)}
    sure = {
        way: _moves([(call.complete, call.argument[2]) for call in some if call.complete != NEVER])
        for way, some in own.items()
    }
    maybe = {way: _moves([(call.invoke, call.argument[2]) for call in some]) for way, some in own.items()}
    return sure, maybe
