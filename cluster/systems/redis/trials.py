"""What series try Redis with."""

from typing import Final

from cluster.trial import Trial

_TWO_REPLICAS: Final = {"client.wait": "2"}
"""A write is answered once both replicas have it."""

TRIALS: Final = (
    Trial(name="register", workload="register", settings=_TWO_REPLICAS, main=True),
    Trial(name="set", workload="set", settings=_TWO_REPLICAS),
    Trial(name="counter", workload="counter", settings=_TWO_REPLICAS),
    Trial(name="ids", workload="unique-ids", settings=_TWO_REPLICAS),
    Trial(name="list-append", workload="list-append", settings=_TWO_REPLICAS),
    Trial(name="rw-register", workload="rw-register", settings=_TWO_REPLICAS),
    Trial(name="bank", workload="bank", settings=_TWO_REPLICAS),
    Trial(name="lock", workload="lock", settings=_TWO_REPLICAS),
    Trial(name="semaphore", workload="semaphore", settings=_TWO_REPLICAS),
    Trial(name="kv", workload="kv", settings=_TWO_REPLICAS),
    Trial(name="lease", workload="lease", settings=_TWO_REPLICAS),
    Trial(name="list", workload="total-queue", settings=_TWO_REPLICAS),
    Trial(name="stream", workload="total-queue", settings={**_TWO_REPLICAS, "client.queue": "stream"}),
)
