"""The check ``total-queue``: what was acknowledged is delivered, and nothing else is (semantics.md, 55 and 56).

Each question is decided by sorting values: n log n. Whatever a dequeue was given counts as delivered, however the
dequeue ended. That something was not delivered is said of what was acknowledged before the queue was empty for good.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example
from chaos.models.objects.answers import ABSENT, TOLD, UNTOLD
from chaos.models.queues.total_queue import MODEL, F
from checkers.anomalies.attribution import Actor, actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    add_findings,
    conclude_findings,
    count_of,
    describe_operation,
    examples,
    findings,
    numbers,
    seconds_text,
)
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.last_answers import is_spared

NO_EMPTY: Final = "nobody found it empty after the last heal"
STILL_OUT: Final = "a message could still come back when it was last found empty"


class QueueFindings(Findings, frozen=True, kw_only=True):
    """Findings; messages that were delivered more than once; and why it is not known what is left in which queue."""

    again: int = 0
    unended: dict[int, str] = msgspec.field(default_factory=dict)


class _Queue:
    """One queue while it is looked at: rows of operations, by what they did."""

    def __init__(self, shard: QueueShard, context: Context) -> None:
        ops, columns = shard.ops, shard.operations
        self.ops, self.context = ops, context
        self.value = np.asarray(columns["value"])
        enqueues, answer = ops.f == F.ENQUEUE, columns["answer"]
        self.tried = np.flatnonzero(enqueues & (ops.type != Type.NOT_SENT))
        self.acked = np.flatnonzero(enqueues & (ops.type == Type.OK))
        self.refused = np.flatnonzero(enqueues & np.isin(ops.type, (Type.FAIL, Type.NOT_SENT)))
        self.given = np.flatnonzero((ops.f == F.DEQUEUE) & (answer == TOLD))
        healed = (ops.invoke >= context.timeline.last_heal_ns()) & is_spared(ops.node, context)
        empty = np.flatnonzero((ops.f == F.DEQUEUE) & (ops.type == Type.OK) & (answer == ABSENT) & healed)
        self.last = int(empty[-1]) if len(empty) else -1
        self.last_ns = int(ops.invoke[self.last]) if len(empty) else -1
        unheard = (ops.f == F.DEQUEUE) & (ops.type == Type.INFO) & (answer == UNTOLD)
        back_ns = int(context.run.promises.redelivered_within_s * NS_PER_S)
        self._back_ns = int(ops.deadline[unheard].max(initial=-1)) + back_ns if unheard.any() else -1

    def unended(self) -> str:
        """Why it is not known what is left in the queue; empty if nothing is."""
        if self.last < 0:
            return NO_EMPTY
        acked_ns = int(self.ops.complete[self.acked].max(initial=-1))
        return "" if max(self._back_ns, acked_ns) < self.last_ns else STILL_OUT

    def lost(self) -> Ints:
        """Acknowledged enqueues, over before the queue was last found empty, that nobody was given."""
        if self._back_ns >= self.last_ns or not self.context.whole:
            return np.zeros(0, dtype=np.int64)
        before = self.acked[self.ops.complete[self.acked] < self.last_ns]
        return before[~np.isin(self.value[before], self.value[self.given])]

    def phantoms(self) -> Ints:
        """Deliveries of what nobody tried to enqueue until they were over, one a value.

        None where a record may have been cut off (3).
        """
        if not all(stream.ended for stream in self.context.streams):
            return np.zeros(0, dtype=np.int64)
        asked = np.concatenate((self.tried, self.refused))
        asked = asked[np.argsort(self.ops.invoke[asked], kind="stable")]
        values, first = np.unique(self.value[asked], return_index=True)
        if not len(values):
            return self._each(self.given)
        place = np.minimum(np.searchsorted(values, self.value[self.given]), len(values) - 1)
        known = values[place] == self.value[self.given]
        known &= self.ops.invoke[asked[first[place]]] <= self.ops.complete[self.given]
        return self._each(self.given[~known])

    def failed(self) -> Ints:
        """Deliveries of what was refused for certain each time that it was tried, one a value."""
        perhaps = self.tried[self.ops.type[self.tried] != Type.FAIL]
        value = self.value[self.given]
        return self._each(self.given[np.isin(value, self.value[self.refused]) & ~np.isin(value, self.value[perhaps])])

    def _each(self, rows: Ints) -> Ints:
        """The first of these rows for each value."""
        _, first = np.unique(self.value[rows], return_index=True)
        return rows[np.sort(first)]

    def after_ack(self) -> list[tuple[int, int]]:
        """Deliveries asked for after an ok one of their value was over: (the ok one, the delivery), one a value."""
        order = self.given[np.lexsort((self.ops.complete[self.given], self.value[self.given]))]
        done = order[self.ops.type[order] == Type.OK]
        values, first = np.unique(self.value[done], return_index=True)
        if not len(values):
            return []
        place = np.minimum(np.searchsorted(values, self.value[order]), len(values) - 1)
        earlier = done[first[place]]
        late = (values[place] == self.value[order]) & (self.ops.complete[earlier] < self.ops.invoke[order])
        _, first_late = np.unique(self.value[order[late]], return_index=True)
        return [(int(earlier[late][one]), int(order[late][one])) for one in first_late]

    def again(self) -> int:
        """Messages that were delivered more than once."""
        _, counts = np.unique(self.value[self.given], return_counts=True)
        return int((counts > 1).sum())


class TotalQueueCheck(OfEachKey):
    """Looks at each queue."""

    name = "total-queue"
    help = "every acknowledged message is delivered, nothing else is, and none again after its acknowledgement"
    anomalies = kinds_named("lost-write", "phantom", "G1a", "redelivered-after-ack")

    def applies(self, context: Context) -> str | None:
        """To runs of its model."""
        return None if context.run.model == MODEL else f"it is a run of the model {context.run.model}"

    def examine(self, shard: QueueShard, context: Context) -> QueueFindings:
        """Look at one queue."""
        queue = _Queue(shard, context)

        def finding(rows: Ints, sentence: str) -> Finding:
            told_of = _examples(shard, context, [(-1, int(row)) for row in rows], sentence)
            return Finding(count=len(rows), examples=examples(told_of))

        pairs = queue.after_ack()
        again = "delivered {message} again, after its acknowledgement had been accepted"
        lost = queue.lost()
        found = findings(
            len(queue.acked),
            lost_write=Finding(count=len(lost), examples=examples(_lost(shard, context, lost, queue.last))),
            phantom=finding(queue.phantoms(), "delivered {message}, which no client had tried to enqueue there"),
            G1a=finding(queue.failed(), "delivered {message}, whose enqueue had failed for certain"),
            redelivered_after_ack=Finding(count=len(pairs), examples=examples(_examples(shard, context, pairs, again))),
        )
        why = queue.unended()
        return QueueFindings(
            examined=found.examined,
            found=found.found,
            again=queue.again(),
            unended={shard.key: why} if why else {},
        )

    def merge(self, left: QueueFindings, right: QueueFindings) -> QueueFindings:
        """Add what two queues showed."""
        return QueueFindings(
            examined=left.examined + right.examined,
            found=add_findings(left.found, right.found),
            again=left.again + right.again,
            unended={**left.unended, **right.unended},
        )

    def held(
        self,
        summary: QueueFindings | None,
        anomalies: dict[str, Anomaly],  # noqa: ARG002 - they are told beside
        context: Context,  # noqa: ARG002 - every run is told alike
    ) -> Held:
        """How many messages were acknowledged, and that all were delivered."""
        acked = summary.examined if summary else 0
        return Held(first=f"{count_of(acked, 'acknowledged message')} delivered{_again(summary)}")

    def conclude(self, summary: QueueFindings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        summary = summary if summary is not None else QueueFindings()
        clean = f"every one was delivered{_again(summary)}"
        row = conclude_findings(self.name, summary, context, noun="acknowledged message", clean=clean)
        if row.valid is not True or not summary.unended:
            return row
        whys = sorted(set(summary.unended.values()))
        keys = {why: [key for key, own in summary.unended.items() if own == why] for why in whys}
        reason = join_names([f"{numbers('queue', keys[why])} was not emptied: {why}" for why in whys])
        return msgspec.structs.replace(row, valid=UNKNOWN, found="what is left in queues is not known", reason=reason)


def _again(summary: QueueFindings | None) -> str:
    """How many were delivered more than once, as the end of a clause."""
    return f", {summary.again} of them more than once" if summary is not None and summary.again else ""


def _examples(shard: QueueShard, context: Context, pairs: list[tuple[int, int]], said: str) -> Iterator[Example]:
    """Each row as a sentence and its operation, with the operation that belongs to it if there is one."""
    for beside, row in pairs:
        who, asked = actor_of(shard, context, row), shard.ops.type[row] == Type.INFO
        at = seconds_text(context, int((shard.ops.invoke if asked else shard.ops.complete)[row]))
        begun = f"{who.subject} was asked at {at} and" if asked else f"at {at} {who.subject}"
        yield _example(shard, who, f"{begun} {said.format(message=_message(shard, row))}", context, (row, beside))


def _lost(shard: QueueShard, context: Context, rows: Ints, last: int) -> Iterator[Example]:
    """Each acknowledged enqueue that was lost, with the dequeue that found the queue empty at last."""
    empty = time_of(shard, context, last) if len(rows) else ""
    for row in rows.tolist():
        who = actor_of(shard, context, row, later=True)
        told = f"{who.subject} acknowledged {_message(shard, row)} at {time_of(shard, context, row)}{who.then}"
        sentence = f"{told}; the message was never delivered, and the queue was empty at {empty}"
        yield _example(shard, who, sentence, context, (row, last))


def _message(shard: QueueShard, row: int) -> str:
    return f"message {shard.operations['value'][row]} of queue {shard.key}"


def _example(shard: QueueShard, who: Actor, sentence: str, context: Context, ops: tuple[int, int]) -> Example:
    """``ops``: the one that the sentence is about, and one beside it or -1."""
    shown = tuple(describe_operation(shard, context, op) for op in ops if op >= 0)
    made = who.example(sentence, key=shard.key, ops=shown)
    return msgspec.structs.replace(made, at_ns=int(shard.ops.invoke[ops[0]]))
