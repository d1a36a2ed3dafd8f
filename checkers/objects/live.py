"""Objects of live runs: the models that judge imported files judge the tables of a run, key by key.

Nearly every key is as it has to be, and its columns show it (``columns_fit``): only where they do not, its operations
are made of them (``live_calls``) and judged one by one, which says what is wrong.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult
from chaos.models.objects import counter as counters
from chaos.models.objects import register as registers
from chaos.models.objects import set as sets
from chaos.models.objects.answers import UNTOLD
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import combine_anomalies, count_of, numbers
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.last_answers import last_from_ns
from checkers.history.rows import Columns
from checkers.history.words import words_of
from checkers.objects import minimise, registry
from checkers.objects.calls import Calls
from checkers.objects.columns_fit import counter_fits, set_fits
from checkers.objects.finding import Answer
from checkers.objects.full_set import FAILED
from checkers.objects.linearization_answer import NAME
from checkers.objects.live_calls import Facts, calls_of, judged_of, numbers_found
from checkers.objects.live_examples import anomalies_of
from checkers.objects.register_chains import register_fits
from checkers.objects.rules import Budget, Rules

RULES: Final = Rules(nil_means="absent", strict=True, linearizable=True)
"""A client of ours knows what it was told: nothing there is an answer, and nothing that is wrong is a convention."""

BUDGET_S: Final = 60.0
"""For the search of one key's order."""


def _register_arguments(columns: Columns, rows: Ints) -> list[Any]:
    cas = columns["f"][rows] == registers.F.CAS
    pairs = zip(cas.tolist(), columns["expected"][rows].tolist(), columns["value"][rows].tolist(), strict=True)
    return [(expected, value) if compared else value for compared, expected, value in pairs]


def _elements(columns: Columns, rows: Ints) -> list[Any]:
    values, starts = columns.lists("elements").of(rows)
    flat, ends = values.tolist(), starts.tolist()
    return [flat[begin:end] for begin, end in pairwise(ends)]


FACTS: Final[Mapping[str, Facts]] = {
    registers.MODEL: Facts(
        registers.F.READ, _register_arguments, lambda columns, rows: numbers_found(columns, rows, None)
    ),
    counters.MODEL: Facts(
        counters.F.READ,
        lambda columns, rows: columns["amount"][rows].tolist(),
        lambda columns, rows: numbers_found(columns, rows, 0),
    ),
    sets.MODEL: Facts(sets.F.READ, lambda columns, rows: columns["element"][rows].tolist(), _elements),
}


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to tell of one key. ``reason``: why it is not decided, else empty."""

    anomalies: dict[str, Anomaly]
    reason: str


class ObjectAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says of some keys. ``answers``: of those of which there is something to tell, by key.

    ``acked``: acknowledged changes. ``unread``: keys of which nobody was told anything after the last heal.
    """

    answers: tuple[tuple[int, Told], ...] = ()
    keys: int = 0
    operations: int = 0
    acked: int = 0
    unread: tuple[int, ...] = ()


class ObjectCheck(OfEachKey):
    """A model of ``checkers.objects`` over the keys of a live run.

    ``model``: of the run, whose columns are read. ``judge``: the model that judges, in ``checkers.objects.registry``.
    """

    name: str
    model: str
    judge: str
    clean: str

    def applies(self, context: Context) -> str | None:
        """To runs of its model."""
        return None if context.run.model == self.model else f"it is a run of the model {context.run.model}"

    def examine(self, shard: QueueShard, context: Context) -> ObjectAnswers:
        """Look at one key."""
        if (judged := self.fitting(shard)) is not None:
            return self.told(shard, context, Answer(), judged)
        calls = self.calls(shard, context)
        return self.told(shard, context, self.answer(calls, Budget(BUDGET_S), context), len(calls))

    def told(self, shard: QueueShard, context: Context, answer: Answer, operations: int) -> ObjectAnswers:
        """What there is to tell of one key of so many operations."""
        told = Told(anomalies=anomalies_of(shard, context, answer), reason=answer.reason)
        answers = ((shard.key, told),) if answer.found or answer.reason else ()
        unread = () if self.is_read_at_last(shard, context) else (shard.key,)
        acked = _acked(shard, context)
        return ObjectAnswers(answers=answers, keys=1, operations=operations, acked=acked, unread=unread)

    def fitting(self, shard: QueueShard) -> int | None:  # noqa: ARG002 - for models whose columns can show it
        """How many operations there are to judge, if their columns show that nothing is wrong; else None."""
        return None

    def calls(self, shard: QueueShard, context: Context) -> Calls:
        """The operations of one key as the model sees them."""
        return calls_of(shard, context.run.words, FACTS[self.model])

    def answer(self, calls: Calls, budget: Budget, context: Context) -> Answer:  # noqa: ARG002 - for what is promised
        """What the model says of them."""
        check = registry.MODELS[self.judge].check
        answer = check(calls, RULES, budget)
        return minimise.explain(self.judge, check, calls, RULES, answer, budget) if NAME in answer.found else answer

    def is_read_at_last(self, shard: QueueShard, context: Context) -> bool:
        """Whether somebody was told what is there after the last heal."""
        ops = shard.ops
        told = np.equal(ops.type, Type.OK) & ~np.isin(ops.f, words_of(context.run).changes)
        told &= shard.operations["answer"] != UNTOLD
        return bool((told & (ops.invoke >= last_from_ns(shard, context))).any())

    def merge(self, left: ObjectAnswers, right: ObjectAnswers) -> ObjectAnswers:
        """Add the answers for other keys."""
        return ObjectAnswers(
            answers=tuple(sorted((*left.answers, *right.answers), key=lambda one: one[0])),
            keys=left.keys + right.keys,
            operations=left.operations + right.operations,
            acked=left.acked + right.acked,
            unread=tuple(sorted((*left.unread, *right.unread))),
        )

    def held(
        self,
        summary: ObjectAnswers | None,
        anomalies: dict[str, Anomaly],  # noqa: ARG002 - they are told beside
        context: Context,
    ) -> Held:
        """How many changes were acknowledged, and that the answers fit them."""
        acked, keys = (summary.acked, summary.keys) if isinstance(summary, ObjectAnswers) else (0, 0)
        words = words_of(context.run)
        fit = f"All answers of {count_of(keys, words.key)} fit the {words.changes_of(acked)}"
        return Held(first=f"{fit} that were acknowledged")

    def conclude(self, summary: ObjectAnswers | None, context: Context) -> CheckResult:  # noqa: ARG002 - told key by key
        """The row of the verdict table."""
        if summary is None:
            return CheckResult(name=self.name, valid=UNKNOWN, found="nothing", reason=f"{self.name}: no operation")
        unread = f"{numbers('key', summary.unread)} not read after the last heal" if summary.unread else ""
        anomalies = combine_anomalies(told.anomalies for _, told in summary.answers)
        undecided = registry.undecided_reason((key, told.reason) for key, told in summary.answers)
        found = ", ".join(f"{name} {one.count}" for name, one in anomalies.items())
        doubts = "; ".join(filter(None, (undecided, unread)))
        wrong = any(not one.allowed for one in anomalies.values())
        return CheckResult(
            name=self.name,
            valid=False if wrong else UNKNOWN if doubts else True,
            found=found or doubts or self.clean,
            examined=f"{count_of(summary.operations, 'operation')} of {count_of(summary.keys, 'key')}",
            reason=doubts,
            anomalies=anomalies,
        )


def _acked(shard: QueueShard, context: Context) -> int:
    ops = shard.ops
    return int((np.isin(ops.f, words_of(context.run).changes) & np.equal(ops.type, Type.OK)).sum())


class RegisterCheck(ObjectCheck):
    """Linearizable registers."""

    name = "register"
    help = "reads, writes and cas of each key are linearizable"
    anomalies = kinds_named("nonlinearizable")
    model = registers.MODEL
    judge = "register"
    clean = "every key has an order that agrees with real time"

    def fitting(self, shard: QueueShard) -> int | None:
        """Where every value was written once, and those that belong together have an order."""
        return judged_of(shard, registers.F.READ) if register_fits(shard) else None


class SetCheck(ObjectCheck):
    """Sets that keep what was added."""

    name = "set"
    help = "no element of a key is lost, read late, twice, though it was refused, or out of nowhere"
    anomalies = kinds_named("lost-write", "phantom", FAILED, "duplicate", "stale-read")
    model = sets.MODEL
    judge = "set-full"
    clean = "every element that was added was read from then on"

    def fitting(self, shard: QueueShard) -> int | None:
        """Where no element was added twice, lost, missed, or shown without having been added."""
        return judged_of(shard, sets.F.READ) if set_fits(shard, sets.F.READ) else None


class CounterCheck(ObjectCheck):
    """Counters between what was acknowledged and what was tried."""

    name = "counter"
    help = "each read of a key lies between what was added and what was tried"
    anomalies = kinds_named("out-of-bounds")
    model = counters.MODEL
    judge = "counter"
    clean = "every read lies within its bounds"

    def fitting(self, shard: QueueShard) -> int | None:
        """Where every read is within its bounds."""
        return judged_of(shard, counters.F.READ) if counter_fits(shard, counters.F.READ) else None
