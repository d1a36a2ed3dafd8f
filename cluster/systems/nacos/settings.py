"""The settings of Nacos: which there are, what they may be, and what is promised under them. All of it is pure."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises, Subject
from cluster.systems._shared import routing

GROUP: Final = "nacos"
"""What the Raft group of the configuration is called in observations."""
NAMING: Final = "naming"
"""Likewise that of persistent instances."""
ROLE: Final = "server"
ELECTION: Final = "nacos.core.protocol.raft.data.election_timeout_ms"
EXPIRES: Final = "nacos.naming.client.expired.time"
LOADS_AGAIN: Final = "nacos.core.protocol.distro.data.load.retryDelayMs"
READS: Final = "client.reads"
CONFIRMED: Final = "confirmed"
LOCAL: Final = "local"
LOOK_AFTER: Final = "client.lookAfter"
NAMING_API: Final = "client.naming"
V1: Final = "v1"
V3: Final = "v3"
NAMESPACE: Final = "client.namespace"
PUBLIC: Final = "public"
OWN: Final = "chaos"
"""A namespace that only runs use."""
_OWN: Final = MappingProxyType(
    {
        "cluster.nodes": "3",
        ELECTION: "5000",
        EXPIRES: "20000",
        LOADS_AGAIN: "1000",
        READS: CONFIRMED,
        LOOK_AFTER: "2000",
        NAMING_API: V1,
        NAMESPACE: OWN,
        "client.routing": "mixed",
        "client.routePollInterval": "1",
    }
)
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"cluster.nodes": ("3", "5"), READS: (CONFIRMED, LOCAL), NAMING_API: (V1, V3), NAMESPACE: (OWN, PUBLIC)}
)
_MS: Final = MappingProxyType(
    {
        ELECTION: range(5000, 60_001),
        EXPIRES: range(10_000, 600_001),
        LOADS_AGAIN: range(100, 60_001),
        LOOK_AFTER: range(60_001),
    }
)
RECOVERS_WITHIN_S: Final = 120.0
"""From a heal until every server serves, beside the elections: on a busy machine a start took 67 s."""
ROUNDS: Final = 3
"""Elections may be split: so many election timeouts."""

HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster.nodes": "servers: 3 (default) or 5",
        **routing.CLIENT_HELP,
        READS: "confirmed (default): a server asks the leader of the Raft group before it reads; local: a server "
        "answers from its own copy, as Nacos' clients read, which may be old",
        LOOK_AFTER: "ms that a look at instances waits before it asks, while servers tell each other (default 2000)",
        NAMING_API: "v1 (default): leases go by Nacos 1's HTTP API, whose requests a server forwards to the one that "
        "answers for the instance; v3: by Nacos 3's, whose requests Nacos 3.1 does not forward",
        NAMESPACE: "chaos (default): registers are in a namespace of their own; public: in Nacos' default one, which "
        "Nacos 3 publishes twice",
        ELECTION: "ms without a leader after which a server asks for votes (default 5000; Nacos takes no less)",
        LOADS_AGAIN: "ms after which a server that started asks the others again for all their ephemeral instances "
        "(default 1000; Nacos' own is 30000)",
        EXPIRES: "ms after which a server forgets an ephemeral instance that no other server confirms (default 20000; "
        "Nacos' own is 180000)",
    }
)


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in. Raises UsageError."""
    for name, value in settings.items():
        if name not in HELP:
            near = difflib.get_close_matches(name, HELP, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(HELP)}"
            raise UsageError(f"--set {name}: nacos has no such setting here; {guess}")
        routing.check_client(name, value)
        words, numbers = _CHOICES.get(name), _MS.get(name)
        if words is not None and value not in words:
            raise UsageError(f"--set {name}={value}: one of {', '.join(words)}")
        if numbers is not None and not (value.isdecimal() and int(value) in numbers):
            raise UsageError(f"--set {name}={value}: a whole number from {numbers[0]} to {numbers[-1]}")
    return {**_OWN, **settings}


def nodes_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the servers."""
    return tuple(f"n{number}" for number in range(1, int(settings["cluster.nodes"]) + 1))


def subjects(nodes: tuple[str, ...]) -> tuple[Subject, ...]:
    """The Raft group of the configuration, which faults on leaders mean, and that of persistent instances."""
    return (
        Subject(name=GROUP, nodes=nodes, epoch_word="term"),
        Subject(name=NAMING, kind="other", nodes=nodes, keys=(), epoch_word="term"),
    )


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that is checked.

    That ephemeral instances may be lost where servers do not reach each other is told, and not excused.
    """
    within_s = RECOVERS_WITHIN_S + ROUNDS * int(settings[ELECTION]) / 1000
    return Promises(recovers_within_s=within_s, rejoins_within_s=within_s)
