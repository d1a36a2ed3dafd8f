"""What RocketMQ promises under its settings, by mode (SEMANTICS 13), and which switches it ignores there.

Pure. Does not excuse a loss: a setting that gives safety up takes promises away and adds none.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.models.log.words import F
from chaos.storage.runinfo import Promises
from cluster.systems.rocketmq import defaults, topology

PROGRESS_MARGIN_S: Final = 3.0
"""Three times the longest silence without any fault, at least two seconds (docs/results/progress.md)."""

READABLE_AFTER_S: Final = 1.0
"""The dispatcher was seen 8 to 12 ms behind an acknowledgement; a second is far below any fault."""

REDELIVERED_WITHIN_S: Final = 30.0
"""The revive service looks at what lapsed every 1 to 3 s, for up to 10 s at a time, and its timer is a second late."""

RECOVERS_WITHIN_S: Final = 80.0
"""Four times the longest time from a heal to the next acknowledgement in the stored runs, 19 s, rounded up."""
_NOTICED_BY: Final[Mapping[str, int]] = {
    "broker.haHousekeepingInterval": 20_000,
    "broker.haMaxTimeSlaveNotCatchup": 3000,
    "broker.slaveTimeout": 3000,
    "broker.checkSyncStateSetPeriod": 1000,
    "broker.registerNameServerPeriod": 10_000,
    "broker.syncControllerMetadataPeriod": 1000,
    "broker.syncBrokerMetadataPeriod": 1000,
    "broker.controllerHeartBeatTimeoutMills": 3000,
    "controller.scanNotActiveBrokerInterval": 1000,
    "controller.scanInactiveMasterInterval": 1000,
}
"""What decides how soon a failure is noticed: the keys, and the values in ms with which it was measured."""

CONTROLLERS_ELECT_WITHIN_S: Final = 5.0
"""Behind the silence after which a broker is dead: two looks of a second each, an election, a busy machine."""

DLEDGER_ELECTS_WITHIN_S: Final = 12.0
"""A follower waits for three heartbeats of 2 s, then votes for up to a second at a time, again after a split vote."""

_BEHIND_THE_LOG: Final = (
    "what a group committed, and who holds or acknowledged what was popped, reaches other brokers behind the log: "
    "after a failover a group may step back and be given messages again"
)
_REPEATED: Final = dict.fromkeys(("lost-commit", "redelivered-after-ack", "early-redelivery"), _BEHIND_THE_LOG)
_DISPATCH: Final = "the consume queue that readers see is built behind the commit log"
_STALE: Final[Mapping[str, str]] = {
    "controller": "no leases: a master that was replaced answers reads until it learns of it, so a strong read at an "
    f"old master may miss newer messages; and {_DISPATCH}",
    "dledger": "no leases: a leader that was replaced answers reads until it hears of the new term, so a strong read "
    f"there may miss newer messages; and {_DISPATCH}",
    "master-slave": f"{_DISPATCH}; there is one master for ever, so no other read may miss anything",
}

_AGAIN: Final = (
    "a master that takes over or comes back delivers delayed messages again from its last checkpoint, and asks again "
    "about a transaction whose end was not written yet: both are stored at least once, not exactly once"
)

_NOT_BY_DLEDGER: Final = "a DLedger broker acknowledges what a majority of its group has, whatever this says"
_NOT_IN: Final[Mapping[str, Mapping[str, str]]] = {
    "controller": {"broker.enableAutoInSyncReplicas": "only slave acting master looks at it"},
    "master-slave": {
        "broker.allAckInSyncStateSet": "there is no SyncStateSet without controllers",
        "broker.minInSyncReplicas": "only controller mode and slave acting master look at it",
    },
    "dledger": {
        "broker.allAckInSyncStateSet": _NOT_BY_DLEDGER,
        "broker.minInSyncReplicas": _NOT_BY_DLEDGER,
        "broker.inSyncReplicas": _NOT_BY_DLEDGER,
        "broker.transientStorePoolEnable": "a DLedger log has files of its own and takes no buffer from the pool",
        "broker.flushDiskType": "a DLedger log flushes by itself, in the background",
    },
}
"""Keys that the nodes of a mode take and show, and do not act by; said where another than the stock value is set."""

_STOCK: Final[Mapping[str, str]] = {
    "broker.allAckInSyncStateSet": "false",
    "broker.minInSyncReplicas": "1",
    "broker.inSyncReplicas": "1",
    "broker.transientStorePoolEnable": "false",
    "broker.flushDiskType": "ASYNC_FLUSH",
    "broker.enableAutoInSyncReplicas": "false",
}


def of(settings: Mapping[str, str]) -> Promises:
    """What holds under these resolved settings; where replicas need not agree nothing is by design."""
    # A slave refuses every pull unless it may be read, so then its own copy is out of reach.
    within_s = RECOVERS_WITHIN_S + longer_s(settings)
    always = Promises(
        min_in_sync=min_in_sync(settings),
        replicas_read=settings.get("broker.slaveReadEnable") == "true",
        progress_margin_s=PROGRESS_MARGIN_S if topology.of(settings).controllers else 0.0,
        early_s=early_s(settings),
        redelivered_within_s=REDELIVERED_WITHIN_S,
        recovers_within_s=within_s,
        rejoins_within_s=within_s if topology.of(settings).mode == "controller" else 0.0,
        fails_over_after_s=fails_over_after_s(settings),
    )
    if _disagreement(settings) is not None:
        return always
    allowed = {"stale-tail": _STALE[topology.of(settings).mode], "duplicate": _AGAIN, **_REPEATED}
    return msgspec.structs.replace(
        always, allowed=allowed, readable_after_s=READABLE_AFTER_S, twice=(F.SCHEDULE.word, F.TRANSACT.word)
    )


def unsafe_setting(settings: Mapping[str, str]) -> str | None:
    """The first setting that lets acknowledged messages be lost by design, or None.

    Replication that nobody waits for loses where somebody else can become master; a buffer outside the page cache
    loses with its process, unless every message is flushed before it is acknowledged.
    """
    buffered = topology.of(settings).mode != "dledger" and settings.get("broker.flushDiskType") != "SYNC_FLUSH"
    pool = {"broker.transientStorePoolEnable": "false"} if buffered else {}
    return _disagreement(settings) or _other_than(settings, pool)


def _disagreement(settings: Mapping[str, str]) -> str | None:
    """The first setting that lets a master acknowledge, or become one, without what its replicas have."""
    safe = {"broker.allAckInSyncStateSet": "true", "controller.enableElectUncleanMaster": "false"}
    return _other_than(settings, safe) if topology.of(settings).mode == "controller" else None


def _other_than(settings: Mapping[str, str], safe: Mapping[str, str]) -> str | None:
    """The first setting that has another value than the safe one, as it was set."""
    changed = (name for name, value in safe.items() if settings.get(name, value) != value)
    return next((f"{name}={settings[name]}" for name in changed), None)


def longer_s(settings: Mapping[str, str]) -> float:
    """How much longer than with the harness' values it may take until a failure is noticed, in seconds."""
    given = ((settings.get(name, ""), known) for name, known in _NOTICED_BY.items())
    return sum(2 * max(0, int(text) - known) / 1000 for text, known in given if text.isdecimal())


def early_s(settings: Mapping[str, str]) -> float:
    """How much before its time a broker may deliver: it rounds the time down to a multiple of its precision.

    HookUtils.transformTimerMessage of 5.5.0; a time that is a multiple already becomes the one before.
    """
    text = settings.get("broker.timerPrecisionMs", "1000")
    return int(text) / 1000 if text.isdecimal() else 0.0


def fails_over_after_s(settings: Mapping[str, str]) -> float:
    """How long a master must be away for another to have taken over; 0 in the mode without failover."""
    wanted = topology.of(settings)
    if wanted.mode == "dledger":
        return DLEDGER_ELECTS_WITHIN_S
    silence = settings.get("broker.controllerHeartBeatTimeoutMills", "10000")
    known = wanted.fails_over and silence.isdecimal()
    return int(silence) / 1000 + CONTROLLERS_ELECT_WITHIN_S if known else 0.0


def min_in_sync(settings: Mapping[str, str]) -> int:
    """How many replicas must be in the SyncStateSet for an acknowledgement; 0 where the master alone is enough.

    Only controller mode has such a set. What ``inSyncReplicas`` asks of a synchronous master are acknowledgements of
    connected slaves, and a DLedger leader waits for a majority of its group: neither names its members.
    """
    if topology.of(settings).mode != "controller":
        return 0
    text = settings.get("broker.minInSyncReplicas", "1")
    return int(text) if text.isdecimal() and int(text) > 1 else 0


def without_effect(settings: Mapping[str, str]) -> dict[str, str]:
    """The switches that are set and that RocketMQ silently does not act by under these settings, with the reason."""
    wanted = topology.of(settings)
    reasons = dict(_NOT_IN[wanted.mode])
    if wanted.mode == "controller" and settings.get("broker.allAckInSyncStateSet") == "true":
        reasons["broker.inSyncReplicas"] = "allAckInSyncStateSet=true asks for all in the SyncStateSet instead"
    if settings.get("broker.brokerRole") == "ASYNC_MASTER":
        reasons["broker.inSyncReplicas"] = "an asynchronous master waits for nobody"
    if settings.get("broker.writeWithoutMmap") == "true":
        reasons["broker.transientStorePoolEnable"] = "writeWithoutMmap=true takes its place"
    usual = {name: (_STOCK[name], defaults.of(wanted).get(name)) for name in reasons}
    return {name: why for name, why in reasons.items() if settings.get(name, _STOCK[name]) not in usual[name]}
