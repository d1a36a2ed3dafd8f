"""What series try minimq with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (
    Trial(name="queue", workload="queue", main=True),
    Trial(name="group", workload="group"),
)
