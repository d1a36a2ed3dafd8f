"""What each fault cost: acknowledged messages lost, and over how long (SEMANTICS 19).

A loss belongs to the last fault injected before the first read that proves it. Does not find losses itself:
``checkers.log.lost_writes`` does.
"""

from typing import Final

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import CheckResult
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import count_of
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.log.lost_writes import losses_of


class FaultLoss(msgspec.Struct, frozen=True):
    """Lost messages and the earliest and latest of their acknowledgements (ns)."""

    lost: int
    first_ns: int
    last_ns: int

    @property
    def span_s(self) -> float:
        """Latest minus earliest acknowledgement, in seconds."""
        return round((self.last_ns - self.first_ns) / NS_PER_S, 9)


class RpoSummary(msgspec.Struct, frozen=True):
    """Toll per fault id; 0 stands for losses proven before any fault."""

    tolls: dict[int, FaultLoss]
    examined: int


def tolls_of(proof_ns: Ints, acked_ns: Ints, context: Context) -> dict[int, FaultLoss]:
    """Losses by the fault they belong to.

    Args:
        proof_ns: when the first read that proves each loss was complete.
        acked_ns: when each lost message was acknowledged.
        context: for the faults.
    """
    faults = context.timeline.injected()
    starts = np.array([fault.inject_ns or 0 for fault in faults], dtype=np.int64)
    ids = np.array([0, *(fault.id for fault in faults)], dtype=np.int64)
    owner = ids[np.searchsorted(starts, proof_ns, side="right")]
    tolls = {}
    for fault in np.unique(owner):
        own = acked_ns[owner == fault]
        tolls[int(fault)] = FaultLoss(len(own), int(own.min()), int(own.max()))
    return tolls


NAMED: Final = 3
"""Faults that are named with what they cost; of more the sum and the worst are told."""


def _within(toll: FaultLoss) -> str:
    """Over how long lost messages were acknowledged; nothing of a single one."""
    if toll.lost < 2:  # noqa: PLR2004 - one has no span
        return ""
    length = f"{toll.span_s:.1f} s" if toll.span_s >= 1 else f"{toll.span_s * 1000:.0f} ms"
    return f", all acknowledged within a span of {length}" if toll.span_s >= 0.0005 else ", acknowledged at one moment"  # noqa: PLR2004


class RpoKernel(OfEachKey):
    """Losses by the fault they belong to."""

    name = "rpo"
    help = "acknowledged messages lost per fault, and the span of their acknowledgements"
    anomalies = kinds_named()

    def examine(self, shard: QueueShard, context: Context) -> RpoSummary:
        """Look at one queue."""
        losses, log = losses_of(shard, context), shard.log
        acked_ns = log.complete[log.sends[losses.lost]]
        return RpoSummary(tolls_of(losses.proof_ns, acked_ns, context), len(log.acked))

    def merge(self, left: RpoSummary, right: RpoSummary) -> RpoSummary:
        """Add two queues."""
        tolls = dict(left.tolls)
        for fault, toll in right.tolls.items():
            own = tolls.get(fault)
            tolls[fault] = (
                toll
                if own is None
                else FaultLoss(own.lost + toll.lost, min(own.first_ns, toll.first_ns), max(own.last_ns, toll.last_ns))
            )
        return RpoSummary(tolls, left.examined + right.examined)

    def conclude(self, summary: RpoSummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        tolls = summary.tolls if summary is not None else {}
        names = {fault.id: f"fault {fault.id} ({fault.name})" for fault in context.timeline.faults}
        told = ", ".join(
            f"{names.get(fault, 'no fault')}: {toll.lost} lost{_within(toll)}" for fault, toll in sorted(tolls.items())
        )
        if len(tolls) > NAMED:
            most = max(tolls, key=lambda fault: (tolls[fault].lost, -fault))
            lost, every = sum(toll.lost for toll in tolls.values()), len(context.timeline.injected())
            told = (
                f"{lost} lost under {len(tolls)} of {count_of(every, 'fault')}, the most under "
                f"{names.get(most, 'no fault')}: {tolls[most].lost}{_within(tolls[most])}; see each fault's row"
            )
        return CheckResult(
            name=self.name,
            valid=not tolls,
            found=told or "no loss was proven",
            examined=count_of(summary.examined if summary is not None else 0, "acknowledged message"),
        )
