"""One kernel, two engines: the shape of a check.

A kernel is pure: ``examine`` looks at one shard (all rows of one queue, or all events) and returns a
small summary; ``merge`` adds summaries; ``conclude`` turns the whole into one row of the verdict
table. ``checkers.local`` runs kernels in this process, ``spark_checkers`` in executors: the same
functions on the same columns, so the verdicts agree by construction.

The module refuses to read files: a shard arrives as columns.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.history import StreamFacts
from chaos.core.runinfo import RunInfo
from chaos.core.verdict import CheckResult

Column = npt.NDArray[Any]


class QueueShard(msgspec.Struct, frozen=True):
    """All operations and read rows of one queue, as columns of equal length, by invoke time."""

    key: int
    operations: Mapping[str, Column]
    reads: Mapping[str, Column]


Summary = TypeVar("Summary")


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every kernel may know beside its shard: small, and the same in every executor.

    ``timeline`` is made once from the events (faults, phases, masters by epoch), see ``checkers.timeline``.
    """

    run: RunInfo
    streams: tuple[StreamFacts, ...]
    timeline: Any


class QueueKernel(Protocol[Summary]):
    """A check that is decided queue by queue."""

    name: str

    def examine(self, shard: QueueShard, context: Context) -> Summary:
        """Look at one queue. Pure; runs in an executor."""
        ...

    def merge(self, left: Summary, right: Summary) -> Summary:
        """Add two summaries; associative, and independent of order up to the choice of examples."""
        ...

    def conclude(self, summary: Summary | None, context: Context) -> CheckResult:
        """The row of the verdict table; None if no queue had any row."""
        ...


def bounded(values: Column, limit: int = 8) -> Column:
    """The first ``limit`` entries: examples are few, counts are exact."""
    return np.asarray(values)[:limit]
