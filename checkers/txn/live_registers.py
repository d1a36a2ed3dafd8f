"""Checks of live transactions on registers by the models that judge files: long-fork, monotonic, multi-register."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

import msgspec

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from chaos.models.transactions.words import MODEL, REGISTERS, UNTOLD, Do
from checkers.anomalies.catalogue import kinds_named
from checkers.history.check_input import Context, QueueShard
from checkers.objects import minimise, registry
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text
from checkers.objects.linearization_answer import NAME
from checkers.objects.live import RULES, ObjectCheck
from checkers.objects.rules import Budget
from checkers.txn.live import held_to, is_read_at_last
from checkers.txn.models import weaker_models

_WORDS: Final = {Do.READ: "r", Do.APPEND: "append", Do.WRITE: "w"}
_REAL_TIME: Final = frozenset({"strict-serializable"})
NEVER_WRITTEN: Final = -1
"""The value of a register that only grows, before anybody has written it."""

Micro = tuple[str, int, int | None]
"""Word, key, and the value that was written or found; None: nothing was there."""


def transactions_of_registers(shard: QueueShard, words: Mapping[str, int]) -> Iterator[Call]:
    """The transactions of one space. ``argument``: all that was asked; ``output`` of an ok one: what is known of it.

    A transaction's number is its row. A read that was not told is left out of the output, and what never left is left
    out altogether.
    """
    columns, named_ = shard.operations, {number: word for word, number in words.items()}
    for row, kind in enumerate(columns["type"].tolist()):
        if kind == Type.NOT_SENT:
            continue
        asked: list[Micro] = []
        told: list[Micro] = []
        at = 0
        lists = (columns[name][row] for name in ("does", "micro_key", "micro_value", "length"))
        for does, key, value, length in zip(*lists, strict=True):
            word = _WORDS[Do(int(does))]
            asked.append((word, int(key), None if does == Do.READ else int(value)))
            if does != Do.READ:
                told.append(asked[-1])
            elif length != UNTOLD:
                told.append((word, int(key), int(columns["elements"][row][at]) if length else None))
                at += int(length)
        invoke, complete = int(columns["invoke_ns"][row]), int(columns["complete_ns"][row])
        yield Call(
            row,
            int(columns["process"][row]),
            named_[int(columns["f"][row])],
            asked,
            told if kind == Type.OK else None,
            Type(kind),
            invoke,
            NEVER if kind == Type.INFO else complete,
            invoke,
            complete,
        )


class RegistersCheck(ObjectCheck):
    """A model over all transactions of a space.

    ``forbidden_by``: of an anomaly the consistency models that rule it out; one that is not named is always wrong.
    """

    model = MODEL
    forbidden_by: Mapping[str, frozenset[str]]

    def applies(self, context: Context) -> str | None:
        """To runs of the workload of its name: other keys are written more than once, or fall."""
        if context.run.workload == self.name:
            return super().applies(context)
        return f"it is a run of the workload {context.run.workload}"

    def calls(self, shard: QueueShard, context: Context) -> Calls:
        """The transactions of one space."""
        return Calls(transactions_of_registers(shard, context.run.words))

    def answer(self, calls: Calls, budget: Budget, context: Context) -> Answer:
        """What the model says; allowed where no consistency model that is promised rules it out."""
        answer, implied = self.judged(calls, budget), weaker_models(held_to(context))
        found = {
            name: msgspec.structs.replace(
                one, allowed=name in self.forbidden_by and not implied & self.forbidden_by[name]
            )
            for name, one in answer.found.items()
        }
        return msgspec.structs.replace(answer, found=found)

    def judged(self, calls: Calls, budget: Budget) -> Answer:
        """What the model says."""
        return registry.MODELS[self.judge].check(calls, RULES, budget)

    def is_read_at_last(self, shard: QueueShard, context: Context) -> bool:
        """Whether somebody was told what a register holds after the last heal."""
        return is_read_at_last(shard, context)


class LongForkCheck(RegistersCheck):
    """Reads of a group are of one order in which its keys were written."""

    name = "long-fork"
    help = "reads of a group of keys show its writes in one order, which agrees with real time"
    anomalies = kinds_named("long-fork", "key-order-cycle", "G1a", "phantom")
    judge = "long-fork"
    clean = "the reads of every group fit one order of its writes"
    forbidden_by: Mapping[str, frozenset[str]] = {
        "long-fork": frozenset({"snapshot-isolation", "serializable"}),
        "key-order-cycle": _REAL_TIME,
    }

    def judged(self, calls: Calls, budget: Budget) -> Answer:
        """Forks; reads of the past, since a key that is written once only grows; and reads of what is not there."""
        behind = registry.MODELS["monotonic"].check(calls_as_read(calls), RULES, budget)
        return registry.merge_answers(
            (None, one) for one in (super().judged(calls, budget), behind, strange_reads(calls))
        )


class MonotonicCheck(RegistersCheck):
    """Values that only grow are seen in one order, which is that of time."""

    name = "monotonic"
    help = "registers that only grow are seen in one order, which agrees with real time"
    anomalies = kinds_named("key-order-cycle")
    judge = "monotonic"
    clean = "what all transactions saw fits one order that agrees with real time"
    forbidden_by: Mapping[str, frozenset[str]] = {"key-order-cycle": _REAL_TIME}

    def judged(self, calls: Calls, budget: Budget) -> Answer:
        """What registers held behind each transaction."""
        return super().judged(calls_as_read(calls), budget)


class MultiRegisterCheck(RegistersCheck):
    """Transactions on a few registers are linearizable."""

    name = "multi-register"
    help = "transactions on each group of registers take effect at one moment between their call and their answer"
    anomalies = kinds_named("nonlinearizable")
    judge = "multi-register"
    clean = "every group has an order that agrees with real time"
    forbidden_by: Mapping[str, frozenset[str]] = {"nonlinearizable": _REAL_TIME}

    def judged(self, calls: Calls, budget: Budget) -> Answer:
        """Group by group: a transaction stays in one, and what is linearizable in each is so in all."""
        by_group = sorted(calls.all, key=_group)
        own = (self._explained(Calls(some), budget) for _, some in groupby(by_group, _group))
        return registry.merge_answers((None, one) for one in own)

    def _explained(self, calls: Calls, budget: Budget) -> Answer:
        """What the model says of one group, shown by as little of it as is wrong."""
        answer, check = super().judged(calls, budget), registry.MODELS[self.judge].check
        return minimise.explain(self.judge, check, calls, RULES, answer, budget) if NAME in answer.found else answer


def _group(call: Call) -> int:
    """The group of a transaction's registers."""
    return int(call.argument[0][1]) // REGISTERS


def calls_as_read(calls: Calls) -> Calls:
    """Each ok transaction as a map of what its registers held behind it; nothing yet is below all that is written."""
    return Calls(
        msgspec.structs.replace(call, output=_behind(call.output)) if call.output else call for call in calls.all
    )


def _behind(told: list[Micro]) -> dict[int, int]:
    return {key: NEVER_WRITTEN if value is None else value for _, key, value in told}


def strange_reads(calls: Calls) -> Answer:
    """Reads that found the value of a write that had certainly failed, or a value that nobody tried to write."""
    writers = {(key, value): call for call in calls.all for word, key, value in call.argument if word == "w"}
    found: dict[str, Found] = {}
    for call in calls.all:
        for word, key, value in call.output or ():
            writer = writers.get((key, value))
            if word != "r" or value is None or (writer is not None and writer.outcome is not Type.FAIL):
                continue
            name = "phantom" if writer is None else "G1a"
            why = "which nobody wrote" if writer is None else f"though {call_text(writer)} had failed"
            one = found.setdefault(name, Found(count=0))
            one.count += 1
            if len(one.examples) < EXAMPLES:
                sentence = f"{call_text(call)} found {value} at key {key}, {why}"
                one.examples.append((sentence, (call,) if writer is None else (call, writer)))
    return Answer(found=found)
