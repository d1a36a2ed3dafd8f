"""What series try Kafka with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (
    Trial(name="queue", workload="queue", main=True),
    Trial(name="group", workload="group", main=True),
    Trial(name="idempotent", workload="idempotent"),
    Trial(name="transactional", workload="transactional"),
    Trial(name="ordered", workload="ordered"),
)
