"""Which streams a run has, and which servers keep which: key-value buckets, or a log for each queue. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from chaos.core.runinfo import Subject
from cluster.systems.nats import buckets

KIND: Final = "cluster.streams"
KEY_VALUE: Final = "kv"
LOG: Final = "log"


def are_logs(settings: Mapping[str, str]) -> bool:
    """Whether the streams are logs."""
    return settings[KIND] == LOG


def log_name(mark: str, key: int) -> str:
    """The stream of a queue; its only subject is called the same."""
    return f"{mark}-q{key}"


def names(mark: str, settings: Mapping[str, str], keys: int) -> tuple[str, ...]:
    """All streams of the run, in the order of their subjects."""
    if are_logs(settings):
        return tuple(log_name(mark, key) for key in range(keys))
    count = buckets.number_of(settings)
    return tuple(buckets.stream_of(buckets.bucket(mark, number)) for number in range(count))


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """What has a leader: each bucket with its share of so many keys, or each queue's log."""
    if not are_logs(settings):
        return buckets.subjects(settings, keys)
    return tuple(Subject(name=f"q{key}", nodes=buckets.keepers(key, settings), keys=(key,)) for key in range(keys))


def config(mark: str, number: int, settings: Mapping[str, str]) -> dict[str, Any]:
    """What a stream is made with. A log keeps all messages, and every server that keeps it may be asked for them."""
    made = buckets.stream_config(mark, number, settings)
    if not are_logs(settings):
        return made
    name = log_name(mark, number)
    of_log = {"name": name, "subjects": [name], "max_msgs_per_subject": -1, "allow_rollup_hdrs": False}
    return {**made, **of_log, "allow_direct": True, "deny_purge": True}
