"""Errors by node and fault, and which of them are refusals by design (SEMANTICS 18, i). Decides nothing.

A client that stays on one node, whatever the route says, meets nodes that must not serve it: one that does not lead
refuses it, and so does a leader that has lost its replicas. The system names these errors (``RunInfo.refusals``). To a
client that follows the route the same error is one: the service was not there for it.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.core.refusals import is_refusal
from chaos.core.verdict import ErrorResult
from checkers.anomalies.findings import node_name
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask, is_among
from checkers.history.words import words_of

MOST: Final = 200
"""So many different lines are kept; what is rarer is counted together."""
OTHERS: Final = "other errors"
NONE: Final = "no reason recorded"
_MEMO: Final = "refused by design"


class Met(NamedTuple):
    """What is counted by itself. ``node``: its position, -1 where nobody answered; ``fault``: 0 for none."""

    error: str
    type: int
    node: int
    fault: int
    by_design: bool


class Seen(NamedTuple):
    """How often, and when first and last."""

    times: int
    first_ns: int
    last_ns: int


Errors = dict[Met, Seen]


def refused_by_design(shard: QueueShard, context: Context) -> Mask:
    """Which operations of a key were refused by a node that must not serve, to clients that stay on it."""
    found: Mask | None = shard.memo.get(_MEMO)
    if found is None:
        found = _refused(shard, context, np.flatnonzero(shard.operations["pinned"]))
        shard.memo[_MEMO] = found
    return found


def unserved_beside_a_leader(shard: QueueShard, context: Context) -> Mask:
    """Which operations a node did not serve that does not lead, while another was heard to lead before and after.

    It refused them by design, or was asked as a leader that has been replaced and does not know it: no answer came.
    Where two say that they lead, the one of the newest epoch does.
    """
    unserved = _refused(shard, context) | np.equal(shard.ops.type, Type.INFO)
    places = {node.name: place for place, node in enumerate(context.run.nodes)}
    leader = np.full(len(unserved), -1, dtype=np.int64)
    reigns = context.timeline.reigns_over(context.subject_of(shard.key)) if unserved.any() else ()
    for reign in sorted(reigns, key=lambda one: one.epoch):
        heard = (shard.ops.invoke >= reign.first_ns) & (shard.ops.complete <= reign.last_ns)
        leader[heard] = places.get(reign.node, -1)
    asked = shard.ops.node
    other: Mask = unserved & (leader >= 0) & (asked >= 0) & (asked != leader)
    return other


def _refused(shard: QueueShard, context: Context, among: Ints | None = None) -> Mask:
    """Which operations failed with an error that the system names as a refusal by design; ``among``: None for all."""
    found = np.zeros(len(shard.ops.f), dtype=np.bool_)
    if context.run.refusals:
        failed = np.equal(shard.ops.type, Type.FAIL)
        ops = np.flatnonzero(failed) if among is None else among[failed[among]]
        texts, numbers = number_errors(shard, ops)
        named = np.array([is_refusal(text, context.run.refusals) for text in texts], dtype=np.bool_)
        found[ops] = named[numbers] if len(ops) else False
    return found


def number_errors(shard: QueueShard, ops: Ints) -> tuple[list[str], Ints]:
    """The different errors of some operations, and for each operation the number of its own."""
    known: dict[str, int] = {}
    told = shard.ops.of("error", ops)
    numbers = np.fromiter(
        (known.setdefault(str(one) if one else NONE, len(known)) for one in told), dtype=np.int64, count=len(ops)
    )
    return list(known), numbers


class ErrorsKernel:
    """Counts errors by node and fault."""

    name = "errors"
    help = "errors by node and fault; decides nothing"

    def examine(self, shard: QueueShard, context: Context) -> Errors:
        """Look at one key."""
        log = shard.ops
        kinds = is_among(log.type, (Type.FAIL, Type.INFO)) & ~is_among(log.f, words_of(context.run).final)
        ops = np.flatnonzero(kinds)
        if not len(ops):
            return {}
        texts, numbers = number_errors(shard, ops)
        begun, faults = log.invoke[ops], _faults(log.invoke[ops], context)
        columns = np.stack(
            (numbers, log.type[ops], log.node[ops], faults, refused_by_design(shard, context)[ops]), axis=1
        ).astype(np.int64)
        kept, places = np.unique(columns, axis=0, return_inverse=True)
        places = places.reshape(-1)
        first, last = np.full(len(kept), np.iinfo(np.int64).max), np.zeros(len(kept), dtype=np.int64)
        np.minimum.at(first, places, begun)
        np.maximum.at(last, places, begun)
        counts = np.bincount(places, minlength=len(kept))
        return _bounded(
            (Met(texts[number], kind, node, fault, bool(by_design)), Seen(int(counts[i]), int(first[i]), int(last[i])))
            for i, (number, kind, node, fault, by_design) in enumerate(kept.tolist())
        )

    def merge(self, left: Errors, right: Errors) -> Errors:
        """Add two keys."""
        return _bounded((*left.items(), *right.items()))

    def rows(self, summary: Errors, context: Context) -> tuple[ErrorResult, ...]:
        """What was counted, errors before refusals by design, the most frequent first."""
        ordered = sorted(summary.items(), key=lambda pair: (pair[0].by_design, -pair[1].times, pair[0]))
        return tuple(
            ErrorResult(
                error=met.error,
                type=Type(met.type).word,
                node=node_name(context, met.node) if met.node >= 0 else "",
                fault=met.fault or None,
                count=seen.times,
                first_ns=seen.first_ns,
                last_ns=seen.last_ns,
                by_design=met.by_design,
            )
            for met, seen in ordered
        )


def _faults(times: Ints, context: Context) -> Ints:
    """The number of the fault in force at each time, the newest of several; 0 where there was none."""
    out = np.zeros(len(times), dtype=np.int64)
    for fault in sorted(context.timeline.injected(), key=lambda one: one.inject_ns or 0):
        until = np.iinfo(np.int64).max if fault.heal_ns is None else fault.heal_ns
        out[(times >= (fault.inject_ns or 0)) & (times < until)] = fault.id
    return out


def _bounded(pairs: Iterable[tuple[Met, Seen]]) -> Errors:
    """The sums; what is not among the most frequent loses its text and its node."""
    total: Errors = {}
    for met, seen in pairs:
        _add(total, met, seen)
    if len(total) <= MOST:
        return total
    ordered = sorted(total.items(), key=lambda pair: (-pair[1].times, pair[0]))
    kept = dict(ordered[:MOST])
    for met, seen in ordered[MOST:]:
        _add(kept, met._replace(error=OTHERS, node=-1, fault=0), seen)
    return kept


def _add(total: Errors, met: Met, seen: Seen) -> None:
    before = total.get(met, seen)
    count = seen.times + (before.times if met in total else 0)
    total[met] = Seen(count, min(before.first_ns, seen.first_ns), max(before.last_ns, seen.last_ns))
