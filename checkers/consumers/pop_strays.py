"""What a pop returned that should not exist: values nobody sent, failed sends, damaged bodies (SEMANTICS 3, 5).

Only what no read of the log returned: whatever sits in the log is the business of the checks of the log. Does not say
where a stray message came from.
"""

from collections.abc import Iterator

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Example
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.findings import Finding, describe_operation, examples, findings
from checkers.consumers.pop_leases import Leases
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask
from checkers.log.phantom import perhaps_sent


def strays(shard: QueueShard, context: Context, leases: Leases) -> dict[str, Finding]:
    """The findings of one queue, by anomaly."""
    log = shard.log
    values = np.stack([leases.writer, leases.sequence], axis=1)
    unsent = (leases.vid < 0) & ~leases.damaged
    known = {tuple(pair) for pair in log.phantoms.tolist()}
    unsent[unsent] = ~perhaps_sent(values[unsent], context.streams)
    unsent[unsent] = [tuple(pair) not in known for pair in values[unsent].tolist()]
    in_the_log = log.seen(slice(None))
    failed = np.isin(log.type[log.sends], [int(Type.FAIL), int(Type.NOT_SENT)]) & ~in_the_log[: len(log.sends)]
    refused = (leases.vid >= 0) & failed[np.maximum(leases.vid, 0)] if len(failed) else np.zeros_like(unsent)
    spoilt = leases.damaged & ~np.isin(leases.place, np.unique(log.row_offset[log.row_vid < 0]))

    def of(rows: Ints, what: str) -> Finding:
        def told_of() -> Iterator[Example]:
            for row in map(int, rows):
                op = int(leases.op[row])
                value = f"{leases.writer[row]}:{leases.sequence[row]}" if not leases.damaged[row] else None
                yield actor_of(shard, context, op, leads=True).example(
                    f"at {time_of(shard, context, op)} {actor_of(shard, context, op, leads=True).subject} answered a "
                    f"pop of queue {shard.key} with {value or 'a record'}{what}",
                    key=shard.key,
                    value=value,
                    ops=(describe_operation(shard, context, op),),
                )

        return Finding(count=len(rows), examples=examples(told_of()))

    return findings(
        0,
        phantom=of(_once(values, unsent), ", which no client had tried to send there"),
        G1a=of(_once(values, refused), ", whose send failed"),
        corrupt=of(np.flatnonzero(spoilt), " that is damaged or not one of ours"),
    ).found


def _once(values: Ints, rows: Mask) -> Ints:
    """The first of these rows for each value."""
    at = np.flatnonzero(rows)
    _, first = np.unique(values[at], axis=0, return_index=True)
    return at[np.sort(first)] if len(at) else at
