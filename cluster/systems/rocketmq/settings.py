"""Settings of the system: what may be set, what is set by default, and what the harness keeps for itself.

A setting is ``cluster.KEY`` (which cluster: ``shape``), ``client.KEY`` (this harness' client), ``broker.KEY``,
``controller.KEY``, ``namesrv.KEY`` (RocketMQ's own), ``jvm.ROLE.KEY``, or a bare RocketMQ key, which goes to every
component that knows it. RocketMQ itself ignores what it does not know and what it cannot parse; this module refuses
both.
"""

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from chaos.core.errors import UsageError
from chaos.core.op import Word
from chaos.models.log.words import F
from cluster.systems._shared import routing
from cluster.systems.rocketmq import defaults, topology
from cluster.systems.rocketmq.topology import Shape

COMPONENTS: Final = ("namesrv", "controller", "broker")

CLIENT_HELP: Final[Mapping[str, str]] = {
    **routing.CLIENT_HELP,
    "client.slaveReads": "on: slaves are read on purpose, whatever the route says; off: never; "
    "default: off with client.routing=follow, whose clients go where an ordinary client goes, else on",
}

HELP: Final[Mapping[str, str]] = {**topology.HELP, **CLIENT_HELP}

# A topology is wired with these; a run that changed them would not find its own nodes.
_RESERVED: Final = {
    "broker": {
        "bindAddress",
        "listenPort",
        "haListenPort",
        "brokerIP1",
        "brokerIP2",
        "namesrvAddr",
        "controllerAddr",
        "brokerName",
        "brokerClusterName",
        "brokerId",
        "enableControllerMode",
        "fetchNamesrvAddrByAddressServer",
        "fetchNameSrvAddrByDnsLookup",
        "fetchControllerAddrByDnsLookup",
        "rocketmqHome",
        "storePathRootDir",
        "storePathCommitLog",
        "storePathEpochFile",
        "storePathBrokerIdentity",
        "enableDLegerCommitLog",
        "dLegerGroup",
        "dLegerPeers",
        "dLegerSelfId",
        "duplicationEnable",
        "isInBrokerContainer",
        "inBrokerContainer",
    },
    "controller": {
        "bindAddress",
        "listenPort",
        "controllerType",
        "controllerDLegerGroup",
        "controllerDLegerPeers",
        "controllerDLegerSelfId",
        "controllerStorePath",
        "configStorePath",
        "rocketmqHome",
        "jraftConfig",
        "jRaftGroupId",
        "jRaftServerId",
        "jRaftInitConf",
        "jRaftControllerRPCAddr",
    },
    "namesrv": {
        "bindAddress",
        "listenPort",
        "rocketmqHome",
        "kvConfigPath",
        "configStorePath",
        "enableControllerInNamesrv",
    },
}

# Above transactionOpBatchInterval (3000): what was decided is written so late that a question in between is repeated.
_ASKED_SOON: Final[Mapping[str, str]] = {"broker.transactionCheckInterval": "5000"}  # 30000
# Where one of those is what somebody looked for, the setting of the harness' own that decides it.
_INSTEAD: Final = {
    "enableControllerMode": "cluster.mode",
    "enableDLegerCommitLog": "cluster.mode",
    "controllerType": "cluster.controllerType",
    "enableControllerInNamesrv": "cluster.controllerIn",
}

_MASTER_ROLES: Final = ("SYNC_MASTER", "ASYNC_MASTER")
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


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """Full names for all settings, checked, with the defaults filled in.

    Raises:
        UsageError: a name nobody knows (with a guess), a value of the wrong type, or a reserved name.
    """
    given: dict[str, str] = {}
    exact: dict[str, str] = {}
    wanted = topology.of(settings)
    for name, value in settings.items():
        names = [*_full_names(name, wanted)]
        (exact if names == [name] else given).update(dict.fromkeys(names, value))
    given.update(exact)  # broker.KEY is more particular than KEY, in whatever order they came
    for name, value in given.items():
        _check(name, value)
    resolved = {**topology.resolve_cluster(settings), **defaults.of(wanted), **given}
    _check_together(resolved, wanted)
    on = resolved.setdefault("client.slaveReads", "off" if resolved["client.routing"] == "follow" else "on") == "on"
    # Stock is false, and a slave then refuses; nothing but the pull processor of 5.5.0 looks at it.
    resolved.setdefault("broker.slaveReadEnable", str(on).lower())
    if on and resolved["broker.slaveReadEnable"] != "true":
        raise UsageError("--set client.slaveReads=on: slaves refuse with slaveReadEnable=false; leave one of them out")
    return resolved


def _check_together(resolved: Mapping[str, str], wanted: Shape) -> None:
    """Refuse what each alone would be possible."""
    role = resolved.get("broker.brokerRole")
    if role is not None and (wanted.mode != "master-slave" or role not in _MASTER_ROLES):
        raise UsageError(
            f"--set broker.brokerRole={role}: set by the harness itself, but for cluster.mode=master-slave, where it "
            f"is the master's: {' or '.join(_MASTER_ROLES)}"
        )
    if wanted.controllers_inside:
        for name, value in of_component(resolved, "namesrv").items():
            other = resolved.get(f"controller.{name}", value)
            if other != value:
                raise UsageError(
                    f"--set namesrv.{name}={value}: controller.{name} is {other}, and with "
                    "cluster.controllerIn=namesrv both are read from one file; give one value"
                )


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


def needed_for(operations: frozenset[Word]) -> dict[str, str]:
    """What brokers must be set to for these kinds of operation, laid beneath what the user sets.

    Delayed messages wait in the timer wheel, and so do popped ones that nobody acknowledges: a broker without it
    refuses both. Each of the many threads that then write keeps a direct buffer of the largest message, 4 MiB by
    default; together they are more than a small broker's direct memory, and what cannot be written is not given again.
    Transactions are asked about every 30 s by default, which is as long as a whole short run.
    """
    needed = {"broker.timerWheelEnable": "true", "broker.maxMessageSize": "262144"} if operations & _TIMED else {}
    return {**needed, **(_ASKED_SOON if F.TRANSACT in operations else {})}


def _full_names(name: str, wanted: Shape) -> Iterator[str]:
    """Where a setting goes; what only controllers know goes nowhere if there are none, and is refused."""
    head, dot, rest = name.partition(".")
    if dot and head in ("client", "cluster", "jvm"):
        if name not in HELP and not (head == "jvm" and _is_jvm(rest)):
            raise _unknown(name)
        yield name
        return
    if dot and head in COMPONENTS:
        owners, key = ([head] if rest in known_keys()[head] else []), rest
    else:
        owners, key = [component for component in COMPONENTS if name in known_keys()[component]], name
    if not owners:
        raise _unknown(name)
    if owners == ["controller"] and not wanted.controllers:
        raise UsageError(f"--set {name}: cluster.mode={wanted.mode} has no controllers; leave it out")
    yield from (f"{owner}.{key}" for owner in owners if owner != "controller" or wanted.controllers)


def _is_jvm(rest: str) -> bool:
    role, dot, key = rest.partition(".")
    return role in COMPONENTS and bool(dot) and bool(key)


def _unknown(name: str) -> UsageError:
    full = [f"{component}.{key}" for component in COMPONENTS for key in known_keys()[component]]
    bare = [key for component in COMPONENTS for key in known_keys()[component]]
    choices = {text.lower(): text for text in [*full, *bare, *HELP, *defaults.JVM_DEFAULTS]}
    near = difflib.get_close_matches(name.lower(), choices, n=1)
    guess = f"did you mean {choices[near[0]]}?" if near else "see `chaos list settings` for the names"
    return UsageError(f"--set {name}: RocketMQ 5.5.0 has no such setting; {guess}")


def _check(name: str, value: str) -> None:
    head, _, key = name.partition(".")
    if head == "client":
        routing.check_client(name, value)
        return
    if head == "cluster":
        return  # ``shape`` has checked it
    if head == "jvm":
        if not value or any(letter.isspace() for letter in value):
            raise UsageError(f"--set {name}={value}: one JVM value without spaces, as in jvm.broker.Xmx=128m")
        return
    if key in _RESERVED[head]:
        instead = f"; say {_INSTEAD[key]}" if key in _INSTEAD else "; leave it out"
        raise UsageError(f"--set {name}: set by the harness itself, from the topology{instead}")
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
