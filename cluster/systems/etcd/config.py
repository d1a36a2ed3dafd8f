"""What a member of etcd is told, and what is promised of it: pure functions of the settings."""

import difflib
from collections.abc import Mapping
from typing import Final

from chaos.core.errors import UsageError
from chaos.core.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems._shared import routing

ROLE: Final = "member"
GROUP: Final = "etcd"
"""What the Raft group is called in observations."""
CLIENT_PORT: Final = 2379
PEER_PORT: Final = 2380
MEMBERS: Final = ("n1", "n2", "n3")

FLAGS: Final[Mapping[str, str]] = {"heartbeat-interval": "100", "election-timeout": "1000", "snapshot-count": "100000"}
"""The flags of etcd that may be set, with its own defaults; times in ms."""

DEFAULTS: Final[Mapping[str, str]] = {
    "client.routing": "mixed",
    "client.routePollInterval": "1",
    "client.serializable": "false",
    **FLAGS,
}

HELP: Final[Mapping[str, str]] = {
    **routing.CLIENT_HELP,
    "client.serializable": "true: a member answers reads from its own copy, which may be old (default false)",
    "heartbeat-interval": "ms between two heartbeats of the leader (default 100)",
    "election-timeout": "ms without a heartbeat after which a member stands for election (default 1000)",
    "snapshot-count": "entries of the log after which a snapshot is taken (default 100000)",
}

_BEATS_LEAST: Final = 5
_ELECTION_MOST_MS: Final = 50_000

RECOVERS_WITHIN_S: Final = 30.0
REJOINS_BEHIND_S: Final = 30.0
ELECTIONS: Final = 4
"""A member waits for one to two election timeouts; votes may be split once, and machines are busy."""


def resolve(settings: Mapping[str, str]) -> dict[str, str]:
    """All settings, checked, with the defaults filled in.

    Raises:
        UsageError: unknown or impossible setting, with a guess at what was meant.
    """
    for name, value in settings.items():
        if name not in DEFAULTS:
            near = difflib.get_close_matches(name, DEFAULTS, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(DEFAULTS)}"
            raise UsageError(f"--set {name}: etcd has no such setting here; {guess}")
        routing.check_client(name, value)
        if name == "client.serializable" and value not in ("true", "false"):
            raise UsageError(f"--set {name}={value}: true or false")
        if name in FLAGS and not (value.isdecimal() and int(value) > 0):
            raise UsageError(f"--set {name}={value}: a whole number above 0")
    resolved = {**DEFAULTS, **settings}
    election, least = resolved["election-timeout"], _BEATS_LEAST * int(resolved["heartbeat-interval"])
    if not least <= int(election) <= _ELECTION_MOST_MS:
        raise UsageError(
            f"--set election-timeout={election}: from {_BEATS_LEAST} times heartbeat-interval, {least}, "
            f"to {_ELECTION_MOST_MS}"
        )
    return resolved


def topology() -> tuple[NodeSpec, ...]:
    """Three members."""
    return tuple(NodeSpec(name=name, role=ROLE) for name in MEMBERS)


def subjects(nodes: tuple[str, ...] = MEMBERS) -> tuple[Subject, ...]:
    """The one Raft group, which serves every key."""
    return (Subject(name=GROUP, nodes=nodes),)


def promises(settings: Mapping[str, str]) -> Promises:
    """Everything that a check asks for; how soon depends on the election timeout."""
    elected_s = ELECTIONS * int(settings["election-timeout"]) / 1000
    return Promises(
        recovers_within_s=RECOVERS_WITHIN_S + elected_s,
        rejoins_within_s=RECOVERS_WITHIN_S + elected_s,
        fails_over_after_s=elected_s,
    )


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How a member is started in ``home``; one that has data goes on with it, whatever else it is told."""
    own, peer = f"http://{node.address}:{CLIENT_PORT}", f"http://{node.address}:{PEER_PORT}"
    flags = {
        "name": node.name,
        "data-dir": f"{home}/data",
        "listen-client-urls": own,
        "advertise-client-urls": own,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": ",".join(f"{each.name}=http://{each.address}:{PEER_PORT}" for each in view.nodes),
        "initial-cluster-token": view.mark,
        "logger": "zap",
        **{name: view.settings[name] for name in FLAGS},
    }
    return Launch(
        argv=(f"{artefacts}/etcd", *(f"--{name}={value}" for name, value in flags.items())),
        env={"GOMAXPROCS": "1", "HOME": home},
        files={},
        ready_pattern="serving peer traffic",  # clients are served once there is a leader, which may need others
        logs=(STDOUT,),
        data=("data",),
    )
