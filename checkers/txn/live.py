"""The check ``transactions``: live transactions are held to the consistency models that the system promises."""

from typing import Any, Final

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example
from chaos.models.transactions.words import CHANGES, MODEL, UNTOLD
from checkers.anomalies.attribution import blamed_example
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import combine_anomalies, count_of, describe_operation, numbers
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.last_answers import last_from_ns
from checkers.history.words import words_of
from checkers.txn.examples import Examples
from checkers.txn.judge import Judgement, Options, judge
from checkers.txn.models import ALIASES, STRONGEST, boundary, weaker_models, why_never_broken
from checkers.txn.names import CYCLES, EMPTY, LIST_APPEND, RW_REGISTER, SCANS, Model
from checkers.txn.of_run import OfRun, transactions_of
from checkers.txn.transactions import Transactions

PHANTOM: Final = "phantom"
"""What no promise covers: a system that promises no model makes no values up either."""
INFERRED: Final = "cyclic-versions"
_SNAPSHOTS: Final = frozenset({"snapshot-isolation", "serializable"})
"""Under these a transaction that read a key and wrote it replaced what it read."""
_REAL_TIME: Final = frozenset({"strong-snapshot-isolation", "strict-serializable"})
"""Under these a transaction meets what others left that were over before it began."""
_SESSIONS: Final = frozenset({"strong-session-snapshot-isolation", "strong-session-serializable"})
"""Under these a process meets the values of a key in their order."""


def held_to(context: Context) -> tuple[str, ...]:
    """The models that a run's transactions are held to, by their usual names; none: nothing is promised."""
    asked, promised = context.run.consistency_models, context.run.promises.consistency_models
    names = asked or ((STRONGEST,) if promised is None else promised)
    return tuple(dict.fromkeys(ALIASES.get(name, name) for name in names))


def options_of(models: tuple[str, ...]) -> Options:
    """How transactions are judged that are held to some models.

    What these models say of the order of one key's values is used to find it, so what contradicts that order breaks
    one of them.
    """
    implied = weaker_models(models)
    return Options(
        models=models,
        wfr_keys=bool(implied & _SNAPSHOTS),
        sequential_keys=bool(implied & _SESSIONS),
        linearizable_keys=bool(implied & _REAL_TIME),
    )


class TransactionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What some spaces show.

    ``doubts``: why one is not decided. ``acked``: acknowledged transactions that change something. ``unread``: spaces
    of which nobody was told anything after the last heal.
    """

    anomalies: dict[str, Anomaly] = {}
    doubts: tuple[str, ...] = ()
    spaces: int = 0
    transactions: int = 0
    acked: int = 0
    unread: tuple[int, ...] = ()


class TransactionsCheck(OfEachKey):
    """Transactions against consistency models."""

    name = "transactions"
    help = "transactions hold the consistency models that the system promises (Elle's anomalies)"
    anomalies = kinds_named(*(name for name in (*SCANS, *CYCLES)))

    def applies(self, context: Context) -> str | None:
        """To runs of transactions."""
        return None if context.run.model == MODEL else f"it is a run of the model {context.run.model}"

    def examine(self, shard: QueueShard, context: Context) -> TransactionSummary:
        """Look at one space: clients stay in theirs, so no cycle leaves it."""
        found = transactions_of(shard.operations)
        anomalies: dict[str, Anomaly] = {}
        doubts: tuple[str, ...] = ("there are transactions on lists and others on registers",)
        if found.lists is not None:
            model: Model = LIST_APPEND if found.lists else RW_REGISTER
            verdict = _judged(found.transactions, model, held_to(context))
            anomalies, doubts = _told(verdict, found, shard, context), (verdict.reason,)
        return TransactionSummary(
            anomalies=anomalies,
            doubts=tuple(f"key space {shard.key}: {one}" for one in doubts if one),
            spaces=1,
            transactions=len(found.rows),
            acked=_acked(shard),
            unread=() if is_read_at_last(shard, context) else (shard.key,),
        )

    def merge(self, left: TransactionSummary, right: TransactionSummary) -> TransactionSummary:
        """Add two spaces."""
        return TransactionSummary(
            anomalies=combine_anomalies((left.anomalies, right.anomalies)),
            doubts=(*left.doubts, *right.doubts),
            spaces=left.spaces + right.spaces,
            transactions=left.transactions + right.transactions,
            acked=left.acked + right.acked,
            unread=tuple(sorted((*left.unread, *right.unread))),
        )

    def held(self, summary: Any, anomalies: dict[str, Anomaly], context: Context) -> Held:  # noqa: ARG002
        """Which models held."""
        acked = summary.acked if isinstance(summary, TransactionSummary) else 0
        models, seen = held_to(context), words_of(context.run).changes_of(acked)
        if not models:
            return Held(first=f"{seen} acknowledged, and the system promises no consistency model")
        return Held(first=f"All answers to the {seen} that were acknowledged fit {join_names(models)}")

    def conclude(self, summary: TransactionSummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        if summary is None:
            return CheckResult(name=self.name, valid=UNKNOWN, found="nothing", reason=f"{self.name}: no transaction")
        unread = f"{numbers('key space', summary.unread)} not read after the last heal" if summary.unread else ""
        anomalies, models = dict(sorted(summary.anomalies.items())), held_to(context)
        doubts = "; ".join(filter(None, (*summary.doubts, unread, why_never_broken(models))))
        wrong = any(not one.allowed for one in anomalies.values())
        told_of = ", ".join(
            f"{one.count} {name}{' (allowed)' if one.allowed else ''}" for name, one in anomalies.items()
        )
        # an order of versions that was inferred from the models asked for rules out no weaker one
        out = boundary([name for name in anomalies if name != INFERRED]).weakest
        rest = f"rules out {join_names(out)}" if out else ""
        clean = f"nothing that {join_names(models)} forbids" if models else "no anomaly, and no model is promised"
        return CheckResult(
            name=self.name,
            valid=False if wrong else UNKNOWN if doubts else True,
            found="; ".join(filter(None, (told_of, rest, doubts))) or clean,
            examined=f"{count_of(summary.transactions, 'transaction')}, held to {join_names(models) or 'no model'}",
            reason=doubts,
            anomalies=anomalies,
        )


def _judged(transactions: Transactions, model: Model, models: tuple[str, ...]) -> Judgement:
    """The verdict under some models; what only the strongest one forbids is told beside it."""
    strictly = judge(transactions, model, options_of((STRONGEST,)))
    if STRONGEST in models:
        return strictly
    verdict = judge(transactions, model, options_of(models))
    every = {**strictly.anomalies, **strictly.beside}
    beside = {name: one for name, one in every.items() if name not in verdict.anomalies and name != EMPTY}
    return msgspec.structs.replace(verdict, beside={**beside, **verdict.beside})


def _told(verdict: Judgement, found: OfRun, shard: QueueShard, context: Context) -> dict[str, Anomaly]:
    """What was found, with its transactions."""

    def row(at: int) -> dict[str, Any]:
        op = int(found.rows[at])
        return {"op": op, **describe_operation(shard, context, op), "value": examples.micros(at)}

    def blame(at: int, sentence: str, *, what: str, **facts: Any) -> Example:
        return blamed_example(shard, context, int(found.rows[at]), sentence, what=what, **facts)

    lists = bool(found.lists)
    examples = Examples(found.transactions, lists=lists, row=row, plain=lambda value: value, blame=blame)
    every = {name: (one, name != PHANTOM) for name, one in verdict.beside.items()}
    every |= {name: (one, False) for name, one in verdict.anomalies.items() if name != EMPTY}
    return {name: examples.anomaly(one, allowed=allowed) for name, (one, allowed) in every.items()}


def _acked(shard: QueueShard) -> int:
    ops = shard.ops
    return int((np.isin(ops.f, list(CHANGES)) & np.equal(ops.type, Type.OK)).sum())


def is_read_at_last(shard: QueueShard, context: Context) -> bool:
    """Whether somebody was told what a key holds after the last heal."""
    ops = shard.ops
    late = np.flatnonzero(np.equal(ops.type, Type.OK) & (ops.invoke >= last_from_ns(shard, context)))
    return any(length != UNTOLD for one in shard.operations["length"][late] for length in one)
