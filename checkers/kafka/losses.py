"""When the losses of a Kafka-style history were acknowledged, and which poll was the first to prove them.

Does not find losses itself: ``content`` does.
"""

import numpy as np

from chaos.core.op import Type
from checkers.history.columns import Ints
from checkers.kafka import content
from checkers.kafka.log import Log, Values
from checkers.kafka.rows import Records, shards


def losses(records: Records) -> tuple[Ints, Ints]:
    """Rows of records: the acknowledgements of what was lost, and of each the ok poll that first reached beyond it."""
    logs = [(shard, Values(shard)) for shard in shards(records)]
    proven = np.unique(np.concatenate([values.proven(shard) for shard, values in logs] or [np.empty(0, np.int64)]))
    acked, proof = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for shard, values in logs:
        log = Log(shard, values, proven)
        which = content.lost_values(log)
        which = which[records.type[log.writer[which]] == Type.OK]
        if len(which):
            acked.append(log.writer[which])
            proof.append(shard.polls.op[content.proofs(log, which)])
    return np.concatenate(acked), np.concatenate(proof)
