"""What series try Pulsar with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (
    Trial(name="queue", workload="queue", main=True),
    Trial(name="idempotent", workload="idempotent", settings={"cluster.deduplication": "on"}),
    Trial(name="total-queue", workload="total-queue"),
)
