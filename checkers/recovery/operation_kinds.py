"""What became of each kind of operation of a load: how many were ok, how fast, how many a second.

Counts and histograms of latencies add up over queues. Clients that stay on one node to meet deposed leaders are left
out, as in availability. They are figures, and decide nothing.
"""

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import KindResult
from chaos.storage.history import NEVER_NS
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, is_among
from checkers.history.words import words_of
from checkers.recovery.histogram import BUCKETS, bucket_of, quantile

_QUANTILES = (0.5, 0.9, 0.95, 0.99)
_TYPES = 16
"""More than there are types of records."""


class KindCounts(msgspec.Struct, frozen=True):
    """One kind of operation. ``histogram``: of latencies of ok ones; ``slowest_ms``: -1 without any."""

    ok: int
    fail: int
    info: int
    histogram: Ints
    slowest_ms: float


class KindsSummary(msgspec.Struct, frozen=True):
    """Some queues. ``kinds``: by the word's number. ``first_ns``, ``last_ns``: when the first and last were due."""

    kinds: dict[int, KindCounts]
    first_ns: int
    last_ns: int


class KindsKernel:
    """Operations by kind."""

    name = "kinds"
    help = "operations by kind: counts, latencies, ok ones a second; decides nothing"

    def examine(self, shard: QueueShard, context: Context) -> KindsSummary:
        """Look at one queue."""
        log, own = shard.ops, shard.operations
        load = ~is_among(log.f, words_of(context.run).final) & ~own["pinned"]
        ok = load & (log.type == Type.OK)
        of_ok = log.f[ok].astype(np.int64)
        latency_ms = (log.complete[ok] - own["scheduled_ns"][ok]) / 1e6
        due_ns = own["scheduled_ns"][load]
        counts = np.bincount((log.f.astype(np.int16) * _TYPES + log.type)[load])
        counts = np.append(counts, np.zeros(-len(counts) % _TYPES, dtype=np.int64)).reshape(-1, _TYPES)
        words = len(counts)
        histograms = np.bincount(of_ok * BUCKETS + bucket_of(latency_ms), minlength=words * BUCKETS)
        histograms = histograms.reshape(words, BUCKETS)
        slowest = np.full(words, -1.0)
        np.maximum.at(slowest, of_ok, latency_ms)
        kinds = {
            one: KindCounts(
                ok=int(counts[one, Type.OK]),
                # What never left certainly did not take effect.
                fail=int(counts[one, Type.FAIL] + counts[one, Type.NOT_SENT]),
                info=int(counts[one, Type.INFO]),
                histogram=histograms[one],
                slowest_ms=float(slowest[one]),
            )
            for one in np.flatnonzero(counts.any(axis=1)).tolist()
        }
        return KindsSummary(kinds, int(due_ns.min(initial=NEVER_NS)), int(due_ns.max(initial=-NEVER_NS)))

    def merge(self, left: KindsSummary, right: KindsSummary) -> KindsSummary:
        """Add two queues."""
        kinds = dict(left.kinds)
        for f, counts in right.kinds.items():
            kinds[f] = _added(kinds[f], counts) if f in kinds else counts
        return KindsSummary(kinds, min(left.first_ns, right.first_ns), max(left.last_ns, right.last_ns))

    def conclude(self, summary: KindsSummary | None, context: Context) -> None:
        """No row of the verdict table: these are figures."""


def kind_results(summary: KindsSummary | None, context: Context) -> tuple[KindResult, ...]:
    """The figures of each kind, in the order of the model's words."""
    if summary is None:
        return ()
    seconds = max(0, summary.last_ns - summary.first_ns) / NS_PER_S
    named = words_of(context.run).named
    return tuple(_result(named[f], counts, seconds) for f, counts in sorted(summary.kinds.items()))


def _added(left: KindCounts, right: KindCounts) -> KindCounts:
    return KindCounts(
        ok=left.ok + right.ok,
        fail=left.fail + right.fail,
        info=left.info + right.info,
        histogram=left.histogram + right.histogram,
        slowest_ms=max(left.slowest_ms, right.slowest_ms),
    )


def _result(f: str, counts: KindCounts, seconds: float) -> KindResult:
    slowest = np.array([counts.slowest_ms])
    (p50,), (p90,), (p95,), (p99,) = (quantile(counts.histogram.reshape(1, BUCKETS), q, slowest) for q in _QUANTILES)
    return KindResult(
        f=f,
        ok=counts.ok,
        fail=counts.fail,
        info=counts.info,
        ok_per_s=round(counts.ok / seconds, 6) if seconds > 0 else None,
        p50_ms=p50,
        p90_ms=p90,
        p95_ms=p95,
        p99_ms=p99,
        max_ms=round(counts.slowest_ms, 3) if counts.ok else None,
    )
