"""Which streams a run has, and which servers keep which. Pure.

Streams are key-value buckets, or there is one for each queue: a log or a work queue.
"""

from collections.abc import Mapping
from typing import Any, Final

from chaos.storage.runinfo import Subject
from cluster.systems.nats import buckets

KIND: Final = "cluster.streams"
KEY_VALUE: Final = "kv"
EXPIRING: Final = "expiring"
HISTORY: Final = "history"
LOG: Final = "log"
WORK: Final = "work"
KINDS: Final = (KEY_VALUE, EXPIRING, HISTORY, LOG, WORK)
_BUCKETS: Final = (KEY_VALUE, EXPIRING, HISTORY)
CONSUMER: Final = "takers"
"""The consumer of a work queue, from which all clients pull."""
AGAIN_S: Final = 5
"""So long after it was given a message of a work queue is given again if it was not acknowledged."""
_NS_PER_S: Final = 1_000_000_000


def are_logs(settings: Mapping[str, str]) -> bool:
    """Whether the streams are logs."""
    return settings[KIND] == LOG


def are_buckets(settings: Mapping[str, str]) -> bool:
    """Whether the streams are buckets of many keys, not one for each key."""
    return settings[KIND] in _BUCKETS


def are_work_queues(settings: Mapping[str, str]) -> bool:
    """Whether the streams are work queues."""
    return settings[KIND] == WORK


def stream_name(mark: str, key: int) -> str:
    """The stream of a queue; its only subject is called the same."""
    return f"{mark}-q{key}"


def names(mark: str, settings: Mapping[str, str], keys: int) -> tuple[str, ...]:
    """All streams of the run, in the order of their subjects."""
    if not are_buckets(settings):
        return tuple(stream_name(mark, key) for key in range(keys))
    count = buckets.number_of(settings)
    return tuple(buckets.stream_of(buckets.bucket(mark, number)) for number in range(count))


def beside(mark: str, settings: Mapping[str, str]) -> tuple[dict[str, Any], ...]:
    """What the streams are made with that a run has beside those with its keys, and that no fault draws."""
    if settings[KIND] != EXPIRING:
        return ()
    return (buckets.bucket_config(guarded(mark), buckets.keepers(0, settings), settings, 0),)


def guarded(mark: str) -> str:
    """The bucket of what locks guard: its keys have no age."""
    return f"{mark}-guarded"


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """What has a leader: each bucket with its share of so many keys, or each queue's stream."""
    if are_buckets(settings):
        return buckets.subjects(settings, keys)
    return tuple(Subject(name=f"q{key}", nodes=buckets.keepers(key, settings), keys=(key,)) for key in range(keys))


def config(mark: str, number: int, settings: Mapping[str, str]) -> dict[str, Any]:
    """What a stream is made with.

    A log keeps all messages, and every server that keeps it may be asked for them. A work queue keeps what was not
    acknowledged.
    """
    made = buckets.stream_config(mark, number, settings)
    if settings[KIND] == HISTORY:
        return {**made, "max_msgs_per_subject": -1}
    if are_buckets(settings):
        return made
    name = stream_name(mark, number)
    of_queue = {"name": name, "subjects": [name], "max_msgs_per_subject": -1, "allow_rollup_hdrs": False}
    of_kind = {"retention": "workqueue"} if are_work_queues(settings) else {"allow_direct": True}
    return {**made, **of_queue, **of_kind, "deny_purge": True}


def consumer_config(stream: str) -> dict[str, Any]:
    """What the consumer of a work queue is made with: as many servers keep it as the stream."""
    own = {
        "durable_name": CONSUMER,
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_policy": "explicit",
        "ack_wait": AGAIN_S * _NS_PER_S,
        "max_deliver": -1,
        "max_ack_pending": 10_000,
    }
    return {"stream_name": stream, "config": own}
