"""What series try etcd with."""

from typing import Final

from cluster.trial import Trial

TRIALS: Final = (
    Trial(name="register", workload="register", main=True),
    Trial(name="set", workload="set"),
    Trial(name="counter", workload="counter"),
    Trial(name="ids", workload="unique-ids"),
    Trial(name="lock", workload="lock"),
    Trial(name="semaphore", workload="semaphore"),
    Trial(name="lease", workload="lease"),
    Trial(name="watch", workload="watch"),
    Trial(name="kv", workload="kv"),
    Trial(name="list-append", workload="list-append", main=True),
    Trial(name="rw-register", workload="rw-register"),
    Trial(name="bank", workload="bank"),
    Trial(name="long-fork", workload="long-fork"),
    Trial(name="monotonic", workload="monotonic"),
    Trial(name="multi-register", workload="multi-register"),
)
