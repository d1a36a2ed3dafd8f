"""The settings of NATS: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing
from cluster.systems.nats import buckets, streams
from cluster.versions import Release

ALWAYS: Final = "always"
SYNC: Final = "server.syncInterval"
STOCK_SYNC: Final = "2m"
SYNC_SINCE: Final = (2, 10)
_MOST_BUCKETS: Final = 9
_LEAST_AGE_NS: Final = 100_000_000
"""NATS takes no shorter one."""

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.replicas": "3",
        "cluster.buckets": "3",
        streams.KIND: streams.KEY_VALUE,
        buckets.MAX_AGE: buckets.FOR_EVER,
        SYNC: STOCK_SYNC,
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.directGet": "false",
        "client.confirmReads": "false",
        "client.fencing": "true",
    }
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cluster.replicas": ("1", "3"),
        "cluster.buckets": tuple(map(str, range(1, _MOST_BUCKETS + 1))),
        streams.KIND: streams.KINDS,
        "client.directGet": ("true", "false"),
        "client.confirmReads": ("true", "false"),
        "client.fencing": ("true", "false"),
    }
)

ELECTED_WITHIN_S: Final = 27.0
"""Three rounds of the longest election timeout, 9 s: votes may be split, and a server that lacks entries loses."""
RECOVERS_WITHIN_S: Final = 30.0
"""From a heal until every bucket takes writes, beside the election."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.replicas": "servers that keep each stream: 3 (default), a Raft group; 1: one server alone",
        "cluster.buckets": "how many buckets the keys are dealt out to, 1 to 9 (default 3)",
        streams.KIND: "kv: buckets of keys (default); expiring: buckets whose keys end by their age; history: "
        "buckets that keep every revision; log: a stream for each queue; work: a work queue for each; workloads set it",
        buckets.MAX_AGE: "how old a key of an expiring bucket becomes, such as 4s; workloads set it (default none)",
        SYNC: "how often files are synced: always, or a time such as 10s (default 2m; can be set from NATS 2.10 on)",
        **routing.CLIENT_HELP,
        "client.directGet": "true: any server that keeps a bucket answers reads of registers from its own copy, which "
        "may be old (default false)",
        "client.confirmReads": "true: before a set or a counter is read a key is written, and the answer counts only "
        "if it is not older (default false)",
        "client.fencing": "false: a guarded write shows no token, so who lost the lock may write (default true)",
    }
)


def resolve(settings: Mapping[str, str], version: str, release: Release) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        _check(name, value)
    resolved = {**DEFAULTS, **settings}
    if (resolved[streams.KIND] == streams.EXPIRING) != (resolved[buckets.MAX_AGE] != buckets.FOR_EVER):
        age = resolved[buckets.MAX_AGE]
        where = f"with {streams.KIND}={streams.EXPIRING} and only there"
        raise UsageError(f"--set {buckets.MAX_AGE}={age}: a time, {where}")
    if release < SYNC_SINCE and resolved[SYNC] != STOCK_SYNC:
        since = ".".join(map(str, SYNC_SINCE))
        instead = f"NATS {version} syncs every {STOCK_SYNC}; from {since} on it can be set"
        raise UsageError(f"--set {SYNC}={resolved[SYNC]}: {instead}")
    return resolved


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    if name not in HELP:
        near = difflib.get_close_matches(name, HELP, n=1)
        guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
        raise UsageError(f"--set {name}: nats has no such setting here; {guess}")
    routing.check_client(name, value)
    words = _WORDS.get(name)
    if words is not None and value not in words:
        said = "true or false" if words == ("true", "false") else f"one of {', '.join(words)}"
        raise UsageError(f"--set {name}={value}: {said}")
    if name == buckets.MAX_AGE and value != buckets.FOR_EVER and buckets.duration_ns(value) < _LEAST_AGE_NS:
        raise UsageError(f"--set {name}={value}: none, or a time of 100ms or more such as 4s")
    if name == SYNC and value != ALWAYS and not buckets.duration_ns(value):
        raise UsageError(f"--set {name}={value}: always, or a time above 0 such as 500ms, 10s or 2m")


_NO_LEASE: Final = (
    "a leader answers reads from its own copy and asks nobody whether it still leads; one that was cut off does so "
    "until it gives up"
)


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked: what NATS loses is told and not excused, nor what a bucket reads of the past.

    A strong read of a log may be old at a leader that was replaced and does not know it.
    """
    elected_s = ELECTED_WITHIN_S if settings["cluster.replicas"] != "1" else 0.0
    within_s = RECOVERS_WITHIN_S + elected_s
    logs, work = streams.are_logs(settings), streams.are_work_queues(settings)
    return Promises(
        allowed={"stale-tail": _NO_LEASE} if logs and elected_s else {},
        redelivered_within_s=2.0 * streams.AGAIN_S if work else 0.0,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=elected_s,
        serves_without_minority_s=within_s if elected_s else 0.0,
    )
