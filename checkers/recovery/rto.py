"""Recovery time of each fault, per kind of operation and queue (SEMANTICS 18).

An outage opens at the first of three operations in a row that were not ok (or of at least a second of such operations)
and ends at the completion of the first of three in a row that were, so a single lucky operation ends nothing. It
belongs to every fault whose time it touches; what was on its way when the next fault was injected touches that one
alone. Does not call no outage an RTO of 0, and prints the resolution beside each number.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example, Rto, Valid
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import fault_name
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    anomaly,
    count_of,
    describe_operation,
    examples,
    node_name,
    seconds_text,
)
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask, is_among, runs, sorted_times
from checkers.history.lateness import LAG_NS
from checkers.history.timeline import FaultSpan
from checkers.history.words import words_of
from checkers.recovery.answerable import answerable
from checkers.recovery.errors_by_node import refused_by_design
from checkers.recovery.quiet_stretches import QUIET_RATE, is_ok_in_time

Key = TypeVar("Key", bound=Hashable)

IN_A_ROW: Final = 3
STRETCH_NS: Final = NS_PER_S
ON_ITS_WAY_NS: Final = NS_PER_S // 4
"""An operation that is out for longer was already late before the fault."""


class Outages(NamedTuple):
    """Outages of one kind on one queue.

    ``answered`` is the completion of the operation that opened it. ``end`` is NEVER_NS where there was no recovery;
    ``ender`` is the position of the operation that ended it, or -1.
    """

    start: Ints
    answered: Ints
    end: Ints
    ender: Ints


class Attempts(NamedTuple):
    """Operations of one kind on one queue (-1: over all of them), in order of invocation."""

    f: str
    key: int
    invoke: Ints
    complete: Ints
    ok: Mask


class Touched(NamedTuple):
    """An outage within the time of a fault. ``inside``: attempts that it held; ``ender``: who ended it, or -1."""

    fault: FaultSpan
    rto: Rto
    inside: Mask
    ender: int


class RtoSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The longest outage per (fault, kind, queue), the kinds seen, worst lags (ns), failures per fault.

    ``later``: likewise over all queues, of the outages that began after the fault's heal.
    ``shown``: for outages over a budget the operations that show them: the last ok one, the first that was not, the
    one that ended it.
    """

    longest: dict[tuple[int, str, int], Rto] = {}
    later: dict[tuple[int, str], Rto] = {}
    shown: dict[tuple[int, str, int], tuple[dict[str, Any], ...]] = {}
    lag_ns: dict[str, int] = {}
    not_ok: dict[int, int] = {}
    operations: int = 0


def outages(invoke: Ints, complete: Ints, ok: Mask) -> Outages:
    """The outages among operations that are in order of invocation."""
    starts, ends = runs(~ok)
    long_enough = (ends - starts >= IN_A_ROW) | (
        (ends - starts >= 2) & (invoke[np.maximum(ends - 1, 0)] - invoke[starts] >= STRETCH_NS)  # noqa: PLR2004
    )
    opening = starts[long_enough]
    ok_starts, ok_ends = runs(ok)
    closing = ok_starts[ok_ends - ok_starts >= IN_A_ROW]
    # In order of place, the first opening behind a closing opens, and the first closing behind it closes.
    place = np.concatenate((opening, closing))
    opens = np.concatenate((np.ones(len(opening), dtype=np.bool_), np.zeros(len(closing), dtype=np.bool_)))
    order = np.argsort(place, kind="stable")
    place, opens = place[order], opens[order]
    first = np.flatnonzero(opens & np.r_[True, ~opens[:-1]]) if len(place) else place
    next_close = np.searchsorted(closing, place[first])
    never = next_close == len(closing)
    ender = np.where(never, -1, closing[np.minimum(next_close, len(closing) - 1)] if len(closing) else -1)
    end = np.where(never, NEVER_NS, complete[ender] if len(complete) else NEVER_NS)
    return Outages(invoke[place[first]], complete[place[first]], end, ender)


def _windows(context: Context) -> list[tuple[FaultSpan, int, int]]:
    """Each injected fault with its time: from its injection to the next one that is not while it is in force."""
    faults = context.timeline.injected()
    starts = [fault.inject_ns or 0 for fault in faults]

    def end_ns(i: int) -> int:
        healed_ns = faults[i].heal_ns or 0
        return next((start for start in starts[i + 1 :] if start >= healed_ns), NEVER_NS)

    return [(fault, starts[i], end_ns(i)) for i, fault in enumerate(faults)]


def outages_by_fault(attempts: Attempts, context: Context) -> Iterator[Touched]:
    """The outages of one kind on one queue, with each fault that they belong to. There is at least one attempt."""
    found = outages(attempts.invoke, attempts.complete, attempts.ok)
    last_ns = int(attempts.invoke.max())
    for fault, start, end in _windows(context):
        # A send that the next fault killed on its way is no outage of this one, though it was invoked before.
        on_its_way = (found.answered > end) & (end - found.start <= ON_ITS_WAY_NS)
        for i in np.flatnonzero((found.start < end) & (found.end > start) & ~on_its_way):
            one = _rto(fault, attempts, (int(found.start[i]), int(found.end[i])), last_ns)
            inside = (attempts.invoke >= found.start[i]) & (attempts.invoke < found.end[i])
            ender = int(found.ender[i])
            held = inside if ender < 0 else inside & (np.arange(len(inside)) < ender)
            one = msgspec.structs.replace(one, ok=int((attempts.ok & held).sum()))
            yield Touched(fault, one, inside, ender)


def _rto(fault: FaultSpan, attempts: Attempts, outage: tuple[int, int], last_ns: int) -> Rto:
    start, end = outage
    recovered = end != NEVER_NS
    when = "after-heal" if fault.heal_ns is not None and end > fault.heal_ns else "before-heal"
    return Rto(
        f=attempts.f,
        seconds=round(((end if recovered else max(last_ns, start)) - start) / NS_PER_S, 9),
        recovered=recovered,
        key=attempts.key,
        start_ns=start,
        when=when if recovered else "",  # type: ignore[arg-type]
    )


def not_ok_under(bad: Ints, context: Context) -> dict[int, int]:
    """Per fault, how many operations that were not ok were invoked in its time. ``bad``: when they were, ascending."""
    return {
        fault.id: int(np.searchsorted(bad, end) - np.searchsorted(bad, start))
        for fault, start, end in _windows(context)
    }


def _resolution_s(context: Context, f: str, lag_ns: int) -> float:
    run = context.run
    per_queue = run.rate * run.mix.get(f, 1.0) / max(1, run.keys)
    per_queue *= QUIET_RATE if run.quiet and f in words_of(run).changing else 1.0
    return max(1 / per_queue if per_queue > 0 else 0.0, run.op_timeout_s, lag_ns / NS_PER_S)


def longer_of(left: Rto, right: Rto) -> Rto:
    """The longer of two; no recovery beats every length."""
    rank = [(not one.recovered, one.seconds if one.seconds is not None else -1.0, -one.key) for one in (left, right)]
    return left if rank[0] >= rank[1] else right


def keep_longer(kept: dict[Key, Rto], key: Key, one: Rto) -> None:
    """Keep an outage under a key if it is the longest there."""
    kept[key] = longer_of(kept[key], one) if key in kept else one


def keep_later(later: dict[tuple[int, str], Rto], fault: FaultSpan, one: Rto) -> None:
    """Keep an outage that began after the heal of its fault, if it is the longest such one of its kind."""
    if fault.heal_ns is not None and one.start_ns is not None and one.start_ns >= fault.heal_ns:
        keep_longer(later, (fault.id, one.f), one)


class RtoKernel(OfEachKey):
    """Outages, and the faults they belong to."""

    name = "rto"
    help = "recovery time per fault, kind of operation and queue, against --rto-budget"
    anomalies = kinds_named("rto-budget")

    def examine(self, shard: QueueShard, context: Context) -> RtoSummary:
        """Look at one queue."""
        log, words = shard.ops, words_of(context.run)
        lag = log.invoke - shard.operations["scheduled_ns"]
        longest: dict[tuple[int, str, int], Rto] = {}
        later: dict[tuple[int, str], Rto] = {}
        shown: dict[tuple[int, str, int], tuple[dict[str, Any], ...]] = {}
        lags: dict[str, int] = {}
        looked = 0
        for f in words.timed:
            name = words.named[f]
            ops = np.flatnonzero(log.f == f)
            following = ops[~shard.operations["pinned"][ops]]
            ops = following if len(following) else ops
            if not len(ops):
                continue
            looked += len(ops)
            lags[name] = int(lag[ops].max())
            served = is_ok_in_time(log, ops, context)
            attempts = Attempts(name, shard.key, log.invoke[ops], log.complete[ops], served)
            for fault, rto, inside, ender in outages_by_fault(attempts, context):
                late = bool((lag[ops][inside] > LAG_NS).any())
                node = node_name(context, int(log.node[ops[ender]])) if ender >= 0 else ""
                one = msgspec.structs.replace(rto, lagged=late, node=node)
                key = (fault.id, name, shard.key)
                keep_longer(longest, key, one)
                keep_later(later, fault, one)
                if longest[key] is one and _over(one, context.run.rto_budget_s):
                    first = int(np.flatnonzero(inside)[0])
                    around = (*ops[np.flatnonzero(served[:first])[-1:]], ops[first])
                    around = (*around, *([ops[ender]] if ender >= 0 else []))
                    shown[key] = tuple(describe_operation(shard, context, int(op)) for op in around)
        bad = (log.type != Type.OK) & ~is_among(log.f, words.final) & ~refused_by_design(shard, context)
        bad_ns = sorted_times(log.invoke[bad])
        return RtoSummary(
            longest=longest,
            later=later,
            shown=shown,
            lag_ns=lags,
            not_ok=not_ok_under(bad_ns, context),
            operations=looked,
        )

    def merge(self, left: RtoSummary, right: RtoSummary) -> RtoSummary:
        """Add two queues."""
        later = dict(left.later)
        for key, one in right.later.items():
            keep_longer(later, key, one)
        return RtoSummary(
            longest={**left.longest, **right.longest},
            later=later,
            shown={**left.shown, **right.shown},
            lag_ns={
                f: max(left.lag_ns.get(f, 0), right.lag_ns.get(f, 0)) for f in sorted({*left.lag_ns, *right.lag_ns})
            },
            not_ok={
                fault: left.not_ok.get(fault, 0) + right.not_ok.get(fault, 0)
                for fault in sorted({*left.not_ok, *right.not_ok})
            },
            operations=left.operations + right.operations,
        )

    def of_fault(self, summary: RtoSummary, fault: int, context: Context) -> tuple[Rto, ...]:
        """The RTOs of one fault: over all queues first (key -1), then each queue that had an outage."""
        out = []
        words = words_of(context.run)
        rank = {words.named[number]: place for place, number in enumerate(words.timed)}
        for f in sorted(summary.lag_ns, key=lambda word: rank.get(word, len(rank))):
            own = [one for (i, word, _), one in sorted(summary.longest.items()) if i == fault and word == f]
            resolution_s = _resolution_s(context, f, summary.lag_ns[f])
            over_all = Rto(f=f, seconds=None)
            for one in own:
                over_all = longer_of(over_all, one)
            all_of_kind = (msgspec.structs.replace(over_all, key=-1), *(one for one in own if one.key >= 0))
            out += [msgspec.structs.replace(one, resolution_s=round(resolution_s, 6)) for one in all_of_kind]
        return tuple(sorted(out, key=lambda one: one.key >= 0))

    def later_outages(self, summary: RtoSummary, fault: int) -> tuple[Rto, ...]:
        """Of each kind the longest outage that began after a fault's heal, unless it is the longest of all."""
        found = []
        for (number, f), one in sorted(summary.later.items()):
            worst = one
            for (i, word, _), own in sorted(summary.longest.items()):
                worst = longer_of(worst, own) if (i, word) == (fault, f) else worst
            if number == fault and (worst.key, worst.start_ns) != (one.key, one.start_ns):
                found.append(one)
        return tuple(found)

    def conclude(self, summary: RtoSummary | None, context: Context) -> CheckResult:
        """The row of the verdict table; an error only against a budget."""
        summary = summary if summary is not None else RtoSummary()
        budget_s, budgeted = context.run.rto_budget_s, words_of(context.run).budgeted
        worst: Rto | None = None
        over: list[Example] = []
        counted: set[tuple[str, int | None]] = set()
        coarse = False
        for fault, _, _ in _windows(context):
            own = [one for one in self.of_fault(summary, fault.id, context) if one.key < 0 and one.f in budgeted]
            for one in own:
                worst = one if worst is None else longer_of(worst, one)
                coarse |= budget_s is not None and one.resolution_s > budget_s
            late = [one for one in own if _over(one, budget_s) and (one.f, one.start_ns) not in counted]
            counted |= {(one.f, one.start_ns) for one in late}  # an outage of several faults is one
            if late and context.whole:
                over.append(_over_example(context, fault, late, summary))
        found = "no outage"
        if worst is not None and worst.seconds is not None:
            unset = "no budget was set, so no outage fails: " if budget_s is None else ""
            found = (
                f"worst {worst.f} {worst.seconds:.1f} s"
                if worst.recovered
                else f"{unset}{worst.f}s had not recovered when the load ended"
            )
        valid: Valid = True
        reason = ""
        anomalies = {}
        if over:
            anomalies["rto-budget"] = anomaly("rto-budget", Finding(count=len(over), examples=examples(over)), context)
            valid = anomalies["rto-budget"].allowed
        elif coarse:
            valid, reason = UNKNOWN, f"the RTO budget of {budget_s:g} s is below the resolution of the load"
        return CheckResult(
            name=self.name,
            valid=valid,
            found=found,
            examined=count_of(summary.operations, "timed operation"),
            anomalies=anomalies,
            reason=reason,
        )


def _over(one: Rto, budget_s: float | None) -> bool:
    return budget_s is not None and one.seconds is not None and (not one.recovered or one.seconds > budget_s)


def _key_of(summary: RtoSummary, fault: int, late: Rto) -> int:
    """The queue of an outage which is the longest over all queues."""
    return next(
        key
        for (number, f, key), one in sorted(summary.longest.items())
        if (number, f, one.start_ns) == (fault, late.f, late.start_ns)
    )


def _over_example(context: Context, fault: FaultSpan, late: list[Rto], summary: RtoSummary) -> Example:
    """A fault over the budget: whom it leads to, which kinds stood still, from when to when, who answered first again.

    Of a kind that stood still as long as the one before only its length is told.
    """
    first, budget_s = late[0], context.run.rto_budget_s
    key, start_ns = _key_of(summary, fault.id, first), first.start_ns or 0
    end_ns = start_ns + round((first.seconds or 0.0) * NS_PER_S)

    def told(one: Rto) -> str:
        begun = seconds_text(context, one.start_ns or 0)
        if not one.recovered or one.seconds is None:
            return f"{one.f}s from {begun} on without recovery"
        length = f"{one.f}s for {one.seconds:.1f} s"
        alike = one is not first and first.recovered and one.node == first.node
        if alike and abs((one.start_ns or 0) - start_ns) < NS_PER_S:
            return length
        end = seconds_text(context, (one.start_ns or 0) + round(one.seconds * NS_PER_S))
        return f"{length} from {begun} until {one.node} answered again at {end}"

    who = answerable(context, context.subject_of(key), start_ns, end_ns)
    controller = context.timeline.controller_at(end_ns)
    active = f"; {controller} was the active controller" if controller and (not who or who.node != controller) else ""
    whom = f"{fault_name(fault)} at {seconds_text(context, fault.inject_ns or 0)}"
    whom = f"{whom} stopped" if who is None else f"{who.words} after {whom}, which stopped"
    after_s = context.run.promises.fails_over_after_s
    due = f"; a new leader is due {after_s:g} s after the last one went" if after_s and context.subject_of(key) else ""
    return Example(
        sentence=f"{whom} {join_names([told(one) for one in late])}, over the budget of {budget_s:g} s{due}{active}",
        node=who.node if who is not None else first.node or next(iter(fault.targets), None),
        at_ns=first.start_ns,
        fault=fault.id,
        ops=summary.shown.get((fault.id, first.f, key), ()),
    )
