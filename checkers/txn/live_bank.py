"""The check ``bank``: totals as in Jepsen's test, and each account between what was acknowledged and what was tried.

A total alone does not show reads of the past, nor a store that lost all transfers together. So each balance is bounded
as a counter is: what came in for certain before the read began, less what may have gone out before it ended, and the
other way round.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from chaos.models.transactions.bank import ACCOUNTS, MODEL, OPENING, TOTAL, F
from checkers.anomalies.catalogue import kinds_named
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.rows import Columns
from checkers.objects import bank
from checkers.objects.calls import Call, Calls
from checkers.objects.columns_fit import Moves, moves, sums_fit
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text
from checkers.objects.live import RULES, ObjectCheck
from checkers.objects.live_calls import Facts, calls_of, judged_of, says_something
from checkers.objects.rules import Budget
from checkers.txn.live import held_to
from checkers.txn.models import weaker_models

OUT_OF_BOUNDS: Final = "out-of-bounds"
RULES_OF_BANKS: Final = msgspec.structs.replace(RULES, init=TOTAL)
_REAL_TIME: Final = "strict-serializable"
"""The consistency model by which a read shows what was over before it began."""


def _transfers(columns: Columns, rows: Ints) -> list[Any]:
    """Source, target and amount of each."""
    return list(zip(*(columns[name][rows].tolist() for name in ("source", "target", "amount")), strict=True))


def _balances(columns: Columns, rows: Ints) -> list[Any]:
    """Balances by account."""
    values, starts = columns.lists("balances").of(rows)
    flat = values.tolist()
    return [dict(enumerate(flat[begin:end])) for begin, end in pairwise(starts.tolist())]


FACTS: Final = Facts(F.READ, _transfers, _balances)


def bank_fits(shard: QueueShard) -> bool:
    """Whether the columns show that every read shows the total in all accounts, nothing below zero, and is in bounds.

    Only of reads that show all accounts.
    """
    ops, columns = shard.ops, shard.operations
    said, ok = says_something(shard, F.READ), ops.type == Type.OK
    reads = np.flatnonzero(said & (ops.f == F.READ) & ok)
    shown = columns.lists("balances").of(reads)
    if not len(reads) or bool((shown.sizes != ACCOUNTS).any()):
        return False
    balance = shown.values.reshape(-1, ACCOUNTS)
    if int(balance.min()) < 0 or int(balance.max()) > TOTAL or bool((balance.sum(axis=1) != TOTAL).any()):
        return False
    moved, amount = np.flatnonzero(said & (ops.f != F.READ) & (ops.type != Type.FAIL)), columns["amount"]
    if not sums_fit(amount[moved]):
        return False
    begun, ended = ops.invoke[reads], ops.complete[reads]
    for account in range(ACCOUNTS):
        out, into = (moved[columns[side][moved] == account] for side in ("source", "target"))
        left, came = out[ok[out]], into[ok[into]]
        least_in, most_out = moves(ops.complete[came], amount[came]), moves(ops.invoke[out], amount[out])
        most_in, least_out = moves(ops.invoke[into], amount[into]), moves(ops.complete[left], amount[left])
        low = OPENING + least_in.until(begun, including=False) - most_out.until(ended, including=True)
        high = OPENING + most_in.until(ended, including=True) - least_out.until(begun, including=False)
        if bool(((balance[:, account] < low) | (balance[:, account] > high)).any()):
            return False
    return True


class BankCheck(ObjectCheck):
    """Money that transfers move and neither make nor lose."""

    name = "bank"
    help = "every read of all accounts shows the same total, nothing below zero, and what was acknowledged"
    anomalies = kinds_named("wrong-total", "negative-balance", OUT_OF_BOUNDS)
    model = MODEL
    judge = "bank"
    clean = f"every read shows {TOTAL} in all accounts together, and in each what was acknowledged"

    def fitting(self, shard: QueueShard) -> int | None:
        """Where every total is right and every balance within its bounds."""
        return judged_of(shard, F.READ) if bank_fits(shard) else None

    def calls(self, shard: QueueShard, context: Context) -> Calls:
        """The operations of one bank."""
        return calls_of(shard, context.run.words, FACTS)

    def answer(self, calls: Calls, budget: Budget, context: Context) -> Answer:
        """Totals, then bounds; bounds are allowed to be left where reads may be of the past."""
        answer = bank.check(calls, RULES_OF_BANKS, budget)
        wrong = out_of_bounds(calls.all)
        if wrong:
            allowed = _REAL_TIME not in weaker_models(held_to(context))
            answer.found[OUT_OF_BOUNDS] = Found(count=len(wrong), allowed=allowed, examples=wrong[:EXAMPLES])
        return answer


def _moves(pairs: Sequence[tuple[int, int]]) -> Moves:
    """Sums of (moment, amount)."""
    ordered = sorted(pairs)
    moments = np.array([moment for moment, _ in ordered], dtype=np.int64)
    return Moves(moments, np.cumsum([0, *(amount for _, amount in ordered)], dtype=np.int64))


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


def _both_ways(transfers: Sequence[Call], account: int) -> tuple[dict[bool, Moves], dict[bool, Moves]]:
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
