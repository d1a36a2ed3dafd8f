"""Objects of live runs: the models that judge imported files judge the tables of a run, key by key.

``calls_of`` is the bridge: from the columns of one key to the operations as models see them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult
from chaos.formats.operations import NEVER
from chaos.models.objects import counter as counters
from chaos.models.objects import register as registers
from chaos.models.objects import set as sets
from chaos.models.objects.answers import TOLD, UNTOLD
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import combine_anomalies, count_of, numbers
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Column
from checkers.history.words import words_of
from checkers.objects import minimise, registry
from checkers.objects.calls import Call, Calls
from checkers.objects.counting import by_value, ok_calls
from checkers.objects.finding import Answer, Found
from checkers.objects.linearization_answer import NAME
from checkers.objects.live_examples import anomalies_of
from checkers.objects.rules import Budget, Rules

RULES: Final = Rules(nil_means="absent", strict=True, linearizable=True)
"""A client of ours knows what it was told: nothing there is an answer, and nothing that is wrong is a convention."""

FAILED: Final = "G1a"
BUDGET_S: Final = 60.0
"""For the search of one key's order."""

Facts = Callable[[Mapping[str, Column], int], tuple[Any, Any]]
"""The argument and the output of an operation: of these columns, in this row."""


def _found(columns: Mapping[str, Column], row: int, nothing: int | None) -> int | None:
    return int(columns["found"][row]) if columns["answer"][row] == TOLD else nothing


def _of_register(columns: Mapping[str, Column], row: int) -> tuple[Any, Any]:
    f, value = columns["f"][row], int(columns["value"][row])
    if f == registers.F.READ:
        return None, _found(columns, row, None)
    return ((int(columns["expected"][row]), value) if f == registers.F.CAS else value), None


def _of_counter(columns: Mapping[str, Column], row: int) -> tuple[Any, Any]:
    if columns["f"][row] == counters.F.ADD:
        return int(columns["amount"][row]), None
    return None, _found(columns, row, 0)


def _of_set(columns: Mapping[str, Column], row: int) -> tuple[Any, Any]:
    if columns["f"][row] == sets.F.ADD:
        return int(columns["element"][row]), None
    return None, columns["elements"][row]


FACTS: Final[Mapping[str, Facts]] = {
    registers.MODEL: _of_register,
    counters.MODEL: _of_counter,
    sets.MODEL: _of_set,
}


def calls_of(shard: QueueShard, words: Mapping[str, int], facts: Facts) -> Calls:
    """The operations of one key.

    A call's number is its row. An ok read that was told nothing says nothing, so it is left out, and so is what never
    left.

    Args:
        shard: its rows.
        words: word → number, as ``run.json`` has it.
        facts: how arguments and outputs are read.
    """
    columns, named = shard.operations, {number: word for word, number in words.items()}
    calls = []
    for row, (f, kind) in enumerate(zip(columns["f"].tolist(), columns["type"].tolist(), strict=True)):
        argument, output = facts(columns, row)
        untold = argument is None and kind == Type.OK and columns["answer"][row] == UNTOLD
        if kind == Type.NOT_SENT or untold:
            continue
        invoke, complete = int(columns["invoke_ns"][row]), int(columns["complete_ns"][row])
        calls.append(
            Call(
                row,
                int(columns["process"][row]),
                named[f],
                argument,
                output if kind == Type.OK else None,
                Type(kind),
                invoke,
                NEVER if kind == Type.INFO else complete,
                invoke,
                complete,
            )
        )
    return Calls(calls)


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
        calls = self.calls(shard, context)
        return self.told(shard, context, self.answer(calls, Budget(BUDGET_S), context), len(calls))

    def told(self, shard: QueueShard, context: Context, answer: Answer, operations: int) -> ObjectAnswers:
        """What there is to tell of one key of so many operations."""
        told = Told(anomalies=anomalies_of(shard, context, answer), reason=answer.reason)
        answers = ((shard.key, told),) if answer.found or answer.reason else ()
        unread = () if self.is_read_at_last(shard, context) else (shard.key,)
        acked = _acked(shard, context)
        return ObjectAnswers(answers=answers, keys=1, operations=operations, acked=acked, unread=unread)

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
        return bool((told & (ops.invoke >= context.timeline.last_heal_ns())).any())

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


class SetCheck(ObjectCheck):
    """Sets that keep what was added."""

    name = "set"
    help = "no element of a key is lost, read late, twice, though it was refused, or out of nowhere"
    anomalies = kinds_named("lost-write", "phantom", FAILED, "duplicate", "stale-read")
    model = sets.MODEL
    judge = "set-full"
    clean = "every element that was added was read from then on"

    def answer(self, calls: Calls, budget: Budget, context: Context) -> Answer:
        """What the model says, and elements that were refused for certain and read: the reference does not look."""
        answer = super().answer(calls, budget, context)
        return msgspec.structs.replace(answer, found=answer.found | refused_but_read(calls))


def refused_but_read(calls: Calls) -> dict[str, Found]:
    """Elements that ok reads show although each of their adds failed for certain, with the first read of each."""
    adds = calls.of("add")
    perhaps = {one.argument for one in adds if one.outcome is not Type.FAIL}
    refused = {one.argument: one for one in adds if one.argument not in perhaps}
    shown: dict[int, Call] = {}
    for read in ok_calls(calls.of("read")) if refused else ():
        for element in sorted(refused.keys() & set(read.output)):
            shown.setdefault(element, read)
    sentence = "returned {}, whose add had failed for certain"
    return by_value(FAILED, list(shown.items()), sentence, beside=lambda element, _: [refused[element]])


class CounterCheck(ObjectCheck):
    """Counters between what was acknowledged and what was tried."""

    name = "counter"
    help = "each read of a key lies between what was added and what was tried"
    anomalies = kinds_named("out-of-bounds")
    model = counters.MODEL
    judge = "counter"
    clean = "every read lies within its bounds"
