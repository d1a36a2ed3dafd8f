"""The settings of Redis: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing
from cluster.systems.redis import queues

MODES: Final = ("sentinel", "single", "cluster")
REPLICAS: Final = MappingProxyType({"sentinel": 2, "single": 0, "cluster": 1})
"""By mode, the replicas of each master."""

DIRECTIVES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "appendonly": "yes",
        "appendfsync": "always",
        "min-replicas-to-write": "0",
        "min-replicas-max-lag": "3",
        "replica-serve-stale-data": "yes",
    }
)
"""Lines of redis.conf that every server has; each may be set."""
SENTINEL: Final[Mapping[str, str]] = MappingProxyType({"down-after-milliseconds": "1500", "failover-timeout": "6000"})
"""Lines of sentinel.conf that each sentinel has."""
CLUSTER: Final[Mapping[str, str]] = MappingProxyType({"cluster-node-timeout": "2000"})
"""Lines of redis.conf that each server of a cluster has."""

_OWN: Final = MappingProxyType(
    {
        "cluster.mode": "sentinel",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.wait": "0",
        "client.replicaReads": "off",
        "client.fencing": "true",
        "client.queue": queues.LIST,
    }
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cluster.mode": MODES,
        "client.replicaReads": ("on", "off"),
        "client.fencing": ("true", "false"),
        "client.queue": queues.KINDS,
        "appendonly": ("yes", "no"),
        "appendfsync": ("always", "everysec", "no"),
        "replica-serve-stale-data": ("yes", "no"),
    }
)
_TIMEOUTS: Final = (*SENTINEL, *CLUSTER)
_LEAST_TIMEOUT_MS: Final = 100

RECOVERS_WITHIN_S: Final = 30.0
"""From a heal until every server serves, beside the time until one is taken for dead: a full copy of the data."""

REDELIVERED_WITHIN_S: Final = 1.0 + queues.AGAIN_MS / 1000
"""A message that was not acknowledged is given again by then."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.mode": "sentinel: a master, two replicas, three sentinels (default); single: one server; "
        "cluster: three masters with a replica each",
        **routing.CLIENT_HELP,
        "client.wait": "replicas that must confirm each operation before it counts (WAIT; default 0)",
        "client.replicaReads": "on: a server answers reads from its own copy, which may be old (default off)",
        "client.fencing": "false: a guarded write shows no token, so who lost the lock may write (default true)",
        "client.queue": "what a queue is: list (default), with a sorted set of what was not acknowledged, or stream, "
        "with a consumer group",
        "appendonly": "yes: every write goes into a file from which a server starts again (default yes)",
        "appendfsync": "when that file is synced: always, everysec or no (default always)",
        "min-replicas-to-write": "a master with fewer replicas refuses writes (default 0)",
        "min-replicas-max-lag": "s without a word from a replica after which it is not counted there (default 3)",
        "replica-serve-stale-data": "no: a replica without its master refuses reads (default yes)",
        "down-after-milliseconds": "ms without an answer after which a sentinel takes a server for dead (default 1500)",
        "failover-timeout": "ms after which a failover is tried again (default 6000)",
        "cluster-node-timeout": "ms without an answer after which a server of a cluster counts as gone (default 2000)",
    }
)


def of_mode(mode: str) -> dict[str, str]:
    """The settings that a mode has, with their defaults."""
    more = {"sentinel": SENTINEL, "cluster": CLUSTER, "single": {}}[mode]
    return {**_OWN, **DIRECTIVES, **more, "cluster.mode": mode}


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        _check(name, value)
    mode = settings.get("cluster.mode", MODES[0])
    defaults = of_mode(mode)
    for name in settings:
        if name not in defaults:
            raise UsageError(f"--set {name}: cluster.mode={mode} has no such setting")
    resolved = {**defaults, **settings}
    for name in ("client.wait", "min-replicas-to-write"):
        if int(resolved[name]) > REPLICAS[mode]:
            raise UsageError(f"--set {name}={resolved[name]}: a master has {REPLICAS[mode]} replicas in this mode")
    return resolved


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    if name not in HELP:
        near = difflib.get_close_matches(name, HELP, n=1)
        guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
        raise UsageError(f"--set {name}: redis has no such setting here; {guess}")
    routing.check_client(name, value)
    words = _WORDS.get(name)
    if words is not None and value not in words:
        raise UsageError(f"--set {name}={value}: one of {', '.join(words)}")
    if words is None and not name.startswith("client.route") and name != "client.routing":
        _check_number(name, value)


def _check_number(name: str, value: str) -> None:
    if not (value.isdecimal() and len(value) < 9):  # noqa: PLR2004 - what Redis takes, and no more
        raise UsageError(f"--set {name}={value}: a whole number")
    if name in _TIMEOUTS and int(value) < _LEAST_TIMEOUT_MS:
        raise UsageError(f"--set {name}={value}: at least {_LEAST_TIMEOUT_MS} ms")


def fails_over_after_s(settings: Mapping[str, str]) -> float:
    """So long after a master is gone another one leads; 0 where none ever does."""
    if settings["cluster.mode"] == "sentinel":
        return (int(settings["down-after-milliseconds"]) + 2 * int(settings["failover-timeout"])) / 1000
    if settings["cluster.mode"] == "cluster":
        return 4 * int(settings["cluster-node-timeout"]) / 1000
    return 0.0


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked: that Redis may lose what it acknowledged is told, and not excused.

    How soon it serves again depends on the time until a server is taken for dead.
    """
    elected_s = fails_over_after_s(settings)
    within_s = RECOVERS_WITHIN_S + elected_s
    return Promises(
        replicas_read=settings["cluster.mode"] != "single",
        redelivered_within_s=REDELIVERED_WITHIN_S,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=elected_s,
    )
