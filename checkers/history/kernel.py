"""One kernel, two engines: the shape of a check.

A kernel is pure: ``examine`` looks at one shard (all rows of one queue) and returns a small summary;
``merge`` adds summaries; ``conclude`` turns the whole into one row of the verdict table.
``checkers.engine.local`` runs kernels in this process, ``spark_checkers`` in executors: the same functions on
the same columns, so the verdicts agree by construction.

The module refuses to read files: a shard arrives as columns.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Protocol, TypeVar

import msgspec

from chaos.core.history import StreamFacts
from chaos.core.runinfo import RunInfo
from chaos.core.verdict import CheckResult
from checkers.history.columns import Column
from checkers.history.log import Log
from checkers.history.rows import Columns
from checkers.history.timeline import Timeline

READ_COLUMNS: Final = ("worker", "op", "f", "position", "offset", "writer", "sequence", "complete_ns")
"""What kernels see of a record that was read; its operation tells the rest."""


class QueueShard:
    """All operations and read rows of one queue, as columns of equal length.

    Operations are sorted by invocation; the rows of one read are neighbours, in the order returned.

    Args:
        key: the queue.
        operations: the columns of ``chaos.core.history.operation_schema``; ``error`` as strings or None.
        reads: the columns ``READ_COLUMNS`` of ``chaos.core.history.row_schema``.
    """

    def __init__(self, key: int, operations: Mapping[str, Column], reads: Mapping[str, Column]) -> None:
        self.key = key
        self.operations = operations if isinstance(operations, Columns) else Columns(operations)
        self.reads = reads if isinstance(reads, Columns) else Columns(reads)
        self.memo: dict[str, Any] = {}

    @cached_property
    def log(self) -> Log:
        """What is known of the log, worked out once for all kernels."""
        return Log(self.operations, self.reads)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every kernel may know beside its shard: small, and the same in every executor.

    ``whole``: nothing that was recorded is missing. It may be where a run was killed before it could say what it had
    recorded: its streams and events may have been cut off since, at any place. Then that something was not recorded
    proves nothing (SEMANTICS 11).
    """

    run: RunInfo
    streams: tuple[StreamFacts, ...]
    timeline: Timeline
    whole: bool = True


Summary = TypeVar("Summary")


class QueueKernel(Protocol[Summary]):
    """A check that is decided queue by queue."""

    name: str
    help: str

    def examine(self, shard: QueueShard, context: Context) -> Summary:
        """Look at one queue. Pure; runs in an executor."""
        ...

    def merge(self, left: Summary, right: Summary) -> Summary:
        """Add two summaries; associative, and independent of order up to the choice of examples."""
        ...

    def conclude(self, summary: Summary | None, context: Context) -> CheckResult | None:
        """The row of the verdict table, None if the check does not apply; no summary if no queue had any row."""
        ...
