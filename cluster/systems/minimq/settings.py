"""Settings of the system: what may be set, what holds by default, and what a node is told of it.

A setting is ``broker.KEY``, ``controller.KEY``, ``cluster.KEY``, ``client.KEY``, ``bug`` or ``bugShare``; where a bare
``KEY`` is unique it stands for the full name. Does not take unknown names or values with which nothing could run: a
cluster that cannot come up should say so before it is deployed.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from chaos.core.errors import UsageError
from cluster.systems._shared import routing
from cluster.systems.minimq.bugs.switches import BUGS
from cluster.systems.minimq.consensus.controller import ControllerSettings
from cluster.systems.minimq.consensus.raft import RaftSettings
from cluster.systems.minimq.protocol.groups import GROUPS_MOST
from cluster.systems.minimq.protocol.messages import Settings
from cluster.systems.minimq.replication.replica_state import BrokerSettings

BROKERS: Final = 3
SECONDS_MAX: Final = 3600.0
SEGMENT_LEAST: Final = 1024
SEGMENT_MOST: Final = 1 << 30
_MS_PER_S: Final = 1000


class Setting(NamedTuple):
    """One setting. ``wrong``: a value → what would be right, None if it is."""

    default: str
    help: str
    wrong: Callable[[str], str | None]


def _choice(*choices: str) -> Callable[[str], str | None]:
    return lambda value: None if value in choices else " or ".join(choices)


def _seconds(least_s: float) -> Callable[[str], str | None]:
    def wrong(value: str) -> str | None:
        fits = routing.is_number(value) and least_s <= float(value) <= SECONDS_MAX
        return None if fits else f"a number of seconds from {least_s:g} to {SECONDS_MAX:g}"

    return wrong


def _whole(least: int, most: int) -> Callable[[str], str | None]:
    fits = {str(number) for number in range(least, most + 1)}
    return lambda value: None if value in fits else f"a whole number from {least} to {most}"


def _bytes(value: str) -> str | None:
    fits = value.isdecimal() and SEGMENT_LEAST <= int(value) <= SEGMENT_MOST
    return None if fits else f"a whole number from {SEGMENT_LEAST} to {SEGMENT_MOST}"


def _share(value: str) -> str | None:
    fits = routing.is_number(value) and 0 < float(value) <= 1
    return None if fits else "a number above 0 and up to 1"


def _client(_value: str) -> None:
    """``routing.check_client`` says it for every system."""


_BROKER: Final = BrokerSettings()
_RAFT: Final = RaftSettings()

SETTINGS: Final[Mapping[str, Setting]] = {
    "broker.minInSyncReplicas": Setting(
        "2", "replicas in the SyncStateSet, the master counted, below which nothing is appended", _whole(1, BROKERS)
    ),
    "broker.flush": Setting(
        "sync",
        "sync: a replica counts a record once it is on disk; async: once it is in memory",
        _choice("sync", "async"),
    ),
    "broker.replication": Setting(
        "sync",
        "sync: acknowledged once the whole SyncStateSet has it; async: once the master has it",
        _choice("sync", "async"),
    ),
    "broker.requestTimeout": Setting(
        "2.5",
        "seconds after which a broker says that nobody knows; above --op-timeout clients give up before it",
        _seconds(2 * _BROKER.tick_ms / _MS_PER_S),
    ),
    "broker.lagMax": Setting(
        "2",
        "seconds a follower may be behind before it leaves the SyncStateSet",
        _seconds(2 * _BROKER.fetch_park_ms / _MS_PER_S),
    ),
    "broker.segmentBytes": Setting(
        "65536",
        "bytes of a segment of the log on disk, after which the next begins; small, so that runs have many",
        _bytes,
    ),
    "controller.brokerTimeout": Setting(
        "1.5",
        "seconds of a broker's silence after which the controllers take it for dead",
        _seconds(2 * _BROKER.heartbeat_ms / _MS_PER_S),
    ),
    "controller.uncleanElection": Setting(
        "false",
        "true: without a living member of the SyncStateSet any broker may become master",
        _choice("false", "true"),
    ),
    "controller.electionTimeout": Setting(
        "0.5",
        "seconds, up to twice as many, without a leader before a controller stands for election",
        _seconds(2 * _RAFT.heartbeat_ms / _MS_PER_S),
    ),
    "cluster.groups": Setting(
        "1",
        "replica groups of three brokers, each with a master of its own; queue q belongs to group q mod their number",
        _whole(1, GROUPS_MOST),
    ),
    "client.routePollInterval": Setting("1", routing.CLIENT_HELP["client.routePollInterval"], _client),
    "client.routing": Setting("mixed", routing.CLIENT_HELP["client.routing"], _client),
    "client.slaveReads": Setting("on", "on (default): followers are read on purpose; off: never", _client),
    "bug": Setting("", "the one deviation that is switched on (chaos list bugs); empty (default): none", _client),
    "bugShare": Setting("1", "the share of its decisions in which the bug deviates, drawn", _share),
}

HELP: Final[Mapping[str, str]] = {name: setting.help for name, setting in SETTINGS.items()}


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """Full names for all settings, checked, with the defaults filled in.

    Raises:
        UsageError: a name nobody knows, or an impossible value.
    """
    given: dict[str, str] = {}
    for name, value in sorted(settings.items(), key=lambda item: item[0] in SETTINGS):  # a full name wins
        given[_full_name(name)] = value
    resolved = {name: setting.default for name, setting in SETTINGS.items()} | given
    for name, value in resolved.items():
        routing.check_client(name, value)
        wanted = SETTINGS[name].wrong(value)
        if wanted is not None:
            raise UsageError(f"--set {name}={value}: {wanted}")
    if resolved["bug"] and resolved["bug"] not in BUGS:
        raise UsageError(f"--set bug={resolved['bug']}: no such bug{_guess(resolved['bug'], BUGS)}")
    return resolved


def longer_s(settings: Mapping[str, str]) -> float:
    """How much longer than by default it may take until failures are noticed and clients know, in seconds."""
    times = ("broker.lagMax", "controller.brokerTimeout", "controller.electionTimeout", "client.routePollInterval")
    return sum(2 * max(0.0, float(settings[name]) - float(SETTINGS[name].default)) for name in times)


def broker_settings(settings: Mapping[str, str]) -> BrokerSettings:
    """What brokers are told, from resolved settings."""
    return BrokerSettings(
        min_in_sync=int(settings["broker.minInSyncReplicas"]),
        sync_flush=settings["broker.flush"] == "sync",
        sync_replication=settings["broker.replication"] == "sync",
        request_timeout_ms=_ms(settings["broker.requestTimeout"]),
        lag_max_ms=_ms(settings["broker.lagMax"]),
        groups=int(settings["cluster.groups"]),
    )


def controller_settings(settings: Mapping[str, str]) -> ControllerSettings:
    """What controllers are told, from resolved settings."""
    return ControllerSettings(
        raft=RaftSettings(election_ms=_ms(settings["controller.electionTimeout"])),
        dead_after_ms=_ms(settings["controller.brokerTimeout"]),
        unclean_election=settings["controller.uncleanElection"] == "true",
        groups=int(settings["cluster.groups"]),
    )


def in_effect(role: str, told: Settings) -> dict[str, str]:
    """What a node of a role says that it goes by, as settings by full name: the inverse of what nodes are told.

    Raises:
        msgspec.ValidationError: it is a node of another version, with other settings.
    """
    of_bug = {"bug": told.bug, "bugShare": f"{told.bug_share:g}"}
    if role == "controller":
        controller = msgspec.convert(told.values, ControllerSettings)
        return {
            "controller.brokerTimeout": _s(controller.dead_after_ms),
            "controller.uncleanElection": str(controller.unclean_election).lower(),
            "controller.electionTimeout": _s(controller.raft.election_ms),
            "cluster.groups": str(controller.groups),
            **of_bug,
        }
    values = dict(told.values)
    segment_bytes = msgspec.convert(values.pop("segment_bytes", None), int)
    broker = msgspec.convert(values, BrokerSettings)
    return {
        "broker.segmentBytes": str(segment_bytes),
        "broker.minInSyncReplicas": str(broker.min_in_sync),
        "broker.flush": "sync" if broker.sync_flush else "async",
        "broker.replication": "sync" if broker.sync_replication else "async",
        "broker.requestTimeout": _s(broker.request_timeout_ms),
        "broker.lagMax": _s(broker.lag_max_ms),
        "cluster.groups": str(broker.groups),
        **of_bug,
    }


def in_words_of_effect(settings: Mapping[str, str]) -> dict[str, str]:
    """Resolved settings of brokers and controllers in the words of ``in_effect``."""
    bug, share = settings["bug"], float(settings["bugShare"])
    segment = {"segment_bytes": int(settings["broker.segmentBytes"])}
    broker = Settings(values=msgspec.to_builtins(broker_settings(settings)) | segment, bug=bug, bug_share=share)
    controller = Settings(values=msgspec.to_builtins(controller_settings(settings)), bug=bug, bug_share=share)
    return in_effect("broker", broker) | in_effect("controller", controller)


def _s(milliseconds: int) -> str:
    return f"{milliseconds / _MS_PER_S:g}"


def _ms(seconds: str) -> int:
    return round(float(seconds) * _MS_PER_S)


def _full_name(name: str) -> str:
    if name in SETTINGS:
        return name
    full = [known for known in SETTINGS if known.endswith(f".{name}")]
    if len(full) == 1:
        return full[0]
    raise UsageError(f"--set {name}: minimq has no such setting{_guess(name, SETTINGS)}")


def _guess(word: str, known: Mapping[str, object]) -> str:
    names = {text.lower(): text for name in known for text in (name, name.rpartition(".")[2])}
    near = difflib.get_close_matches(word.lower(), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else f"; known: {', '.join(known)}"
