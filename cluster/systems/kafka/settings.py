"""The settings of Kafka: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
"""The roles of nodes; a combined node is a broker."""
PREFIX: Final = "broker."
MIN_IN_SYNC: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
OF_TOPICS: Final = (MIN_IN_SYNC, UNCLEAN)
"""Keys of server.properties that the run's topic has by itself as well."""
COMBINED: Final = "combined"
MODES: Final = ("separate", COMBINED)
ACKS: Final = ("0", "1", "all")
UNCOMMITTED: Final = "read_uncommitted"
COMMITTED: Final = "read_committed"

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        MIN_IN_SYNC: "2",
        UNCLEAN: "false",
        "default.replication.factor": "3",
        "auto.create.topics.enable": "false",
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "replica.lag.time.max.ms": "5000",
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
        "controlled.shutdown.enable": "true",
        "offsets.topic.replication.factor": "3",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.replication.factor": "3",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.min.isr": "2",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "group.initial.rebalance.delay.ms": "0",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.dedupe.buffer.size": "4194304",
        "log.cleaner.threads": "1",
    }
)
"""Lines of server.properties that the harness sets: Kafka's own time-outs are 9 s and 30 s."""
_WIRED: Final = frozenset(
    {
        "process.roles",
        "node.id",
        "broker.id",
        "listeners",
        "advertised.listeners",
        "listener.security.protocol.map",
        "inter.broker.listener.name",
        "controller.listener.names",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
    }
)
_OWN: Final = MappingProxyType(
    {
        "cluster.mode": "separate",
        "client.acks": "all",
        "client.isolation": UNCOMMITTED,
        "client.members": "off",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
    }
)
_KEY: Final = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")
_WORDS: Final = MappingProxyType(
    {
        "cluster.mode": MODES,
        "client.acks": ACKS,
        "client.isolation": (UNCOMMITTED, COMMITTED),
        "client.members": ("off", "on"),
    }
)
_LINES: Final = MappingProxyType(
    {"compression.type": ("producer", "uncompressed"), UNCLEAN: ("true", "false"), MIN_IN_SYNC: ("1", "2", "3")}
)

ELECTED_WITHIN_S: Final = 10.0
"""Behind the silence after which a broker is dead: an election among controllers, and one of the partition."""
RECOVERS_WITHIN_S: Final = 60.0
"""From a heal until every broker serves and every replica is in sync, beside the time until one is taken for dead."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.mode": "separate (default): 3 brokers and 3 controllers; combined: 3 nodes that are both",
        **routing.CLIENT_HELP,
        "client.acks": "whom a send waits for: all (default): every replica in sync; 1: the leader; 0: nobody",
        "client.isolation": "read_committed: readers are shown nothing of open and aborted transactions, nor what is "
        "behind an open one (set for transactional messages); read_uncommitted (default): all",
        "client.members": "on: clients join the consumer group, and Kafka refuses commits of an older generation; off "
        "(default): they say themselves which partitions they read",
        "broker.KEY": "any line of server.properties, of brokers and controllers: broker.min.insync.replicas "
        "(default 2), broker.unclean.leader.election.enable (default false), broker.replica.lag.time.max.ms "
        "(default 5000), broker.broker.session.timeout.ms (default 3000)",
    }
)


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        if name not in _OWN and not name.startswith(PREFIX):
            near = difflib.get_close_matches(name, HELP, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
            raise UsageError(f"--set {name}: kafka has no such setting here; {guess}")
        routing.check_client(name, value)
        _check(name, value)
    return {**_OWN, **{PREFIX + key: value for key, value in DEFAULTS.items()}, **settings}


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    key = name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
    words = _WORDS.get(name) or _LINES.get(key)
    if words is not None and value not in words:
        raise UsageError(f"--set {name}={value}: one of {', '.join(words)}")
    if not key:
        return
    if not _KEY.fullmatch(key):
        raise UsageError(f"--set {name}: write it like broker.{MIN_IN_SYNC}, with a line of server.properties")
    if key in _WIRED:
        raise UsageError(f"--set {name}: the harness sets {key} by itself")
    if not value.isprintable() or value != value.strip():
        raise UsageError(f"--set {name}: a value of one line, without spaces around it")


def lines(settings: Mapping[str, str]) -> dict[str, str]:
    """The lines of server.properties that were set, by us or by the user."""
    return {name.removeprefix(PREFIX): value for name, value in settings.items() if name.startswith(PREFIX)}


def of_topic(settings: Mapping[str, str]) -> dict[str, str]:
    """What the run's topic is created with."""
    return {key: settings[PREFIX + key] for key in OF_TOPICS}


_NO_LEASE: Final = (
    "no leases: a leader that was replaced answers reads until it learns of it, so a strong read at an old leader may "
    "miss newer messages"
)


def promises(settings: Mapping[str, str]) -> Promises:
    """What holds under resolved settings. No loss is by design: a setting that gives safety up adds no excuse."""
    silence_s = _ms(settings, "broker.session.timeout.ms") / 1000
    lag_s = _ms(settings, "replica.lag.time.max.ms") / 1000
    within_s = RECOVERS_WITHIN_S + silence_s + lag_s
    least = int(settings[PREFIX + MIN_IN_SYNC])
    return Promises(
        allowed={"stale-tail": _NO_LEASE},
        min_in_sync=least if settings["client.acks"] == "all" and least > 1 else 0,
        replicas_read=True,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=silence_s + ELECTED_WITHIN_S,
    )


def _ms(settings: Mapping[str, str], key: str) -> int:
    """A time among the lines, in ms; our own where it was set to no number, which no broker starts with."""
    text = settings.get(PREFIX + key, "")
    return int(text) if text.isdecimal() else int(DEFAULTS[key])
