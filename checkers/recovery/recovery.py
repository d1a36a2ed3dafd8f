"""After the last heal everything comes back (SEMANTICS 17a): every node, and the service of every queue.

A node that ended by itself, answers nothing, or is in no SyncStateSet once the promised time is over is
``did-not-come-back``; a queue without an acknowledgement for longer is ``no-recovery``. Under a fault that is never
healed ``checkers.recovery.left_in_force`` judges the queues. What is late is claimed only
where the harness has done its part: every fault is healed, every link passes, nodes had their share of the CPUs, and
the load left in time. Where that is in doubt the row is unknown. A node that ended by itself is claimed whatever the
machine was doing, unless it lacked memory or files. A run that was interrupted or killed is not judged.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.node_notes import ENDED
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from chaos.models.log.words import MODEL as LOG
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import reign_words
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, anomaly, count_of, describe_operation, examples, numbers, seconds_text
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, is_among, sorted_times
from checkers.history.lateness import LAG_NS, LATE_SHARE
from checkers.history.leadership import Reign
from checkers.history.timeline import FaultSpan
from checkers.history.words import words_of
from checkers.log.replicas import copies_alike
from checkers.recovery import left_in_force
from checkers.recovery.left_in_force import LeftSummary
from checkers.recovery.missing_nodes import Missing, deadline_ns, healed_words, is_explained, missing_nodes
from checkers.recovery.service import Sent, silences

STARVED_SHARE: Final = 0.75
"""A node that waited for more than this share of the time in which it wanted a CPU had less than a quarter of what it
could use.

Promised times are four times what was measured on a machine that was shared by all nodes.
"""


LATER_NS: Final = NS_PER_S
"""Longer silences after service was back are told."""


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """A queue from the first unanswered send to the next acknowledgement, or to the last send if there is none.

    ``before_ns``: the last acknowledgement before it, -1 for none. ``unanswered``: how many sends from then on had no
    answer, and ``read``: how many of these reads returned; both 0 of what is no log. ``shown``: the operations around
    it, as ``describe_operation`` has them.
    """

    start_ns: int
    end_ns: int
    acked: bool
    before_ns: int = -1
    unanswered: int = 0
    read: int = 0
    shown: tuple[dict[str, Any], ...] = ()


class RecoverySummary(msgspec.Struct, frozen=True, kw_only=True):
    """One or more queues since the last heal.

    ``silent``: key → its silence that is over the promise. ``keys``: of how many changes were due, ``unserved``: how
    many of them had no acknowledgement; ``changes``: how many were due. ``load`` and ``late``: operations, and those
    that started over 250 ms late or never. ``slowest_ns``: the longest time from the heal to a queue's next
    acknowledgement. ``later``: the longest silence that began after that acknowledgement: ns, its beginning, minus the
    key. ``alike``: replica → whether its own copies are all that the final reads show. ``left``: under a fault that is
    never healed nothing else is given.
    """

    silent: dict[int, Silence] = {}
    keys: int = 0
    unserved: int = 0
    changes: int = 0
    load: int = 0
    late: int = 0
    slowest_ns: int = 0
    later: tuple[int, int, int] = (0, 0, 0)
    alike: dict[str, bool] = {}
    left: LeftSummary = LeftSummary()


class _Since(NamedTuple):
    """The sends of clients that follow the route since the last heal, and all acknowledgements of the queue."""

    sent: Sent
    healed_ns: int


def _healed_ns(context: Context) -> int:
    """When the last fault was healed; without faults when the load began."""
    return context.timeline.last_heal_ns() or context.timeline.origin_ns


def _since(shard: QueueShard, context: Context) -> _Since:
    """An acknowledgement of a client that stays on one node counts too: then the queue takes sends."""
    log, healed_ns = shard.ops, _healed_ns(context)
    every = np.flatnonzero(is_among(log.f, words_of(context.run).changes))
    acks = sorted_times(log.complete[every[np.equal(log.type[every], Type.OK)]])
    due = every[~shard.operations["pinned"][every] & (log.invoke[every] >= healed_ns)]
    return _Since(Sent(due, log.invoke[due], np.equal(log.type[due], Type.OK), acks), healed_ns)


def _silence(since: _Since, context: Context) -> tuple[int, int] | None:
    """The silence over the promise: which of the sends it begins with, and its length in ns; None if there is none.

    Either from the heal on, or after the last acknowledgement until the load ended: what ends in between is an outage.
    """
    sent = since.sent
    if not len(sent.ops):
        return None
    lengths, within_ns = silences(sent), round(context.run.promises.recovers_within_s * NS_PER_S)
    after = int(np.searchsorted(sent.invoke, sent.acks[-1], side="right")) if len(sent.acks) else 0
    for place in sorted({0, after} - {len(sent.ops)}):
        length = int(lengths[place])
        if length > within_ns and int(sent.invoke[place]) + length > deadline_ns(context, within_ns):
            return place, length
    return None


def _shown(shard: QueueShard, context: Context, sent: Sent, place: int, end_ns: int) -> Iterator[dict[str, Any]]:
    log = shard.ops
    every = np.flatnonzero(is_among(log.f, words_of(context.run).changes) & np.equal(log.type, Type.OK))
    before: Ints = every[log.complete[every] <= sent.invoke[place]]
    if len(before):
        yield describe_operation(shard, context, int(before[np.argmax(log.complete[before])]))
    yield describe_operation(shard, context, int(sent.ops[place]))
    ender: Ints = every[log.complete[every] == end_ns]
    if len(ender):
        yield describe_operation(shard, context, int(ender[0]))


def _unanswered(shard: QueueShard, context: Context, start_ns: int, end_ns: int) -> tuple[int, int]:
    """Of a log how many sends of a stretch of time had no answer, and how many of these reads returned."""
    if context.run.model != LOG:
        return 0, 0
    log = shard.log
    sends = log.sends
    vids = np.flatnonzero(
        (log.type[sends] == Type.INFO) & (log.invoke[sends] >= start_ns) & (log.invoke[sends] <= end_ns)
    )
    return len(vids), int(log.seen(log.row_ok)[vids].sum())


def _alike(shard: QueueShard, context: Context) -> dict[str, bool]:
    """Which replicas hold all that the final reads show; empty where no return into the SyncStateSet is promised."""
    promised = context.run.promises.rejoins_within_s and context.run.model == LOG
    return copies_alike(shard, context) if promised else {}


class RecoveryKernel(OfEachKey):
    """Nodes and queues after the last heal."""

    name = "recovery"
    help = "after the last heal, or though a minority stays away, all serves again within the system's time"
    anomalies = kinds_named("did-not-come-back", "no-recovery", left_in_force.NAME)

    def applies(self, context: Context) -> str | None:
        """Where the system promises it or a fault is never healed, in a run that went to its end."""
        if not context.run.promises.recovers_within_s and not context.timeline.left_in_force():
            return "the system does not promise to recover within a time"
        return "the run did not go to its end" if context.run.interrupted or not context.whole else None

    def examine(self, shard: QueueShard, context: Context) -> RecoverySummary:
        """Look at one queue."""
        if context.timeline.left_in_force():
            return RecoverySummary(left=left_in_force.examine(shard, context))
        if not context.run.promises.recovers_within_s or _healed_ns(context) == NEVER_NS:
            return RecoverySummary()
        since = _since(shard, context)
        sent, due = since.sent, shard.operations["scheduled_ns"]
        load = ~is_among(shard.ops.f, words_of(context.run).final) & (due >= since.healed_ns)
        late = load & ((shard.ops.invoke - due > LAG_NS) | np.equal(shard.ops.type, Type.NOT_SENT))
        silent: dict[int, Silence] = {}
        over = _silence(since, context)
        if over is not None:
            place, length = over
            start_ns = int(sent.invoke[place])
            acked = bool(len(sent.acks) and sent.acks[-1] > start_ns)
            before = sent.acks[sent.acks <= start_ns]
            since_ns = int(before[-1]) if len(before) else start_ns
            unanswered, read = _unanswered(shard, context, since_ns, start_ns + length)
            silent[shard.key] = Silence(
                start_ns=start_ns,
                end_ns=start_ns + length,
                acked=acked,
                before_ns=int(before[-1]) if len(before) else -1,
                unanswered=unanswered,
                read=read,
                shown=tuple(_shown(shard, context, sent, place, start_ns + length)),
            )
        served = bool(len(sent.acks)) and int(sent.acks[-1]) >= since.healed_ns
        first_ack = sent.acks[np.searchsorted(sent.acks, since.healed_ns)] if served else since.healed_ns
        again = np.flatnonzero(sent.invoke > first_ack) if served else np.zeros(0, dtype=np.int64)
        lengths = silences(sent)[again]
        place = int(again[np.argmax(lengths)]) if len(again) else -1
        return RecoverySummary(
            silent=silent,
            later=(int(lengths.max()), int(sent.invoke[place]), -shard.key) if place >= 0 else (0, 0, 0),
            keys=int(len(sent.ops) > 0),
            unserved=int(len(sent.ops) > 0 and not served),
            changes=len(sent.ops),
            load=int(load.sum()),
            late=int(late.sum()),
            slowest_ns=int(first_ack) - since.healed_ns,
            alike=_alike(shard, context),
        )

    def merge(self, left: RecoverySummary, right: RecoverySummary) -> RecoverySummary:
        """Add two queues."""
        return RecoverySummary(
            silent={**left.silent, **right.silent},
            keys=left.keys + right.keys,
            unserved=left.unserved + right.unserved,
            changes=left.changes + right.changes,
            load=left.load + right.load,
            late=left.late + right.late,
            slowest_ns=max(left.slowest_ns, right.slowest_ns),
            later=max(left.later, right.later),
            alike={
                node: left.alike.get(node, True) and right.alike.get(node, True)
                for node in sorted({*left.alike, *right.alike})
            },
            left=left_in_force.merge(left.left, right.left),
        )

    def conclude(self, summary: RecoverySummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        within_s, words = context.run.promises.recovers_within_s, words_of(context.run)
        summary = summary if summary is not None else RecoverySummary()
        missing = missing_nodes(context)
        ended = tuple(one for one in missing if one.how == ENDED and not one.excuse)
        if context.timeline.left_in_force():
            told = [one.example for one in ended]
            return left_in_force.conclude(self.name, summary.left, context, told, STARVED_SHARE)
        found = {
            "did-not-come-back": [_example(one, summary) for one in missing],
            "no-recovery": [] if any(one.how == ENDED for one in missing) else list(_unrecovered(summary, context)),
        }
        examined = words.changes_of(summary.changes)
        certain = bool(ended) and ended == missing
        excuses = doubts(summary, missing, context) if any(found.values()) and not certain else []
        if excuses and ended:
            found["did-not-come-back"] = [one.example for one in ended]
        elif excuses:
            what = f"{count_of(len(missing), 'node')} missing" if missing else f"silent {words.key}s"
            return CheckResult(
                name=self.name,
                valid=UNKNOWN,
                found=f"{what}, not judged",
                examined=examined,
                reason=f"whether everything came back after the last heal cannot be told: {'; '.join(excuses)}",
            )
        anomalies = {
            name: anomaly(name, Finding(count=len(every), examples=examples(every)), context)
            for name, every in found.items()
            if every
        }
        text = ", ".join(f"{one.count} {name}{' (allowed)' if one.allowed else ''}" for name, one in anomalies.items())
        clean = f"every {words.key} took {words.change}s again within {summary.slowest_ns / NS_PER_S:.1f} s"
        if summary.unserved:
            clean = f"{count_of(summary.unserved, words.key)} not served again before the load ended"
        silence_ns, begun_ns, key = summary.later
        if silence_ns > LATER_NS:
            begun = seconds_text(context, begun_ns)
            clean += f" (later silent for up to {silence_ns / NS_PER_S:.1f} s: {words.key} {-key} from {begun})"
        return CheckResult(
            name=self.name,
            valid=all(one.allowed for one in anomalies.values()),
            found=text or f"{clean}, {within_s:g} s promised",
            examined=examined,
            anomalies=anomalies,
        )


def _example(missing: Missing, summary: RecoverySummary) -> Example:
    """The example of a node that did not come back: it blames the leader if the node holds all that it should."""
    if missing.kept_out is not None and summary.alike.get(missing.node, False):
        return missing.kept_out
    return missing.example


def doubts(summary: RecoverySummary, missing: tuple[Missing, ...], context: Context) -> list[str]:
    """Why what is missing after the last heal may be the harness' or the machine's doing; empty if nothing says so."""
    out = []
    if summary.late > LATE_SHARE * summary.load:
        out.append(
            f"the load generator fell behind: {summary.late} of {summary.load} operations since then started over "
            "250 ms late or never"
        )
    looks = context.timeline.nodes.looks
    starved = {name: share for look in looks for name, share in look.waited.items() if share > STARVED_SHARE}
    out += [f"{name} waited for a CPU {share:.0%} of the time".replace("%", " %") for name, share in starved.items()]
    out += [one.excuse for one in missing if one.excuse]
    ends = [one.to_ns for one in missing] + [one.end_ns for one in summary.silent.values()]
    if not looks:
        out.append("the harness did not look whether every node ran and was reachable")
    elif min(ends, default=NEVER_NS) <= looks[0].since_ns:
        out.append("it was over before the harness looked whether nodes had their share of the CPUs")
    elif looks[-1].cut:
        out.append(f"probes were lost between nodes ({', '.join(looks[-1].cut[:4])})")
    elif down := set(looks[-1].dead) - {one.node for one in missing}:
        out.append(f"{', '.join(sorted(down))} did not run")
    unhealed = [
        fault.id for fault in context.timeline.injected() if not fault.healed and not is_explained(fault, context)
    ]
    out += [f"the heal of {numbers('fault', unhealed)} is not proven"] if unhealed else []
    return out


def _unrecovered(summary: RecoverySummary, context: Context) -> Iterator[Example]:
    """An example for each silent queue."""
    within_s, fault = context.run.promises.recovers_within_s, last_healed(context)
    served, words = summary.keys - len(summary.silent), words_of(context.run)
    beside = f" while {count_of(served, f'other {words.key}')} took {words.change}s" if served else ""
    for key, one in sorted(summary.silent.items()):
        until = "one was again" if one.acked else "the load ended"
        leader = _leader(context, key, one.end_ns)
        controller = context.timeline.controller_at(one.end_ns) if leader is None else None
        led = f"{leader.node} was {reign_words(leader, context)}, " if leader is not None else ""
        led = led or _nobody_led(context, key, controller)
        began_ns, of_it = one.start_ns, ""
        if fault is not None and 0 <= one.before_ns < (fault.healed_ns or 0) - NS_PER_S:
            began_ns, of_it = one.before_ns, f"{(one.end_ns - one.start_ns) / NS_PER_S:.1f} s of it "
        shown = (
            f"reads returned {one.read} of the {one.unanswered} messages whose sends got no answer, "
            if one.read
            else ""
        )
        sentence = (
            f"no {words.change} to {words.key} {key} was acknowledged from {seconds_text(context, began_ns)} to "
            f"{seconds_text(context, one.end_ns)}, when {until}{beside}, {of_it}{healed_words(context, fault)}; {shown}"
            f"{led}every process ran, every link passed, and {within_s:g} s are promised"
        )
        yield Example(
            sentence=sentence,
            key=key,
            node=leader.node if leader is not None else controller,
            at_ns=one.start_ns,
            fault=fault.id if fault is not None else None,
            ops=one.shown,
        )


def _leader(context: Context, key: int, at_ns: int) -> Reign | None:
    """Who said to lead a queue then, of several the one of the newest epoch."""
    over = context.timeline.reigns_over(context.subject_of(key))
    own = [reign for reign in over if reign.first_ns <= at_ns <= reign.last_ns + 2 * NS_PER_S]
    return max(own, key=lambda reign: (reign.epoch, reign.first_ns), default=None)


def _nobody_led(context: Context, key: int, controller: str | None) -> str:
    """That a queue had no leader, as a part of a sentence; empty where none has one. ``controller``: the active one."""
    subject = context.subject_of(key)
    if subject is None:
        return ""
    under = f" under controller {controller}" if controller is not None else ""
    return f"nobody led {subject}{under}, " if len(context.run.replicated) > 1 else f"no node led{under}, "


def last_healed(context: Context) -> FaultSpan | None:
    """The fault that was healed last."""
    return max(context.timeline.injected(), key=lambda fault: fault.healed_ns or 0, default=None)
