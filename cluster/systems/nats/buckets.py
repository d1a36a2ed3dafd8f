"""The run's buckets: their streams and keys, and which servers keep which. Pure.

A bucket is a stream with the last message of each subject, as every client of NATS makes it (ADR-8). Keys are dealt out
to buckets in turn.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chaos.basics.amounts import DAY_S, Amount
from chaos.core.clock import NS_PER_S
from chaos.storage.runinfo import Subject

SERVERS: Final = ("n1", "n2", "n3")
MAX_AGE: Final = "cluster.maxAge"
FOR_EVER: Final = "none"
_DUPLICATE_WINDOW_NS: Final = 120_000_000_000
_TIME: Final = Amount("duration", 0.001, 365 * DAY_S)


def duration_ns(value: str) -> int:
    """A time such as ``10s`` in ns; 0 of what is none, as ``none`` and ``always`` are."""
    try:
        return round(_TIME.read(value) * NS_PER_S)
    except ValueError:
        return 0


def number_of(settings: Mapping[str, str]) -> int:
    """How many buckets there are."""
    return int(settings["cluster.buckets"])


def bucket(mark: str, number: int) -> str:
    """The name of a bucket; they are numbered from 0."""
    return f"{mark}-{number + 1}"


def stream_of(name: str) -> str:
    """The stream of a bucket."""
    return f"KV_{name}"


def key_in(name: str, key: str) -> str:
    """The subject of a bucket's key, or of all keys that a pattern matches."""
    return f"$KV.{name}.{key}"


def subject_name(number: int) -> str:
    """What a bucket is called in observations."""
    return f"kv{number + 1}"


def keepers(number: int, settings: Mapping[str, str]) -> tuple[str, ...]:
    """The servers that keep a bucket: all, or the one that it is given to."""
    return SERVERS if settings["cluster.replicas"] != "1" else (SERVERS[number % len(SERVERS)],)


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """What has a leader: each bucket, with its share of so many keys."""
    count = number_of(settings)
    return tuple(
        Subject(
            name=subject_name(number),
            nodes=keepers(number, settings),
            keys=None if count == 1 else tuple(range(number, keys, count)),
        )
        for number in range(count)
    )


def stream_config(mark: str, number: int, settings: Mapping[str, str]) -> dict[str, Any]:
    """What a bucket's stream is made with."""
    name = bucket(mark, number)
    return bucket_config(name, keepers(number, settings), settings, duration_ns(settings[MAX_AGE]))


def bucket_config(name: str, own: Sequence[str], settings: Mapping[str, str], max_age_ns: int) -> dict[str, Any]:
    """What the stream of a bucket is made with.

    Args:
        name: of the bucket.
        own: the servers that keep it.
        settings: of the run.
        max_age_ns: how old a message may become; 0: as old as it likes.
    """
    return {
        "name": stream_of(name),
        "subjects": [key_in(name, ">")],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": max_age_ns,
        "max_msg_size": -1,
        "max_msgs_per_subject": 1,
        "num_replicas": int(settings["cluster.replicas"]),
        "duplicate_window": min(_DUPLICATE_WINDOW_NS, max_age_ns or _DUPLICATE_WINDOW_NS),
        "deny_delete": True,
        "allow_rollup_hdrs": True,
        "allow_direct": settings["client.directGet"] == "true",
        **({"placement": {"tags": [f"server:{own[0]}"]}} if len(own) == 1 else {}),
    }
