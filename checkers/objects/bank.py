"""Accounts whose money is moved about: every read of all accounts shows the same total, and nothing below zero.

Source: ``jepsen.tests.bank``. A read gives a map of accounts to balances; transfers are not looked at. The total is
``init`` if it is said, else that of most reads (of the first of them, where several totals are as frequent): then one
that was wrong from the beginning is not seen.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from chaos.core.op import Type
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.objects.rules import Budget, Rules

NAMES = ("wrong-total", "nil-balance", "negative-balance")


def _balances(call: Call) -> Mapping[Any, Any] | None:
    """What an ok read of all accounts shows."""
    if call.f != "read" or call.outcome is not Type.OK or not isinstance(call.output, Mapping):
        return None
    return call.output or None


def _is_number(balance: Any) -> bool:
    return isinstance(balance, int) and not isinstance(balance, bool)


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - there is nothing to search
    """The answer for one bank."""
    reads, shown = calls.meant(_balances)
    if not reads:
        return Answer(reason="no read shows the balances of accounts")
    if rules.init is not None and not _is_number(rules.init):
        return Answer(reason=f"--init {show(rules.init)} is no total: give a whole number")
    whole = [all(map(_is_number, balances.values())) for balances in shown]
    totals = [sum(balances.values()) if fine else None for balances, fine in zip(shown, whole, strict=True)]
    total, source = _total(totals, rules)
    found: dict[str, list[tuple[str, tuple[Call, ...]]]] = {}
    for read, balances, own in zip(reads, shown, totals, strict=True):
        if own is None:
            sentence = f"{call_text(read)} shows an account without a balance"
            found.setdefault("nil-balance", []).append((sentence, (read,)))
        elif own != total:
            right = () if rules.init is not None else (reads[totals.index(total)],)
            sentence = f"{call_text(read)} shows {own} in all accounts together, {source} {show(total)}"
            found.setdefault("wrong-total", []).append((sentence, (read, *right)))
        elif min(balances.values()) < 0:
            account, balance = min(balances.items(), key=lambda one: one[1])
            sentence = f"{call_text(read)} shows {balance} in account {show(account)}"
            found.setdefault("negative-balance", []).append((sentence, (read,)))
    return Answer(
        found={name: Found(count=len(cases), examples=cases[:EXAMPLES]) for name, cases in found.items()},
        facts={"reads": len(reads)},
    )


def _total(totals: list[int | None], rules: Rules) -> tuple[Any, str]:
    """The total there has to be, and who says so."""
    if rules.init is not None:
        return rules.init, "where there were at first"
    counts = Counter(one for one in totals if one is not None)
    return (counts.most_common(1)[0][0] if counts else None), "where most reads show"
