"""The settings of RabbitMQ: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises
from cluster.systems._shared import routing
from cluster.systems.rabbitmq.amqp import HEARTBEAT_S
from cluster.systems.rabbitmq.queues import QUORUM, SIZES, TYPES

PARTITIONS: Final = "cluster_partition_handling"
IN_EFFECT: Final = (PARTITIONS, "heartbeat", "channel_max")
"""Keys whose values the server keeps as they are written, so that they can be compared."""
TICK: Final = "cluster.netTicktime"

LINES: Final[Mapping[str, str]] = MappingProxyType(
    {
        PARTITIONS: "pause_minority",
        "vm_memory_high_watermark.absolute": "400MB",
        "disk_free_limit.absolute": "50MB",
    }
)
"""Lines of rabbitmq.conf that the harness sets. RabbitMQ itself ignores partitions; its guide says what is set here."""
_OWN: Final = MappingProxyType(
    {
        "cluster.nodes": "3",
        "cluster.queueType": QUORUM,
        TICK: "5",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
    }
)
_WORDS: Final = MappingProxyType(
    {
        "cluster.nodes": SIZES,
        "cluster.queueType": TYPES,
        TICK: tuple(map(str, range(4, 121))),
        PARTITIONS: ("ignore", "pause_minority", "autoheal"),
    }
)
_WIRED: Final = ("listeners.", "loopback_users", "log.", "cluster_formation.", "default_user", "default_pass")
_KEY: Final = re.compile(r"[a-z0-9_]+(\.[A-Za-z0-9_-]+)*")

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.nodes": "how many nodes form the cluster: 3 (default) or 5",
        "cluster.queueType": "quorum (default): Raft groups of all nodes; classic: each queue on one node; mirrored: "
        "classic queues with mirrors on all nodes",
        TICK: "seconds until a silent node is taken for dead, 4 to 120 (default 5; RabbitMQ's own is 60)",
        **routing.CLIENT_HELP,
        "KEY": "any line of rabbitmq.conf: cluster_partition_handling (default pause_minority; ignore, autoheal), "
        "vm_memory_high_watermark.absolute (default 400MB), disk_free_limit.absolute (default 50MB)",
    }
)

ELECTED_WITHIN_S: Final = 15.0
"""From when a node is taken for dead until its queues have other leaders."""
RECOVERS_WITHIN_S: Final = 90.0
"""From a heal until every node serves and every queue takes messages: a node that restarts loads its tables first."""
NOTICED_WITHIN_S: Final = 3.0 * HEARTBEAT_S
"""A client that is gone is noticed after two heartbeats at the latest; then what it held goes back to its queue."""
_UNANSWERED: Final = (
    "RabbitMQ answers no acknowledgement: it may be lost with a node or a leader, and the message is then given again"
)


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        _check(name, value)
        routing.check_client(name, value)
    return {**_OWN, **LINES, **settings}


def _check(name: str, value: str) -> None:
    """Check one setting by itself. Raises UsageError."""
    own = name.startswith(("cluster.", "client."))
    if (own and name not in _OWN) or not (own or _KEY.fullmatch(name)):
        near = difflib.get_close_matches(name, [*_OWN, *LINES], n=1)
        guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
        raise UsageError(f"--set {name}: rabbitmq has no such setting here; {guess}")
    words = _WORDS.get(name)
    if words is not None and value not in words:
        said = f"a whole number from {words[0]} to {words[-1]}" if name == TICK else f"one of {', '.join(words)}"
        raise UsageError(f"--set {name}={value}: {said}")
    if not own and name.startswith(_WIRED):
        raise UsageError(f"--set {name}: the harness sets it by itself")
    if not value.isprintable() or value != value.strip() or not value:
        raise UsageError(f"--set {name}: a value of one line, without spaces around it")


def lines(settings: Mapping[str, str]) -> dict[str, str]:
    """The lines of rabbitmq.conf that were set, by us or by the user."""
    return {name: value for name, value in settings.items() if name not in _OWN}


def promises(settings: Mapping[str, str]) -> Promises:
    """What holds under resolved settings. No loss is by design: a setting that gives safety up adds no excuse."""
    silence_s = 1.25 * float(settings[TICK])
    within_s = RECOVERS_WITHIN_S + silence_s
    return Promises(
        allowed={"redelivered-after-ack": _UNANSWERED},
        redelivered_within_s=NOTICED_WITHIN_S,
        recovers_within_s=within_s,
        fails_over_after_s=ELECTED_WITHIN_S + silence_s if settings["cluster.queueType"] == QUORUM else 0.0,
    )
