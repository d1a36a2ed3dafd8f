"""etcd as the harness knows it: the plugin behind ``--system etcd``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from chaos.core.client import Client
from chaos.core.op import F
from chaos.core.runinfo import NodeInfo, Promises, Subject
from cluster.bug import Bug
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems.etcd import artefacts as program
from cluster.systems.etcd import config


class Etcd:
    """etcd 3.4: three members, one Raft group. Implements ``cluster.system.System``; only ``fetch`` is not pure."""

    name = "etcd"
    version = program.VERSION
    roles: Mapping[str, RoleKind] = MappingProxyType({config.ROLE: "replica"})
    start_order = ((config.ROLE,),)
    bugs: Mapping[str, Bug] = MappingProxyType({})
    settings_help: Mapping[str, str] = config.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """See ``config.resolve``."""
        return config.resolve(settings)

    def settings_for(self, operations: frozenset[F]) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """Nothing: every operation works under all settings."""
        return {}

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - always the same
        """Three members."""
        return config.topology()

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one group
        """The one Raft group."""
        return config.subjects()

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``config.promises``."""
        return config.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """See ``artefacts.fetch``."""
        return program.fetch(say)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``config.launch``."""
        return config.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.etcd.probe import EtcdProbe

        return EtcdProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the route."""
        from cluster.systems.etcd.client import EtcdClient

        return EtcdClient(view, number, clients, seed)

    def operations(self, settings: Mapping[str, str]) -> frozenset[F]:  # noqa: ARG002
        """All words of registers, sets and counters."""
        return frozenset()

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:  # noqa: ARG002 - the same under all settings
        """No: etcd keeps no log."""
        return False

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one member."""
        return routing.is_pinned(settings["client.routing"], clients)
