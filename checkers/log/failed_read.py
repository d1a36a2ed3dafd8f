"""Nothing is read whose send certainly failed or whose transaction was never committed (G1a, SEMANTICS 5, 20).

An operation that never left (``not-sent``) certainly failed as well. Does not doubt the outcome: that a ``fail`` is
one, the system's outcome table vouches for.
"""

from collections.abc import Iterator

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Example
from chaos.models.log.transaction import Decision
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    node_name,
    ranges_of,
    seconds_text,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard


def _why_not(shard: QueueShard, context: Context, vid: int) -> str:
    """Why nobody may be given a message, in words."""
    log, send = shard.log, int(shard.log.sends[vid])
    asked = f" at {node_name(context, int(log.node[send]))}" if log.node[send] >= 0 else ""
    if log.type[send] in (Type.FAIL, Type.NOT_SENT):
        why = shard.operations["error"][send] or "no reason recorded"
        return f"the send of {log.value(vid)} failed{asked} at {time_of(shard, context, send)} ({why})"
    sent = f"{log.value(vid)}, sent{asked} at {seconds_text(context, int(log.invoke[send]))},"
    decision = Decision(int(log.argument[send]))
    if decision is Decision.NEVER:
        return f"the producer of {sent} never decided about it"
    when_asked = " when it was asked" if decision is Decision.ROLLBACK_WHEN_ASKED else ""
    return f"the producer of {sent} rolled it back{when_asked}"


class FailedReadKernel(FindingsCheck):
    """Values that a read returned though their sends failed, or their transactions were never committed."""

    name = "failed-read"
    help = "no value is read whose send failed for certain, or whose transaction nobody committed"
    anomalies = kinds_named("G1a")
    noun = "failed or refused send"
    clean = "none of them was read"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        kind = log.type[log.sends]
        failed = np.flatnonzero((kind == Type.FAIL) | (kind == Type.NOT_SENT))
        read = log.seen(slice(None))
        # Whatever became of a transaction's own answers: the producer never said that anybody may be given it.
        undue = np.union1d(failed, np.flatnonzero(log.withheld))
        bad = undue[read[undue]]

        def told_of() -> Iterator[Example]:
            for vid in map(int, bad):
                read, send = log.first_read(vid), int(log.sends[vid])
                offset = int(log.row_offset[log.rows_of(read)][log.row_vid[log.rows_of(read)] == vid][0])
                who = actor_of(shard, context, read)
                yield who.example(
                    f"{_why_not(shard, context, vid)}, yet at {time_of(shard, context, read)} {who.subject} returned "
                    f"it at offset {offset} of queue {shard.key}",
                    key=shard.key,
                    offset=offset,
                    value=log.value(vid),
                    ops=(
                        describe_operation(shard, context, send),
                        describe_operation(shard, context, read, around=offset),
                    ),
                )

        places = log.row_offset[np.isin(log.row_vid, bad)] if len(bad) else bad
        return findings(
            len(undue),
            G1a=Finding(count=len(bad), examples=examples(told_of()), ranges=ranges_of(shard.key, places)),
        )
