"""What series try RabbitMQ with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (Trial(name="queue", workload="total-queue", main=True),)
