"""What series try ZooKeeper with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (
    Trial(name="register", workload="register", main=True),
    Trial(name="set", workload="set"),
    Trial(name="counter", workload="counter"),
    Trial(name="ids", workload="unique-ids"),
    Trial(name="lock", workload="lock"),
    Trial(name="semaphore", workload="semaphore"),
    Trial(name="queue", workload="total-queue"),
    Trial(name="lease", workload="lease", settings={"client.renew": "attach"}),
    Trial(name="watch", workload="watch"),
    Trial(name="list-append", workload="list-append"),
    Trial(name="rw-register", workload="rw-register"),
    Trial(name="bank", workload="bank"),
)
