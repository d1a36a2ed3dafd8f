"""The settings of DLedger: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing

GROUP: Final = "dledger"
"""What the group is called, by its nodes and in observations."""
ROLE: Final = "server"
READS: Final = "client.reads"
CONFIRMED: Final = "confirmed"
LEADER: Final = "leader"
FOLLOWER: Final = "follower"

HEARTBEAT: Final = "heartBeatTimeIntervalMs"
LEAK: Final = "maxHeartBeatLeak"
VOTE: Final = "maxVoteIntervalMs"

CONFIG: Final[Mapping[str, str]] = MappingProxyType(
    {
        HEARTBEAT: "500",
        LEAK: "3",
        VOTE: "1000",
        "mappedFileSizeForEntryData": "16777216",
        "mappedFileSizeForEntryIndex": "16000000",
        "enableDiskForceClean": "false",
    }
)
"""Fields of DLedgerConfig that are always set, with our defaults. DLedger's own heartbeat is 2000 ms, its files are of
1 GiB, and it deletes entries when the disk is fuller than 85 %."""
_KNOWN: Final = (
    *CONFIG,
    "storeType",
    "preferredLeaderId",
    "preferredLeaderIds",
    "maxLeadershipTransferWaitIndex",
    "leadershipTransferWaitTimeout",
    "minTakeLeadershipVoteIntervalMs",
    "maxTakeLeadershipVoteIntervalMs",
    "enableBatchAppend",
    "maxBatchAppendSize",
    "maxBatchAppendIntervalMs",
    "enableBatchPush",
    "maxBatchPushSize",
    "enableFastAdvanceCommitIndex",
    "maxPendingRequestsNum",
    "maxWaitAckTimeMs",
    "maxPushTimeOutMs",
    "minVoteIntervalMs",
    "peerPushThrottlePoint",
    "peerPushQuota",
    "flushFileInterval",
    "checkPointInterval",
    "fileReservedHours",
    "deleteWhen",
    "diskSpaceRatioToCheckExpired",
    "diskSpaceRatioToForceClean",
)
_OWN: Final = MappingProxyType(
    {
        "cluster.nodes": "3",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        READS: CONFIRMED,
    }
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cluster.nodes": ("3", "5"),
        READS: (CONFIRMED, LEADER, FOLLOWER),
        "storeType": ("FILE", "MEMORY"),
        **dict.fromkeys(
            ("enableDiskForceClean", "enableBatchAppend", "enableBatchPush", "enableFastAdvanceCommitIndex"),
            ("true", "false"),
        ),
    }
)
_TEXTS: Final = frozenset({"preferredLeaderId", "preferredLeaderIds", "deleteWhen"})
_FRACTIONS: Final = frozenset({"diskSpaceRatioToCheckExpired", "diskSpaceRatioToForceClean"})
_MOST: Final = 2_000_000_000

ROUNDS: Final = 6
"""Votes may be split again and again: so many rounds of the longest wait for the next vote."""
RECOVERS_WITHIN_S: Final = 30.0
"""From a heal until every node serves and the log takes entries, beside the election."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.nodes": "how many nodes keep the log: 3 (default) or 5",
        **routing.CLIENT_HELP,
        READS: "confirmed (default): an entry is appended before each read, and the leader is read up to it; leader: "
        "whatever a leader has, replicated or not; follower: strong reads go to a follower, which may lag",
        HEARTBEAT: "ms between two heartbeats of a leader (default 500; DLedger's own is 2000)",
        LEAK: "heartbeats that a follower may miss before it asks for votes (default 3)",
        VOTE: "ms until the next vote, at most (default 1000)",
        "preferredLeaderIds": "nodes to which another leader hands over, such as n1;n2 (from 0.2.7 on)",
        "enableBatchAppend": "true: followers are sent several entries at once (in 0.2 and 0.3 enableBatchPush)",
        "storeType": "FILE (default), or MEMORY: a node that restarts has lost its log",
        "FIELD": "any other field of DLedgerConfig, such as flushFileInterval or maxWaitAckTimeMs",
    }
)


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        _check(name, value)
        routing.check_client(name, value)
    resolved = {**_OWN, **CONFIG, **settings}
    for name in ("preferredLeaderId", "preferredLeaderIds"):
        for node in resolved[name].split(";") if name in resolved else ():
            if node not in nodes_of(resolved):
                raise UsageError(f"--set {name}={resolved[name]}: {node} is none of {', '.join(nodes_of(resolved))}")
    return resolved


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    known = (*_OWN, *_KNOWN)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
        raise UsageError(f"--set {name}: dledger has no such setting here; {guess}")
    words = _WORDS.get(name)
    if words is not None and value not in words:
        raise UsageError(f"--set {name}={value}: one of {', '.join(words)}")
    if words is not None or name in _OWN or name in _TEXTS:
        return
    if name in _FRACTIONS:
        if not (routing.is_number(value) and 0 < float(value) < 1):
            raise UsageError(f"--set {name}={value}: a number between 0 and 1")
    elif not (value.isdecimal() and int(value) <= _MOST):
        raise UsageError(f"--set {name}={value}: a whole number from 0 to {_MOST}")


def nodes_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the nodes."""
    return tuple(f"n{number}" for number in range(1, int(settings["cluster.nodes"]) + 1))


def fields(settings: Mapping[str, str]) -> dict[str, str]:
    """The fields of DLedgerConfig that were set, by us or by the user."""
    return {name: value for name, value in settings.items() if name not in _OWN}


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked: nothing is by design, whatever is set. How soon it holds depends on the intervals."""
    silence_ms = (int(settings[LEAK]) + 1) * int(settings[HEARTBEAT])
    elected_s = (silence_ms + ROUNDS * int(settings[VOTE])) / 1000
    within_s = RECOVERS_WITHIN_S + elected_s
    return Promises(
        replicas_read=True,
        recovers_within_s=within_s,
        rejoins_within_s=within_s,
        fails_over_after_s=elected_s,
        serves_without_minority_s=within_s,
    )
