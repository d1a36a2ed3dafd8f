"""The report's curves, counted where the rows are (``chaos.core.series``).

Sums per step and a histogram of latencies add up over queues; points are an even sample by a hash of
the operation's identity, so that the same operations are shown whatever engine counted them. The
module refuses to keep rows.
"""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.clock import NS_PER_S
from chaos.core.history import NEVER_NS
from chaos.core.op import Type
from chaos.core.series import REFUSED, REFUSED_WORD, Points, Series
from chaos.models.log.words import MODEL as LOG_MODEL
from chaos.models.log.words import F
from checkers.history.columns import Ints, Mask
from checkers.history.kernel import Context, QueueShard
from checkers.history.words import words_of
from checkers.recovery.histogram import BUCKETS, bucket_of, edges_ms, quantile, sparse
from checkers.recovery.refusals import refused_by_design
from checkers.recovery.service import sent_of

STEPS: Final = 600
POINTS_OK: Final = 12_000
POINTS_NOT_OK: Final = 6_000

Floats = npt.NDArray[np.float64]


class Sample(msgspec.Struct, frozen=True):
    """Some operations with the lowest hashes: ``columns`` as in ``Points``, a row each."""

    hashes: npt.NDArray[np.uint64]
    columns: Floats


class SeriesSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One or more queues. Arrays have one entry per step; ``histograms`` one row per step.

    ``rate`` and ``histograms`` are by word and type; the latter hold what was answered during the load.
    """

    rate: dict[tuple[int, int], Ints]
    histograms: dict[tuple[int, int], Ints]
    slowest_ms: Floats
    acked: Ints
    read: Ints
    ok: Sample
    not_ok: Sample
    operations: int


def _grid(context: Context) -> tuple[int, float]:
    """Number of steps and their length in seconds."""
    duration_s = max(1.0, context.timeline.seconds(context.timeline.end_ns))
    step_s = float(max(1, int(np.ceil(duration_s / STEPS))))
    return int(np.ceil(duration_s / step_s)) + 1, step_s


def _hashes(worker: Ints, op: Ints) -> npt.NDArray[np.uint64]:
    """A well mixed number per operation (the finaliser of splitmix64)."""
    x = (worker.astype(np.uint64) << np.uint64(40)) + op.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _lowest(hashes: npt.NDArray[np.uint64], columns: Floats, limit: int) -> Sample:
    if len(hashes) > limit:
        keep = np.argpartition(hashes, limit)[:limit]
        hashes, columns = hashes[keep], columns[keep]
    return Sample(hashes, columns)


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
        rate = {}
        kinds = np.where(refused_by_design(shard, context), REFUSED, log.type)
        code = log.f.astype(np.int64) * 16 + kinds
        most = int(code.max(initial=-1)) + 1
        counts = np.bincount(code * steps + at, minlength=most * steps).reshape(most, steps)
        for one in np.flatnonzero(counts.any(axis=1)).tolist():
            rate[one // 16, one % 16] = counts[one]
        load = ~np.isin(log.f, words.final)
        answered = load & known & (log.type != Type.NOT_SENT) & ~self._waits(shard, context)
        ok = answered & (log.type == Type.OK)
        cells = at * BUCKETS + bucket_of(latency_ms)
        histograms = {}
        for one in np.unique(code[answered]).tolist():
            counted = np.bincount(cells[answered & (code == one)], minlength=steps * BUCKETS)
            histograms[one // 16, one % 16] = counted.reshape(steps, BUCKETS)
        slowest = np.full(steps, -1.0)
        np.maximum.at(slowest, at[ok], latency_ms[ok])
        acked, read = self._read_back(shard, context)
        return SeriesSummary(
            rate=rate,
            histograms=histograms,
            slowest_ms=slowest,
            acked=np.bincount(step_of(acked), minlength=steps),
            read=np.bincount(step_of(read), minlength=steps),
            ok=self._sample(shard, context, load & (log.type == Type.OK), kinds, latency_ms, POINTS_OK),
            not_ok=self._sample(shard, context, load & (log.type != Type.OK), kinds, latency_ms, POINTS_NOT_OK),
            operations=int(load.sum()),
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
        first = np.full(log.values, NEVER_NS, dtype=np.int64)
        rows = log.row_ok & (log.row_vid >= 0)
        np.minimum.at(first, log.row_vid[rows], log.complete[log.row_op[rows]])
        acked_ns = log.complete[log.sends[log.acked]]
        # A message can be read before its acknowledgement arrives; the curve counts acknowledged ones.
        read_ns = np.maximum(first[log.acked], acked_ns)
        return acked_ns, read_ns[first[log.acked] != NEVER_NS]

    def _sample(
        self, shard: QueueShard, context: Context, chosen: Mask, kinds: Ints, latency_ms: Floats, limit: int
    ) -> Sample:
        log, own = shard.ops, shard.operations
        ops = np.flatnonzero(chosen)
        hashes = _hashes(own["worker"][ops], own["op"][ops])
        if len(ops) > limit:
            keep = np.argpartition(hashes, limit)[:limit]
            ops, hashes = ops[keep], hashes[keep]
        columns = np.stack(
            [
                (own["scheduled_ns"][ops] - context.timeline.origin_ns) / NS_PER_S,
                latency_ms[ops],
                log.f[ops],
                kinds[ops],
                own["client"][ops],
                log.node[ops],
            ],
            axis=1,
        ).astype(np.float64)
        return Sample(hashes, columns)

    def merge(self, left: SeriesSummary, right: SeriesSummary) -> SeriesSummary:
        """Add two queues."""

        def both(a: Sample, b: Sample, limit: int) -> Sample:
            return _lowest(np.concatenate((a.hashes, b.hashes)), np.concatenate((a.columns, b.columns)), limit)

        return SeriesSummary(
            rate=_sums(left.rate, right.rate),
            histograms=_sums(left.histograms, right.histograms),
            slowest_ms=np.maximum(left.slowest_ms, right.slowest_ms),
            acked=left.acked + right.acked,
            read=left.read + right.read,
            ok=both(left.ok, right.ok, POINTS_OK),
            not_ok=both(left.not_ok, right.not_ok, POINTS_NOT_OK),
            operations=left.operations + right.operations,
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
            latencies.setdefault(named[f], {})[_word(kind)] = sparse(histogram)
        of_ok = [histogram for (_, kind), histogram in summary.histograms.items() if kind == Type.OK]
        whole = np.sum(of_ok, axis=0) if of_ok else np.zeros((len(summary.slowest_ms), BUCKETS), dtype=np.int64)
        rows = np.concatenate((summary.not_ok.columns, summary.ok.columns))
        rows = rows[np.lexsort(rows.T[::-1])]
        slowest = [None if ms < 0 else round(float(ms), 3) for ms in summary.slowest_ms]
        quantiles = {f"p{round(q * 100)}": quantile(whole, q, summary.slowest_ms) for q in (0.5, 0.99)}
        return Series(
            origin_ns=context.timeline.origin_ns,
            duration_s=duration_s,
            step_s=step_s,
            rate=rate,
            quantiles={**quantiles, "max": slowest},
            operations=summary.operations,
            shown=len(rows),
            points=Points(
                t_s=np.round(rows[:, 0], 4).tolist(),
                latency_ms=np.round(rows[:, 1], 3).tolist(),
                f=rows[:, 2].astype(int).tolist(),
                type=rows[:, 3].astype(int).tolist(),
                client=rows[:, 4].astype(int).tolist(),
                node=rows[:, 5].astype(int).tolist(),
            ),
            acked=np.cumsum(summary.acked).tolist(),
            read=np.cumsum(summary.read).tolist(),
            latencies=latencies,
            bucket_ms=edges_ms(),
        )


def _word(kind: int) -> str:
    """What a type is called in ``Series``."""
    return REFUSED_WORD if kind == REFUSED else Type(kind).word


def _sums(left: dict[tuple[int, int], Ints], right: dict[tuple[int, int], Ints]) -> dict[tuple[int, int], Ints]:
    """The sums of counts by word and type."""
    out = dict(left)
    for code, counts in right.items():
        out[code] = out[code] + counts if code in out else counts
    return out
