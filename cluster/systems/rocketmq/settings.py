"""Settings of the system: what may be set, what is set by default, and what the harness keeps for itself.

A setting is ``client.KEY`` (this harness' client), ``broker.KEY``, ``controller.KEY``, ``namesrv.KEY`` (RocketMQ's
own), ``jvm.ROLE.KEY``, or a bare RocketMQ key, which goes to every component that knows it. RocketMQ
itself ignores what it does not know and what it cannot parse; this module refuses both.
"""

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from chaos.core.errors import UsageError
from chaos.core.op import F
from cluster.systems import routing

COMPONENTS: Final = ("namesrv", "controller", "broker")

CLIENT_HELP: Final[Mapping[str, str]] = {
    **routing.CLIENT_HELP,
    "client.slaveReads": "on: slaves are read on purpose, whatever the route says; off: never; "
    "default: off with client.routing=follow, whose clients go where an ordinary client goes, else on",
}

_CLIENT_DEFAULTS: Final = {"client.routePollInterval": "1", "client.routing": "mixed"}

_JVM_DEFAULTS: Final = {
    "jvm.namesrv.Xms": "16m", "jvm.namesrv.Xmx": "32m",
    "jvm.controller.Xms": "16m", "jvm.controller.Xmx": "48m",
    "jvm.broker.Xms": "32m", "jvm.broker.Xmx": "96m", "jvm.broker.MaxDirectMemorySize": "192m",
}  # fmt: skip

# Safe replication, then the timers of failover (stock values in comments), then what keeps a node small.
_BROKER_DEFAULTS: Final = {
    "allAckInSyncStateSet": "true",
    "minInSyncReplicas": "1",
    "totalReplicas": "3",
    "flushDiskType": "ASYNC_FLUSH",
    "autoCreateTopicEnable": "false",
    "controllerHeartBeatTimeoutMills": "3000",  # 10000
    "haMaxTimeSlaveNotCatchup": "3000",  # 15000
    "haSendHeartbeatInterval": "1000",  # 5000; below it the SyncStateSet of an idle group flaps
    "slaveTimeout": "3000",
    "syncControllerMetadataPeriod": "1000",  # 10000
    "syncBrokerMetadataPeriod": "1000",  # 5000
    "checkSyncStateSetPeriod": "1000",  # 5000
    "registerNameServerPeriod": "10000",  # 30000
    "brokerFastFailureEnable": "false",
    "maxTransferCountOnMessageInMemory": "1024",  # 32; a drain reads whole queues
    "maxTransferBytesOnMessageInMemory": "1048576",  # 262144
    "mappedFileSizeCommitLog": "16777216",
    "mappedFileSizeConsumeQueue": "400000",
    "mappedFileSizeTimerLog": "1048576",
    "maxHashSlotNum": "10000",
    "maxIndexNum": "40000",
    "messageIndexEnable": "false",
    "timerWheelEnable": "false",
    "enableCompaction": "false",
    "traceTopicEnable": "false",
    "diskMaxUsedSpaceRatio": "99",
    "deleteWhen": "04",
    "fileReservedTime": "48",
}

_CONTROLLER_DEFAULTS: Final = {
    "enableElectUncleanMaster": "false",
    "scanNotActiveBrokerInterval": "1000",  # 5000
    "scanInactiveMasterInterval": "1000",  # 5000
    "mappedFileSize": "4194304",
}

# A topology is wired with these; a run that changed them would not find its own nodes.
_RESERVED: Final = {
    "broker": {
        "bindAddress", "listenPort", "haListenPort", "brokerIP1", "brokerIP2", "namesrvAddr", "controllerAddr",
        "brokerName", "brokerClusterName", "brokerId", "brokerRole", "enableControllerMode",
        "fetchNamesrvAddrByAddressServer", "fetchNameSrvAddrByDnsLookup", "fetchControllerAddrByDnsLookup",
        "rocketmqHome", "storePathRootDir",
        "storePathCommitLog", "storePathEpochFile", "storePathBrokerIdentity", "enableDLegerCommitLog", "dLegerGroup",
        "dLegerPeers", "dLegerSelfId", "duplicationEnable", "isInBrokerContainer", "inBrokerContainer",
    },
    "controller": {
        "bindAddress", "listenPort", "controllerType", "controllerDLegerGroup", "controllerDLegerPeers",
        "controllerDLegerSelfId", "controllerStorePath", "configStorePath", "rocketmqHome", "jraftConfig",
    },
    "namesrv": {
        "bindAddress", "listenPort", "rocketmqHome", "kvConfigPath", "configStorePath", "enableControllerInNamesrv",
    },
}  # fmt: skip

# Above transactionOpBatchInterval (3000): what was decided is written so late that a question in between is repeated.
_ASKED_SOON: Final[Mapping[str, str]] = {"broker.transactionCheckInterval": "5000"}  # 30000
_TIMED: Final = frozenset({F.SCHEDULE, F.POP, F.ACK, F.EXTEND})
_INTEGERS: Final = frozenset({"int", "long"})


@cache
def known_keys() -> Mapping[str, Mapping[str, str]]:
    """Component → key → Java type, of RocketMQ 5.5.0."""
    known: dict[str, dict[str, str]] = {component: {} for component in COMPONENTS}
    for line in files(__package__).joinpath("keys.txt").read_text().splitlines():
        if not line.startswith("#"):
            component, kind, key = line.split()
            known[component][key] = kind
    return known


def defaults() -> dict[str, str]:
    """Every setting that is not left to RocketMQ, by its full name."""
    return {
        **_CLIENT_DEFAULTS,
        **{f"broker.{key}": value for key, value in _BROKER_DEFAULTS.items()},
        **{f"controller.{key}": value for key, value in _CONTROLLER_DEFAULTS.items()},
        **_JVM_DEFAULTS,
    }


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """Full names for all settings, checked, with the defaults filled in.

    Raises:
        UsageError: a name nobody knows (with a guess), a value of the wrong type, or a reserved name.
    """
    given: dict[str, str] = {}
    exact: dict[str, str] = {}
    for name, value in settings.items():
        names = [*_full_names(name)]
        (exact if names == [name] else given).update(dict.fromkeys(names, value))
    given.update(exact)  # broker.KEY is more particular than KEY, in whatever order they came
    for name, value in given.items():
        _check(name, value)
    resolved = {**defaults(), **given}
    on = resolved.setdefault("client.slaveReads", "off" if resolved["client.routing"] == "follow" else "on") == "on"
    # Stock is false, and a slave then refuses; nothing but the pull processor of 5.5.0 looks at it.
    resolved.setdefault("broker.slaveReadEnable", str(on).lower())
    if on and resolved["broker.slaveReadEnable"] != "true":
        raise UsageError("--set client.slaveReads=on: slaves refuse with slaveReadEnable=false; leave one of them out")
    return resolved


def of_component(settings: Mapping[str, str], component: str) -> dict[str, str]:
    """The RocketMQ keys of one component in resolved settings."""
    prefix = f"{component}."
    return {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}


def jvm_options(settings: Mapping[str, str], role: str) -> list[str]:
    """The options of ``jvm.ROLE.KEY`` settings: Xmx → -Xmx96m, D… → -Dkey=value, others → -XX:…"""  # noqa: D400, D415
    return [_jvm_option(key, value) for key, value in of_component(settings, f"jvm.{role}").items()]


def _jvm_option(key: str, value: str) -> str:
    if key in {"Xms", "Xmx", "Xmn", "Xss"}:
        return f"-{key}{value}"
    if key.startswith("D"):
        return f"-{key}={value}"
    if value in {"true", "false"}:
        return f"-XX:{'+' if value == 'true' else '-'}{key}"
    return f"-XX:{key}={value}"


def slaves_are_read(settings: Mapping[str, str]) -> bool:
    """Whether clients read slaves on purpose under these resolved settings."""
    return settings["client.slaveReads"] == "on"


def needed_for(operations: frozenset[F]) -> dict[str, str]:
    """What brokers must be set to for these kinds of operation, laid beneath what the user sets.

    Delayed messages wait in the timer wheel, and so do popped ones that nobody acknowledges: a broker without it
    refuses both. Transactions are asked about every 30 s by default, which is as long as a whole short run.
    """
    needed = {"broker.timerWheelEnable": "true"} if operations & _TIMED else {}
    return {**needed, **(_ASKED_SOON if F.TRANSACT in operations else {})}


def unsafe(settings: Mapping[str, str]) -> str | None:
    """The first setting that lets acknowledged messages be lost by design, or None."""
    for name, safe in (("broker.allAckInSyncStateSet", "true"), ("controller.enableElectUncleanMaster", "false")):
        if settings.get(name, safe) != safe:
            return f"{name}={settings[name]}"
    return None


def early_s(settings: Mapping[str, str]) -> float:
    """How much before its time a broker may deliver: it rounds the time down to a multiple of its precision.

    HookUtils.transformTimerMessage of 5.5.0; a time that is a multiple already becomes the one before.
    """
    text = settings.get("broker.timerPrecisionMs", "1000")
    return int(text) / 1000 if text.isdecimal() else 0.0


def min_in_sync(settings: Mapping[str, str]) -> int:
    """How many replicas must be in sync for an acknowledgement; 0 where the master alone is enough."""
    text = settings.get("broker.minInSyncReplicas", "1")
    return int(text) if text.isdecimal() and int(text) > 1 else 0


def _full_names(name: str) -> Iterator[str]:
    head, dot, rest = name.partition(".")
    if dot and head in ("client", "jvm"):
        if (head == "client" and name not in CLIENT_HELP) or (head == "jvm" and not _is_jvm(rest)):
            raise _unknown(name)
        yield name
    elif dot and head in COMPONENTS:
        if rest not in known_keys()[head]:
            raise _unknown(name)
        yield name
    else:
        owners = [component for component in COMPONENTS if name in known_keys()[component]]
        if not owners:
            raise _unknown(name)
        yield from (f"{owner}.{name}" for owner in owners)


def _is_jvm(rest: str) -> bool:
    role, dot, key = rest.partition(".")
    return role in COMPONENTS and bool(dot) and bool(key)


def _unknown(name: str) -> UsageError:
    full = [f"{component}.{key}" for component in COMPONENTS for key in known_keys()[component]]
    bare = [key for component in COMPONENTS for key in known_keys()[component]]
    choices = {text.lower(): text for text in [*full, *bare, *CLIENT_HELP, *_JVM_DEFAULTS]}
    near = difflib.get_close_matches(name.lower(), choices, n=1)
    guess = f"did you mean {choices[near[0]]}?" if near else "see `chaos list systems` for the names"
    return UsageError(f"--set {name}: RocketMQ 5.5.0 has no such setting; {guess}")


def _check(name: str, value: str) -> None:
    head, _, key = name.partition(".")
    if head == "client":
        routing.check_client(name, value)
        return
    if head == "jvm":
        if not value or any(letter.isspace() for letter in value):
            raise UsageError(f"--set {name}={value}: one JVM value without spaces, as in jvm.broker.Xmx=128m")
        return
    if key in _RESERVED[head]:
        raise UsageError(f"--set {name}: set by the harness itself, from the topology; leave it out")
    _check_type(name, value, known_keys()[head][key])


def _check_type(name: str, value: str, kind: str) -> None:
    if kind == "boolean" and value not in ("true", "false"):
        raise UsageError(f"--set {name}={value}: true or false")
    if kind in _INTEGERS and not value.removeprefix("-").isdecimal():
        raise UsageError(f"--set {name}={value}: a whole number")
    if kind == "double" and not routing.is_number(value):
        raise UsageError(f"--set {name}={value}: a number")
    if "\n" in value or "\r" in value:
        raise UsageError(f"--set {name}: one line only")
