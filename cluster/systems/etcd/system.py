"""etcd as the harness knows it: the plugin behind ``--system etcd``."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.errors import UsageError
from chaos.core.op import Word
from chaos.core.runinfo import NodeInfo, Promises, Subject
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems.etcd import artefacts as program
from cluster.systems.etcd.gateway import CLIENT_PORT

_WORDS: Final[Mapping[str, type[Word]]] = {
    register.MODEL: register.F,
    sets.MODEL: sets.F,
    counter.MODEL: counter.F,
}
ROLE: Final = "member"
GROUP: Final = "etcd"
"""What the Raft group is called in observations."""
MEMBERS: Final = ("n1", "n2", "n3")
PEER_PORT: Final = 2380

FLAGS: Final[Mapping[str, str]] = {
    "heartbeat-interval": "100",
    "election-timeout": "1000",
    "pre-vote": "false",
    "snapshot-count": "100000",
}
"""The flags of etcd that may be set, with the defaults of 3.4; times in ms."""

_OWN: Final = {"client.routing": "mixed", "client.routePollInterval": "1", "client.serializable": "false"}
_SWITCHES: Final = ("client.serializable", "pre-vote")
_BEATS_LEAST: Final = 5
_ELECTION_MOST_MS: Final = 50_000

RECOVERS_WITHIN_S: Final = 15.0
"""Four times the longest time from a heal until every key had a write acknowledged, 3.5 s, rounded up."""
ELECTION_TIMEOUTS: Final[Mapping[str, int]] = {"true": 4, "false": 12}
"""By ``pre-vote``, so many of them until there is a leader again.

A member waits for one to two. Without pre-vote, one that lacks entries may stand first again and again, is refused, and
makes the others wait anew: of two members, each round elects one in about half of all cases (7 rounds were seen).
"""


class Etcd:
    """etcd 3.4: three members, one Raft group. Implements ``cluster.system.System``; only ``fetch`` is not pure."""

    name = "etcd"
    version = program.VERSION
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = MappingProxyType(
        {
            **routing.CLIENT_HELP,
            "client.serializable": "true: a member answers reads from its own copy, which may be old (default false)",
            "heartbeat-interval": "ms between two heartbeats of the leader (default 100)",
            "election-timeout": "ms without a heartbeat after which a member stands for election (default 1000)",
            "pre-vote": "true: a member asks whether it could win before it stands for election (default false)",
            "snapshot-count": "entries of the log after which a snapshot is taken (default 100000)",
        }
    )

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        resolved = {**_OWN, **FLAGS, **settings}
        for name, value in settings.items():
            if name not in self.settings_help:
                near = difflib.get_close_matches(name, self.settings_help, n=1)
                guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(self.settings_help)}"
                raise UsageError(f"--set {name}: etcd has no such setting here; {guess}")
            routing.check_client(name, value)
            if name in _SWITCHES and value not in ("true", "false"):
                raise UsageError(f"--set {name}={value}: true or false")
            if name in FLAGS and name not in _SWITCHES and not (value.isdecimal() and int(value) > 0):
                raise UsageError(f"--set {name}={value}: a whole number above 0")
        election, least = resolved["election-timeout"], _BEATS_LEAST * int(resolved["heartbeat-interval"])
        if not least <= int(election) <= _ELECTION_MOST_MS:
            right = f"from {least}, {_BEATS_LEAST} times heartbeat-interval, to {_ELECTION_MOST_MS}"
            raise UsageError(f"--set election-timeout={election}: {right}")
        return resolved

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - always the same
        """Three members."""
        return tuple(NodeSpec(name=name, role=ROLE) for name in MEMBERS)

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one group
        """The one Raft group, which serves every key."""
        return (Subject(name=GROUP, nodes=MEMBERS),)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """Everything that is checked: nothing is by design. How soon it holds depends on the election timeout."""
        elected_s = ELECTION_TIMEOUTS[settings["pre-vote"]] * int(settings["election-timeout"]) / 1000
        within_s = RECOVERS_WITHIN_S + elected_s
        return Promises(recovers_within_s=within_s, rejoins_within_s=within_s, fails_over_after_s=elected_s)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """See ``artefacts.fetch``."""
        return program.fetch(say)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """A member that has data goes on with it, whatever else it is told of the cluster."""
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

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.etcd.probe import EtcdProbe

        return EtcdProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leader."""
        from cluster.systems.etcd.client import EtcdClient

        return EtcdClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of registers, sets and counters."""
        return frozenset(_WORDS.get(model, ()))

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one member."""
        return routing.is_pinned(settings["client.routing"], clients)
