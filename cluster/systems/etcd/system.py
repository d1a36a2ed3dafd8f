"""etcd as the harness knows it: the plugin behind ``--system etcd``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.core.runinfo import NodeInfo, Promises, Subject
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from cluster.host import NodeSpec
from cluster.needs import Need
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import debian, routing
from cluster.systems.etcd import settings as settings_of
from cluster.systems.etcd.gateway import CLIENT_PORT
from cluster.systems.etcd.settings import FLAGS, GROUP

_WORDS: Final[Mapping[str, type[Word]]] = {
    register.MODEL: register.F,
    sets.MODEL: sets.F,
    counter.MODEL: counter.F,
}
PACKAGE: Final = debian.Package("etcd", "etcd-server", "3.4.23", "8 MB")
ROLE: Final = "member"
MEMBERS: Final = ("n1", "n2", "n3")
PEER_PORT: Final = 2380


class Etcd:
    """etcd 3.4: three members, one Raft group. Implements ``cluster.system.System``; only ``fetch`` is not pure."""

    name = "etcd"
    version = PACKAGE.version
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "register"
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - always the same
        """Three members."""
        return tuple(NodeSpec(name=name, role=ROLE) for name in MEMBERS)

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one group
        """The one Raft group, which serves every key."""
        return (Subject(name=GROUP, nodes=MEMBERS),)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that holds ``etcd``, out of Debian's package."""
        return debian.unpacked(PACKAGE, say)

    def needs(self) -> Need:
        """Debian's package, or the tools that fetch it."""
        return debian.needs(PACKAGE)

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
