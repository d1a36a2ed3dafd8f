"""What a check is given: the columns of one key, and what is known of the run beside.

Does not read files: a shard arrives as columns.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from chaos.storage.history import StreamFacts
from chaos.storage.runinfo import RunInfo
from checkers.history.columns import Column
from checkers.history.log import Log
from checkers.history.operations import Operations
from checkers.history.rows import Columns
from checkers.history.timeline import Timeline

READ_COLUMNS: Final = ("worker", "op", "f", "position", "offset", "writer", "sequence", "complete_ns")
"""What kernels see of a record that was read; its operation tells the rest."""


class QueueShard:
    """All operations and read rows of one queue, as columns of equal length.

    Operations are sorted by invocation; the rows of one read are neighbours, in the order returned.

    Args:
        key: the queue.
        operations: the columns of ``chaos.storage.history.operation_schema``; ``error`` as strings or None.
        reads: the columns ``READ_COLUMNS`` of ``chaos.storage.history.row_schema``.
    """

    def __init__(self, key: int, operations: Mapping[str, Column], reads: Mapping[str, Column]) -> None:
        self.key = key
        self.operations = operations if isinstance(operations, Columns) else Columns(operations)
        self.reads = reads if isinstance(reads, Columns) else Columns(reads)
        self.memo: dict[str, Any] = {}

    @cached_property
    def ops(self) -> Operations:
        """The columns that every model has."""
        return Operations(self.operations)

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

    def subject_of(self, key: int) -> str | None:
        """The name of what serves a key and has a leader; None where nobody leads."""
        subject = self.run.subject_of(key)
        return subject.name if subject is not None else None
