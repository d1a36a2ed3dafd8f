"""Times that cannot be are counted, whatever the operations say."""

import numpy as np
from small_logs import shard_of
from test_linearizable import context

from checkers.assumptions import AssumptionsKernel
from checkers.history.check_input import QueueShard

SENDS = [
    {"f": "append", "value": i, "offset": i, "type": "ok", "invoke": 10 * i, "complete": 10 * i + 5} for i in range(4)
]


def breaches(shard):
    kernel = AssumptionsKernel()
    row = kernel.conclude(kernel.examine(shard, context()), context())
    return row.anomalies["clock"].count if "clock" in row.anomalies else 0


def test_sane():
    assert breaches(shard_of(SENDS)) == 0


def test_completed_before_it_was_invoked():
    shard = shard_of([*SENDS[:3], {**SENDS[3], "complete": 29}])
    assert breaches(shard) == 1


def test_a_worker_whose_invocations_descend():
    sane = shard_of(SENDS)
    shard = QueueShard(0, {**sane.operations, "op": np.array([1, 3, 2, 4])}, sane.reads)
    assert breaches(shard) == 1
