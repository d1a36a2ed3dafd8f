"""The settings of ZooKeeper: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing

GROUP: Final = "zookeeper"
"""What the ensemble is called in observations."""
VOTER: Final = "server"
OBSERVER: Final = "observer"
"""The roles of its servers."""

LINES: Final[Mapping[str, str]] = MappingProxyType(
    {"tickTime": "500", "initLimit": "10", "syncLimit": "6", "snapCount": "100000"}
)
"""Lines of zoo.cfg that may be set, with our defaults: ZooKeeper's own tickTime is 2000."""
NOTIFIED: Final = "fastleader.maxNotificationInterval"
SWITCHES: Final[Mapping[str, str]] = MappingProxyType({"forceSync": "yes", NOTIFIED: "2000"})
"""System properties ``zookeeper.NAME``, with our defaults: ZooKeeper's own interval is 60000."""
NOT_TOLD: Final[Mapping[str, str]] = MappingProxyType({NOTIFIED: "60000"})
"""What promises rest on and no server tells, with ZooKeeper's own defaults."""
_OWN: Final = MappingProxyType(
    {
        "cluster.voters": "3",
        "cluster.observers": "0",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.sync": "true",
        "client.fencing": "true",
        "client.countFirst": "false",
        "client.renew": "ping",
    }
)
_VOTERS: Final = ("3", "5")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cluster.voters": _VOTERS,
        "client.sync": ("true", "write", "false"),
        "client.fencing": ("true", "false"),
        "client.countFirst": ("true", "false"),
        "client.renew": ("ping", "attach"),
        "forceSync": ("yes", "no"),
    }
)
_MOST_OBSERVERS: Final = 2
_MOST: Final = MappingProxyType(
    {"tickTime": 10_000, "initLimit": 1000, "syncLimit": 1000, "snapCount": 1_000_000_000, NOTIFIED: 60_000}
)

WRONG_LEADERS: Final = 2
RECOVERS_WITHIN_S: Final = 15.0
"""From a heal until every server serves, beside the time until one is taken for dead."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.voters": "servers that vote: 3 (default) or 5",
        "cluster.observers": "servers that follow and do not vote: 0 (default) to 2",
        **routing.CLIENT_HELP,
        "client.sync": "true (default): a sync before each read; write: a write instead, which a majority must take; "
        "false: nothing, so a server may answer from an old copy",
        "client.fencing": "false: guarded writes show no token, so a client without the lock can write (default true)",
        "client.countFirst": "true: a client counts the holders of a semaphore and then takes a permit, so two may "
        "take the last one (default false)",
        "client.renew": "ping (default): a lease is renewed by a ping of its session, which a server answers itself; "
        "attach: by a new connection that goes on with the session, for which the server asks the leader",
        "tickTime": "ms of a tick, the unit of the limits (default 500)",
        "initLimit": "ticks that a follower may take to catch up with a new leader (default 10)",
        "syncLimit": "ticks without a word after which leader and follower give each other up (default 6)",
        "snapCount": "transactions after which a snapshot is taken (default 100000)",
        NOTIFIED: "ms between two words of a server that looks for a leader, at most (default 2000)",
        "forceSync": "no: a transaction counts before it is on disk (default yes)",
    }
)


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        if name not in HELP:
            near = difflib.get_close_matches(name, HELP, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
            raise UsageError(f"--set {name}: zookeeper has no such setting here; {guess}")
        routing.check_client(name, value)
        _check(name, value)
    return {**_OWN, **LINES, **SWITCHES, **settings}


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    words = _CHOICES.get(name)
    if words is not None and value not in words:
        raise UsageError(f"--set {name}={value}: one of {', '.join(words)}")
    if name == "cluster.observers" and not (value.isdecimal() and int(value) <= _MOST_OBSERVERS):
        raise UsageError(f"--set {name}={value}: 0 to {_MOST_OBSERVERS}")
    if name in _MOST and not (value.isdecimal() and 0 < int(value) <= _MOST[name]):
        raise UsageError(f"--set {name}={value}: a whole number from 1 to {_MOST[name]}")


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked: nothing is by design. How soon it holds depends on the ticks.

    A server that was elected on old news waits for followers until ``initLimit`` is over, and others look for a leader
    ever more rarely meanwhile. After a loss of packets two such servers were seen one after the other.
    """
    ticks = int(settings["syncLimit"]) + WRONG_LEADERS * int(settings["initLimit"])
    elected_s = (ticks * int(settings["tickTime"]) + int(settings[NOTIFIED])) / 1000
    within_s = RECOVERS_WITHIN_S + elected_s
    return Promises(
        replicas_read=True,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=elected_s,
        serves_without_minority_s=within_s,
    )
