"""What series try NATS with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (
    Trial(name="register", workload="register", settings={"cluster.replicas": "1"}, main=True),
    Trial(name="set", workload="set", settings={"client.confirmReads": "true"}),
    Trial(name="counter", workload="counter", settings={"client.confirmReads": "true"}),
    Trial(name="ids", workload="unique-ids"),
    Trial(name="lock", workload="lock", settings={"cluster.replicas": "1"}),
    Trial(name="semaphore", workload="semaphore", settings={"cluster.replicas": "1"}),
    Trial(name="lease", workload="lease"),
    Trial(name="watch", workload="watch", settings={"cluster.replicas": "1"}),
    Trial(name="kv", workload="kv", settings={"cluster.replicas": "1"}),
    Trial(name="queue", workload="total-queue", main=True),
)
