"""The report's curves, counted where the rows are (``chaos.core.series``).

Sums per step and a histogram of latencies add up over queues; so do samples of operations
(``checkers.recovery.sample``). Keeps no rows.
"""

from typing import Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.series import REFUSED, REFUSED_WORD, Points, Series
from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS
from checkers.anomalies.findings import node_name
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask, is_among
from checkers.history.words import words_of
from checkers.recovery.errors_by_node import refused_by_design
from checkers.recovery.histogram import BUCKETS, bucket_of, edges_ms, quantile, to_sparse
from checkers.recovery.sample import MOST, MOST_NOT_OK, WHOLE, Sample, join_samples, points_of, sample_of
from checkers.recovery.service import sent_of
from checkers.recovery.step_counts import by_node, by_pair, errors_by_step, most_frequent

STEPS: Final = 600

_Key = TypeVar("_Key")

Floats = npt.NDArray[np.float64]


class SeriesSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One or more queues. Arrays have one entry per step; ``histograms`` one row per step.

    ``rate`` and ``histograms`` are by word and type; the latter hold what was answered during the load. ``usual``: what
    was ok or refused by design. ``errors`` are by text, ``nodes`` by the place of the node that answered and type.
    """

    rate: dict[tuple[int, int], Ints]
    histograms: dict[tuple[int, int], Ints]
    slowest_ms: Floats
    acked: Ints
    read: Ints
    usual: Sample
    not_ok: Sample
    operations: int
    errors: dict[str, Ints]
    nodes: dict[tuple[int, int], Ints]


def _grid(context: Context) -> tuple[int, float]:
    """Number of steps and their length in seconds."""
    duration_s = max(1.0, context.timeline.seconds(context.timeline.end_ns))
    step_s = float(max(1, int(np.ceil(duration_s / STEPS))))
    return int(np.ceil(duration_s / step_s)) + 1, step_s


class SeriesKernel:
    """Counts per step, latency histograms and sampled points."""

    name = "series"
    help = "the report's curves; decides nothing"

    def examine(self, shard: QueueShard, context: Context) -> SeriesSummary:
        """Look at one queue."""
        log, own, words = shard.ops, shard.operations, words_of(context.run)
        steps, step_s = _grid(context)
        origin, scheduled = context.timeline.origin_ns, own["scheduled_ns"]

        def step_of(times: Ints) -> Ints:
            return np.clip((times - origin) // int(step_s * NS_PER_S), 0, steps - 1)

        known = log.complete != NEVER_NS
        at = step_of(np.where(known & (log.type != Type.NOT_SENT), log.complete, scheduled))
        latency_ms = np.where(known, (log.complete - scheduled) / 1e6, -1.0)
        kinds = np.where(refused_by_design(shard, context), REFUSED, log.type)
        code = log.f.astype(np.int16) * 16 + kinds
        load = ~is_among(log.f, words.final)
        answered = np.flatnonzero(load & known & (log.type != Type.NOT_SENT) & ~self._waits(shard, context))
        histograms, slowest = _latencies(code[answered], at[answered], latency_ms[answered], steps)
        acked, read = self._read_back(shard, context)
        usual, not_ok = self._samples(shard, context, load, kinds, latency_ms)
        return SeriesSummary(
            rate=by_pair(code, at, steps),
            histograms=histograms,
            slowest_ms=slowest,
            acked=np.bincount(step_of(acked), minlength=steps),
            read=np.bincount(step_of(read), minlength=steps),
            usual=usual,
            not_ok=not_ok,
            operations=int(load.sum()),
            errors=errors_by_step(shard, load & is_among(kinds, (Type.FAIL, Type.INFO)), at, steps),
            nodes=by_node(log.node, kinds, load & (log.node >= 0), at, steps),
        )

    def _waits(self, shard: QueueShard, context: Context) -> Mask:
        """Polls of a group's members wait for a message: how long says nothing of the system."""
        if context.run.model != LOG_MODEL:
            return np.zeros(len(shard.ops.f), dtype=np.bool_)
        return np.equal(shard.ops.f, F.POLL) & (F.COMMIT.word in context.run.mix)

    def _read_back(self, shard: QueueShard, context: Context) -> tuple[Ints, Ints]:
        """When each acknowledged send was acknowledged, and when those that were read were first read.

        Of what is no log: when each change was acknowledged, and nothing of reads.
        """
        if context.run.model != LOG_MODEL:
            acks = sent_of(shard, context).acks
            return acks, acks[:0]
        log = shard.log
        first = log.first_given_ns(log.row_ok)
        acked_ns = log.complete[log.sends[log.acked]]
        # A message can be read before its acknowledgement arrives; the curve counts acknowledged ones.
        read_ns = np.maximum(first[log.acked], acked_ns)
        return acked_ns, read_ns[first[log.acked] != NEVER_NS]

    def _samples(
        self, shard: QueueShard, context: Context, load: Mask, kinds: Ints, latency_ms: Floats
    ) -> tuple[Sample, Sample]:
        """Operations that were ok or refused by design, and all others."""
        usual = is_among(kinds, (Type.OK, REFUSED))
        limits = _limits(int(load.sum()))
        return (
            sample_of(shard, context, np.flatnonzero(load & usual), kinds, latency_ms, limits[0]),
            sample_of(shard, context, np.flatnonzero(load & ~usual), kinds, latency_ms, limits[1]),
        )

    def merge(self, left: SeriesSummary, right: SeriesSummary) -> SeriesSummary:
        """Add two queues."""
        limits = _limits(left.operations + right.operations)
        return SeriesSummary(
            rate=_sums(left.rate, right.rate),
            histograms=_sums(left.histograms, right.histograms),
            slowest_ms=np.maximum(left.slowest_ms, right.slowest_ms),
            acked=left.acked + right.acked,
            read=left.read + right.read,
            usual=join_samples(left.usual, right.usual, limits[0]),
            not_ok=join_samples(left.not_ok, right.not_ok, limits[1]),
            operations=left.operations + right.operations,
            errors=most_frequent(_sums(left.errors, right.errors)),
            nodes=_sums(left.nodes, right.nodes),
        )

    def series(self, summary: SeriesSummary | None, context: Context) -> Series:
        """The curves as they are stored."""
        _, step_s = _grid(context)
        duration_s = round(max(0.0, context.timeline.seconds(context.timeline.end_ns)), 6)
        if summary is None:
            return Series(
                origin_ns=context.timeline.origin_ns,
                duration_s=duration_s,
                step_s=step_s,
                rate={},
                quantiles={},
                points=Points(),
                operations=0,
                shown=0,
            )
        named = words_of(context.run).named
        rate: dict[str, dict[str, list[int]]] = {}
        for (f, kind), counts in sorted(summary.rate.items()):
            rate.setdefault(named[f], {})[_word(kind)] = counts.tolist()
        latencies: dict[str, dict[str, list[list[int]]]] = {}
        for (f, kind), histogram in sorted(summary.histograms.items()):
            latencies.setdefault(named[f], {})[_word(kind)] = to_sparse(histogram)
        of_ok = [histogram for (_, kind), histogram in summary.histograms.items() if kind == Type.OK]
        whole = np.sum(of_ok, axis=0) if of_ok else np.zeros((len(summary.slowest_ms), BUCKETS), dtype=np.int64)
        points = points_of(summary.not_ok, summary.usual)
        slowest = [None if ms < 0 else round(float(ms), 3) for ms in summary.slowest_ms]
        quantiles = {f"p{round(q * 100)}": quantile(whole, q, summary.slowest_ms) for q in (0.5, 0.99)}
        return Series(
            origin_ns=context.timeline.origin_ns,
            duration_s=duration_s,
            step_s=step_s,
            rate=rate,
            quantiles={**quantiles, "max": slowest},
            operations=summary.operations,
            shown=len(points.t_s),
            points=points,
            acked=np.cumsum(summary.acked).tolist(),
            read=np.cumsum(summary.read).tolist(),
            latencies=latencies,
            bucket_ms=edges_ms(),
            errors={text: counts.tolist() for text, counts in summary.errors.items()},
            nodes=_named_nodes(summary.nodes, context),
        )


def _latencies(
    code: npt.NDArray[np.int16], at: Ints, latency_ms: Floats, steps: int
) -> tuple[dict[tuple[int, int], Ints], Floats]:
    """(word, type) → a histogram for each step, and the slowest ok operation of each, -1 for none.

    Args:
        code: 16 × word + type of each answered operation.
        at: its step.
        latency_ms: how long it took.
        steps: how many steps there are.
    """
    bucket = bucket_of(latency_ms)
    cells = at * BUCKETS + bucket
    histograms: dict[tuple[int, int], Ints] = {}
    highest = np.full(steps, -1)
    for one in np.flatnonzero(np.bincount(code)).tolist():
        counted = np.bincount(cells[code == one], minlength=steps * BUCKETS).reshape(steps, BUCKETS)
        histograms[one // 16, one % 16] = counted
        if one % 16 == Type.OK:
            last = BUCKETS - 1 - (counted[:, ::-1] > 0).argmax(axis=1)
            highest = np.maximum(highest, np.where(counted.any(axis=1), last, -1))
    slowest = np.full(steps, -1.0)
    near = np.flatnonzero((bucket == highest[at]) & (code & 15 == Type.OK))
    np.maximum.at(slowest, at[near], latency_ms[near])
    return histograms, slowest


def _word(kind: int) -> str:
    """What a type is called in ``Series``."""
    return REFUSED_WORD if kind == REFUSED else Type(kind).word


def _limits(operations: int) -> tuple[int, int]:
    """How many operations are kept of so many: usual ones, and others."""
    return (WHOLE, WHOLE) if operations <= WHOLE else (MOST, MOST_NOT_OK)


def _named_nodes(counts: dict[tuple[int, int], Ints], context: Context) -> dict[str, dict[str, list[int]]]:
    """Counts per step by the name of the node and the word of the type."""
    out: dict[str, dict[str, list[int]]] = {}
    for (node, kind), own in sorted(counts.items()):
        out.setdefault(node_name(context, node), {})[_word(kind)] = own.tolist()
    return out


def _sums(left: dict[_Key, Ints], right: dict[_Key, Ints]) -> dict[_Key, Ints]:
    """The sums of counts."""
    out = dict(left)
    for code, counts in right.items():
        out[code] = out[code] + counts if code in out else counts
    return out
