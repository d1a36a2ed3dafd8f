"""The settings of Pulsar: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing

BROKER: Final = "broker"
BOOKIE: Final = "bookie"
METADATA: Final = "metadata"
"""The roles of nodes; the last are ZooKeeper's servers."""
BROKER_PORT: Final = 6650
WEB_PORT: Final = 8080
BOOKIE_PORT: Final = 3181
BOOKIE_WEB_PORT: Final = 8000
CLUSTER: Final = "chaos"
NAMESPACE: Final = "public/default"
SUBSCRIPTION: Final = "chaos"
"""The one subscription of a topic whose messages are taken."""

ENSEMBLE: Final = "cluster.ensemble"
WRITE_QUORUM: Final = "cluster.writeQuorum"
ACK_QUORUM: Final = "cluster.ackQuorum"
DEDUPLICATION: Final = "cluster.deduplication"
_QUORUMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ENSEMBLE: "managedLedgerDefaultEnsembleSize",
        WRITE_QUORUM: "managedLedgerDefaultWriteQuorum",
        ACK_QUORUM: "managedLedgerDefaultAckQuorum",
    }
)
_THEIRS: Final[Mapping[str, str]] = MappingProxyType({**_QUORUMS, DEDUPLICATION: "brokerDeduplicationEnabled"})
"""What each is called in broker.conf."""
SESSION: Final = "metadataStoreSessionTimeoutMillis"
KEEP_ALIVE: Final = "keepAliveIntervalSeconds"
KEEP_ALIVE_S: Final = 5

_OF_BROKERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        SESSION: "4000",
        KEEP_ALIVE: str(KEEP_ALIVE_S),
        "bookkeeperClientTimeoutInSeconds": "5",
        "defaultRetentionTimeInMinutes": "-1",
        "defaultRetentionSizeInMB": "-1",
        "brokerDeleteInactiveTopicsEnabled": "false",
        "loadBalancerSheddingEnabled": "false",
        "loadBalancerAutoBundleSplitEnabled": "false",
        "managedLedgerCacheSizeMB": "8",
        "numIOThreads": "2",
        "numHttpServerThreads": "8",
        "numOrderedExecutorThreads": "2",
        "brokerShutdownTimeoutMs": "3000",
        "systemTopicEnabled": "false",
        "topicLevelPoliciesEnabled": "false",
    }
)
"""Lines of broker.conf that the harness sets. Pulsar's own are 30 s for the first three; without retention it removes
what nobody subscribes to, and by its load it would hand topics to other brokers during the run."""
_OF_BOOKIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "zkTimeout": "4000",
        "journalSyncData": "true",
        "journalMaxSizeMB": "32",
        "journalPreAllocSizeMB": "4",
        "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
        "dbStorage_writeCacheMaxSizeMb": "8",
        "dbStorage_readAheadCacheMaxSizeMb": "8",
        "dbStorage_rocksDB_blockCacheSize": "8388608",
        "numAddWorkerThreads": "1",
        "numReadWorkerThreads": "1",
        "diskUsageThreshold": "0.99",
        "diskUsageWarnThreshold": "0.98",
        "autoRecoveryDaemonEnabled": "false",
    }
)
"""Lines of bookkeeper.conf that the harness sets."""
OF_METADATA: Final[Mapping[str, str]] = MappingProxyType(
    {"tickTime": "500", "initLimit": "10", "syncLimit": "6", "maxSessionTimeout": "60000"}
)
"""Lines of zoo.cfg that the harness sets and a server shows by the word ``conf``: ZooKeeper's own tickTime is 2000."""
PREFIXES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {BROKER: _OF_BROKERS, BOOKIE: _OF_BOOKIES, METADATA: OF_METADATA}
)
FILES: Final = MappingProxyType({BROKER: "broker.conf", BOOKIE: "bookkeeper.conf", METADATA: "zoo.cfg"})
WIRED: Final = frozenset(
    {
        *_THEIRS.values(),
        "advertisedAddress",
        "admin.enableServer",
        "allowLoopback",
        "bindAddress",
        "4lw.commands.whitelist",
        "bookieId",
        "bookiePort",
        "brokerServicePort",
        "clientPort",
        "clientPortAddress",
        "clusterName",
        "configurationMetadataStoreUrl",
        "dataDir",
        "httpServerClass",
        "httpServerEnabled",
        "httpServerPort",
        "indexDirectories",
        "journalDirectories",
        "journalDirectory",
        "ledgerDirectories",
        "listeningInterface",
        "metadataServiceUri",
        "metadataStoreUrl",
        "webServicePort",
        "zkServers",
        "zookeeperServers",
    }
)
_OWN: Final = MappingProxyType(
    {
        "cluster.bookies": "3",
        ENSEMBLE: "2",
        WRITE_QUORUM: "2",
        ACK_QUORUM: "2",
        DEDUPLICATION: "off",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
    }
)
_BOOKIES: Final = ("3", "4", "5")
_SWITCH: Final = MappingProxyType({"on": "true", "off": "false"})
_OF_CLIENTS: Final = "bookkeeper_"
"""Lines of broker.conf that a broker hands on to its client of BookKeeper, and does not show."""
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")

SERVES_WITHIN_S: Final = 15.0
"""Behind the end of an owner's session: another broker takes the topic, and fences and recovers its last ledger."""
RECOVERS_WITHIN_S: Final = 60.0
"""From a heal until every node serves and every topic takes messages, beside the time until a session ends."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.bookies": "how many bookies keep the messages: 3 (default), 4 or 5",
        ENSEMBLE: "how many bookies a ledger is spread over (default 2)",
        WRITE_QUORUM: "how many of them are sent each message (default 2)",
        ACK_QUORUM: "how many of those must have it before it is acknowledged (default 2)",
        DEDUPLICATION: "on: a message is taken once by its producer's name and number; off (default)",
        **routing.CLIENT_HELP,
        "broker.KEY": f"any line of broker.conf: broker.{SESSION} (default 4000), "
        "broker.bookkeeperClientTimeoutInSeconds (default 5), broker.bookkeeper_KEY for its client of BookKeeper",
        "bookie.KEY": "any line of bookkeeper.conf: bookie.journalSyncData (default true), bookie.zkTimeout "
        "(default 4000)",
        "metadata.KEY": "any line of zoo.cfg: metadata.tickTime (default 500), metadata.syncLimit (default 6)",
    }
)


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        role, _, key = name.partition(".")
        if name not in _OWN and not (role in PREFIXES and key):
            near = difflib.get_close_matches(name, HELP, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
            raise UsageError(f"--set {name}: pulsar has no such setting here; {guess}")
        routing.check_client(name, value)
        if role in PREFIXES:
            _check_line(name, role, key, value)
    given = {f"{role}.{key}": value for role, lines in PREFIXES.items() for key, value in lines.items()}
    resolved = {**_OWN, **given, **settings}
    _check_sizes(resolved)
    if resolved[DEDUPLICATION] not in _SWITCH:
        raise UsageError(f"--set {DEDUPLICATION}={resolved[DEDUPLICATION]}: on or off")
    return resolved


def _check_line(name: str, role: str, key: str, value: str) -> None:
    """Check a line of a node's file. Raises UsageError."""
    if not _KEY.fullmatch(key):
        raise UsageError(f"--set {name}: write it like {role}.KEY, with a line of {FILES[role]}")
    if key in WIRED:
        own = next((ours for ours, theirs in _THEIRS.items() if theirs == key), None)
        raise UsageError(f"--set {name}: " + (f"set {own} instead" if own else f"the harness sets {key} by itself"))
    if not value.isprintable() or value != value.strip():
        raise UsageError(f"--set {name}: a value of one line, without spaces around it")


def _check_sizes(resolved: Mapping[str, str]) -> None:
    """Check that there are as many bookies as are asked for. Raises UsageError."""
    if resolved["cluster.bookies"] not in _BOOKIES:
        raise UsageError(f"--set cluster.bookies={resolved['cluster.bookies']}: one of {', '.join(_BOOKIES)}")
    most, above = int(resolved["cluster.bookies"]), "cluster.bookies"
    for name in _QUORUMS:
        value = resolved[name]
        if not (value.isdecimal() and 1 <= int(value) <= most):
            raise UsageError(f"--set {name}={value}: a whole number from 1 to {most}, which is {above}")
        most, above = int(value), name


def lines(settings: Mapping[str, str], role: str) -> dict[str, str]:
    """The lines of a role's file that were set, by us or by the user."""
    out = {name.partition(".")[2]: value for name, value in settings.items() if name.partition(".")[0] == role}
    if role == BROKER:
        out |= {theirs: _SWITCH.get(settings[ours], settings[ours]) for ours, theirs in _THEIRS.items()}
    return out


def lines_shown(settings: Mapping[str, str], role: str) -> dict[str, str]:
    """The lines whose values in effect a node of a role shows."""
    found = lines(settings, role)
    if role == METADATA:
        return {key: found[key] for key in OF_METADATA}
    return {key: value for key, value in found.items() if not key.startswith(_OF_CLIENTS)}


def full_name(topic: str) -> str:
    """A topic with its namespace."""
    return f"persistent://{NAMESPACE}/{topic}"


_NO_LEASE: Final = (
    "no leases: a broker that lost a topic answers reads until it learns of it, so a strong read at an old owner may "
    "miss newer messages"
)
_IN_MEMORY: Final = (
    "a broker answers an acknowledgement before it has written it down: with the owner it may be lost, and the message "
    "is then given again"
)
_NOTICED_WITHIN_S: Final = 5.0
"""Beside two keep-alive intervals: after these a consumer that is gone is noticed, and what it held goes to others."""


def promises(settings: Mapping[str, str]) -> Promises:
    """What holds under resolved settings. No loss is by design: a setting that gives safety up adds no excuse."""
    silence_s = _number(settings, SESSION) / 1000
    return Promises(
        allowed={"stale-tail": _NO_LEASE, "redelivered-after-ack": _IN_MEMORY},
        redelivered_within_s=2.0 * _number(settings, KEEP_ALIVE) + _NOTICED_WITHIN_S,
        recovers_within_s=RECOVERS_WITHIN_S + silence_s,
        fails_over_after_s=silence_s + SERVES_WITHIN_S,
    )


def _number(settings: Mapping[str, str], key: str) -> int:
    """A number among the lines of broker.conf; our own where it was set to none, which no broker starts with."""
    text = settings.get(f"{BROKER}.{key}", "")
    return int(text if text.isdecimal() else _OF_BROKERS[key])
