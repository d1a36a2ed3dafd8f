"""The settings of NATS: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.runinfo import Promises
from cluster.systems._shared import routing
from cluster.systems.nats import streams
from cluster.versions import Release

ALWAYS: Final = "always"
SYNC: Final = "server.syncInterval"
STOCK_SYNC: Final = "2m"
SYNC_SINCE: Final = (2, 10)
_MOST_BUCKETS: Final = 9

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.replicas": "3",
        "cluster.buckets": "3",
        streams.KIND: streams.KEY_VALUE,
        SYNC: STOCK_SYNC,
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.directGet": "false",
        "client.confirmReads": "false",
    }
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cluster.replicas": ("1", "3"),
        "cluster.buckets": tuple(map(str, range(1, _MOST_BUCKETS + 1))),
        streams.KIND: (streams.KEY_VALUE, streams.LOG, streams.WORK),
        "client.directGet": ("true", "false"),
        "client.confirmReads": ("true", "false"),
    }
)
_DURATION: Final = re.compile(r"(\d{1,6})(ms|s|m|h)")
_UNIT_S: Final = MappingProxyType({"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0})

ELECTED_WITHIN_S: Final = 27.0
"""Three rounds of the longest election timeout, 9 s: votes may be split, and a server that lacks entries loses."""
RECOVERS_WITHIN_S: Final = 30.0
"""From a heal until every bucket takes writes, beside the election."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.replicas": "servers that keep each stream: 3 (default), a Raft group; 1: one server alone",
        "cluster.buckets": "how many buckets the keys are dealt out to, 1 to 9 (default 3)",
        streams.KIND: "kv: buckets of keys (default); log: a stream for each queue; work: a work queue for each; "
        "workloads on queues set it",
        SYNC: "how often files are synced: always, or a time such as 10s (default 2m; can be set from NATS 2.10 on)",
        **routing.CLIENT_HELP,
        "client.directGet": "true: any server that keeps a bucket answers reads of registers from its own copy, which "
        "may be old (default false)",
        "client.confirmReads": "true: before a set or a counter is read a key is written, and the answer counts only "
        "if it is not older (default false)",
    }
)


def resolve(settings: Mapping[str, str], version: str, release: Release) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        _check(name, value)
    resolved = {**DEFAULTS, **settings}
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
    if name == SYNC and value != ALWAYS and not sync_interval_ns(value):
        raise UsageError(f"--set {name}={value}: always, or a time above 0 such as 500ms, 10s or 2m")


def sync_interval_ns(value: str) -> int:
    """The time between two syncs in ns; 0 where there is none: ``always``, and what is no time."""
    found = _DURATION.fullmatch(value)
    return round(int(found[1]) * _UNIT_S[found[2]] * NS_PER_S) if found else 0


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
    )
