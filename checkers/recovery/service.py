"""What clients had of the service: availability, silences, steady throughput after a heal, latency from end to end.

Figures for comparing runs, faults and systems; none of them is a verdict (``checkers.cluster.progress`` makes one of
silences). Only clients that follow the route count, if there are any: refusals of a client that stays on a slave say
nothing of the service. Does not smooth: a second is served or it is not.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import Availability, Latency, Steady
from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Floats, Ints, Mask, is_among, sorted_times
from checkers.history.timeline import FaultSpan
from checkers.history.words import words_of
from checkers.recovery.histogram import BUCKETS, bucket_of, quantile
from checkers.recovery.quiet_stretches import QUIET_RATE, is_ok_in_time, quiet_ns

CONSUMED: Final = (int(F.POLL), int(F.READ), int(F.SLAVE_READ))
"""Reads by which a message has reached a consumer, beside pops."""
STEADY_S: Final = 5
STEADY_SHARE: Final = 0.9
LEAST_HEALTHY_S: Final = 5
_STEPS_MAX: Final = 1_000_000


class Sent(NamedTuple):
    """The sends that tell of the service, in order of invocation; ``acks``: when they were acknowledged, ascending."""

    ops: Ints
    invoke: Ints
    ok: Mask
    acks: Ints


class ServiceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One or more queues.

    ``due`` and ``acked``: sends due and acknowledged per second; ``ok``: per second, sends due in it that were ok;
    ``served``: of the seconds in which sends of a queue were due, how many there were and in how many one of them was
    ok; ``silence``: the longest, and when it began.
    ``histogram``, ``slowest_ms`` and ``unread``: a row each for the healthy time and for every injected fault.
    """

    due: Ints
    ok: Ints
    acked: Ints
    served: dict[int, tuple[int, int]]
    silence: dict[int, tuple[int, int]]
    histogram: Ints
    slowest_ms: Ints
    unread: Ints


def sent_of(shard: QueueShard, context: Context) -> Sent:
    """The changes that clients asked for that follow the route, of all clients if none does."""
    log = shard.ops
    ops = np.flatnonzero(is_among(log.f, words_of(context.run).changes))
    following = ops[~shard.operations["pinned"][ops]]
    ops = following if len(following) else ops
    ok = np.equal(log.type[ops], Type.OK)
    return Sent(ops, log.invoke[ops], ok, sorted_times(log.complete[ops[ok]]))


def silences(sent: Sent) -> Ints:
    """Per send: ns from its invocation to the next acknowledgement of any; to the last invocation if there is none."""
    if not len(sent.ops):
        return np.zeros(0, dtype=np.int64)
    at = np.searchsorted(sent.acks, sent.invoke, side="right")
    behind = np.append(sent.acks, sent.invoke.max())
    lengths: Ints = np.maximum(behind[at] - sent.invoke, 0)
    return lengths


def _grid(context: Context) -> tuple[int, int]:
    """Number of steps over the run and their length in ns: a second, unless the run is longer than any."""
    duration_ns = max(NS_PER_S, context.timeline.end_ns - context.timeline.origin_ns)
    step_ns = NS_PER_S * max(1, -(-duration_ns // (NS_PER_S * _STEPS_MAX)))
    return duration_ns // step_ns + 1, step_ns


def _windows(context: Context) -> list[FaultSpan]:
    return context.timeline.injected()


def _window_of(context: Context, invoke: Ints) -> Ints:
    """Per instant the row of the last fault that was in force, 0 for none."""
    row = np.zeros(len(invoke), dtype=np.int64)
    for number, fault in enumerate(_windows(context), 1):
        row[(invoke >= (fault.inject_ns or 0)) & (invoke <= fault.in_force_until_ns())] = number
    return row


def summary_of(key: int, sent: Sent, invoke: Ints, first: Ints, context: Context) -> ServiceSummary:
    """What one queue's columns say.

    Args:
        key: the queue; -1: the history knows of none.
        sent: its sends.
        invoke: when each message was sent (ns) whose way to a consumer is looked at.
        first: when each of them was first given to a consumer (ns), NEVER_NS: to nobody.
        context: for the faults, and the time that is looked at.
    """
    steps, step_ns = _grid(context)

    def second(times: Ints) -> Ints:
        return np.clip((times - context.timeline.origin_ns) // step_ns, 0, steps - 1)

    due = np.bincount(second(sent.invoke), minlength=steps)
    ok = np.bincount(second(sent.invoke[sent.ok]), minlength=steps)
    quiet = silences(sent)
    longest = int(np.argmax(quiet)) if len(quiet) else -1
    histogram, slowest, unread = _latency(invoke, first, context)
    return ServiceSummary(
        due=due,
        ok=ok,
        acked=np.bincount(second(sent.acks), minlength=steps),
        served={key: (int((due > 0).sum()), int((ok > 0).sum()))} if len(sent.ops) else {},
        silence={key: (int(quiet[longest]), int(sent.invoke[longest]))} if longest >= 0 else {},
        histogram=histogram,
        slowest_ms=slowest,
        unread=unread,
    )


def _latency(invoke: Ints, first: Ints, context: Context) -> tuple[Ints, Ints, Ints]:
    """A histogram, the slowest, the number of the unread: a row of each for the healthy time and for each fault."""
    rows = len(_windows(context)) + 1
    window, read = _window_of(context, invoke), first != NEVER_NS
    latency_ms = (first[read] - invoke[read]) / 1e6
    cell = window[read] * BUCKETS + bucket_of(latency_ms)
    slowest = np.full(rows, -1.0)
    np.maximum.at(slowest, window[read], latency_ms)
    histogram = np.bincount(cell, minlength=rows * BUCKETS).reshape(rows, BUCKETS)
    return histogram, slowest, np.bincount(window[~read], minlength=rows)


class ServiceKernel:
    """Counts per second, silences, and histograms of latency from end to end."""

    name = "service"
    help = "availability, silences and latency from end to end; decides nothing"

    def examine(self, shard: QueueShard, context: Context) -> ServiceSummary:
        """Look at one queue."""
        sent = sent_of(shard, context)
        served = sent._replace(ok=is_ok_in_time(shard.ops, sent.ops, context))
        return summary_of(shard.key, served, *self._given(shard, context), context)

    def _given(self, shard: QueueShard, context: Context) -> tuple[Ints, Ints]:
        """The invocation of each acknowledged send, and the answer of the first read that gave it to a consumer.

        Nothing of what is no log.
        """
        if context.run.model != LOG_MODEL:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        log = shard.log
        first = log.first_given_ns(is_among(log.f, CONSUMED)[log.row_op])
        reads = shard.reads
        popped = np.flatnonzero(reads["f"] == F.POP)
        if len(popped):
            vid = log.vids(reads["writer"][popped].astype(np.int64), reads["sequence"][popped])
            np.minimum.at(first, vid[vid >= 0], reads["complete_ns"][popped][vid >= 0])
        # A delayed message is given late on purpose, and a half one when its producer decides: neither is latency.
        plain = log.acked[np.equal(log.f[log.sends[log.acked]], F.SEND)]
        return log.invoke[log.sends[plain]], first[plain]

    def merge(self, left: ServiceSummary, right: ServiceSummary) -> ServiceSummary:
        """Add two queues."""
        return ServiceSummary(
            due=left.due + right.due,
            ok=left.ok + right.ok,
            acked=left.acked + right.acked,
            served={**left.served, **right.served},
            silence={**left.silence, **right.silence},
            histogram=left.histogram + right.histogram,
            slowest_ms=np.maximum(left.slowest_ms, right.slowest_ms),
            unread=left.unread + right.unread,
        )

    def conclude(self, summary: ServiceSummary | None, context: Context) -> None:
        """No row of the verdict table: these are figures."""


def availability(summary: ServiceSummary | None) -> tuple[Availability, ...]:
    """Over all queues first (key -1), then of each queue, if the history knows of queues."""
    if summary is None or not summary.served:
        return ()
    out = []
    for key, (due, served) in sorted(summary.served.items()):
        if key >= 0:
            length_ns, at_ns = summary.silence[key]
            out.append(_availability(key, due, served, length_ns, at_ns))
    # Over all queues: a second counts as served if any queue was, by what was due in it as for a single queue.
    due, served = int((summary.due > 0).sum()), int((summary.ok > 0).sum())
    length_ns, at_ns = max(summary.silence.values(), key=lambda one: (one[0], -one[1]))
    return (_availability(-1, due, served, length_ns, at_ns), *out)


def _availability(key: int, due: int, served: int, length_ns: int, at_ns: int) -> Availability:
    return Availability(
        key=key,
        share=round(served / due, 6) if due else None,
        seconds=due,
        silence_s=round(length_ns / NS_PER_S, 6),
        silence_ns=at_ns,
    )


def latencies(summary: ServiceSummary | None, context: Context) -> tuple[Latency, ...]:
    """The healthy time first (fault None), then each fault in whose time something was sent."""
    if summary is None:
        return ()
    quantiles = [quantile(summary.histogram, q, summary.slowest_ms) for q in (0.5, 0.9, 0.99)]
    read, out = summary.histogram.sum(axis=1), []
    for row, fault in enumerate([None, *(span.id for span in _windows(context))]):
        if read[row] or summary.unread[row]:
            slowest = float(summary.slowest_ms[row])
            out.append(
                Latency(
                    fault=fault,
                    messages=int(read[row]),
                    unread=int(summary.unread[row]),
                    p50_ms=quantiles[0][row],
                    p90_ms=quantiles[1][row],
                    p99_ms=quantiles[2][row],
                    max_ms=round(slowest, 3) if read[row] else None,
                )
            )
    return tuple(out)


def _in_force(fault: FaultSpan, at_ns: int) -> bool:
    return (fault.inject_ns or 0) <= at_ns < (NEVER_NS if fault.heal_ns is None else fault.heal_ns)


def _rate_shares(context: Context, steps: int, step_ns: int) -> Floats:
    """For each step the share of the rate that was sent: below 1 where the load was quiet on purpose."""
    begin = context.timeline.origin_ns + np.arange(steps, dtype=np.int64) * step_ns
    shares: Floats = 1.0 - (1.0 - QUIET_RATE) * quiet_ns(context, begin, begin + step_ns) / step_ns
    return shares


def steady(summary: ServiceSummary | None, context: Context) -> dict[int, Steady]:
    """For each fault that was healed: how long after the heal began acknowledgements came as fast as before all faults.

    As fast: over five seconds nine tenths of the median second before the first fault, less where the load was quiet
    (seconds with a quiet moment are left out of the median). A fault is left out where there
    was too little before the first one to compare with, too little time behind its heal, or another in force then.
    """
    faults = context.timeline.injected()
    if summary is None or not faults or not summary.due.any():
        return {}
    _, step_ns = _grid(context)
    origin_ns, acked = context.timeline.origin_ns, summary.acked
    before = acked[1 : max(1, ((faults[0].inject_ns or 0) - origin_ns) // step_ns)]
    rate = _rate_shares(context, len(acked), step_ns)
    whole = before[rate[1 : 1 + len(before)] == 1.0]
    usual = STEADY_SHARE * float(np.median(whole)) if len(whole) >= LEAST_HEALTHY_S else 0.0
    if not usual:
        return {}
    last = int(np.flatnonzero(summary.due)[-1])
    out = {}
    for fault in faults:
        if (
            fault.heal_ns is None
            or not fault.identity.heals
            or any(_in_force(other, fault.heal_ns) for other in faults if other is not fault)
        ):
            continue
        following = [one.inject_ns for one in faults if one.inject_ns is not None and one.inject_ns >= fault.heal_ns]
        begin = (fault.heal_ns - origin_ns) // step_ns
        end = (following[0] - origin_ns) // step_ns if following else last
        if end - begin < STEADY_S:
            continue
        five = np.ones(STEADY_S, dtype=np.int64)
        sums = np.convolve(acked[begin:end], five, mode="valid")
        reached = np.flatnonzero(sums >= usual * np.convolve(rate[begin:end], five, mode="valid"))
        if not len(reached):
            out[fault.id] = Steady(reached=False, seconds=None)
            continue
        at_ns = origin_ns + (begin + int(reached[0])) * step_ns
        out[fault.id] = Steady(reached=True, seconds=round(max(0, at_ns - fault.heal_ns) / NS_PER_S, 3))
    return out
