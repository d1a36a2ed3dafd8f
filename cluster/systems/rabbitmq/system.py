"""RabbitMQ as the harness knows it: the plugin behind ``--system rabbitmq``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.queues import total_queue
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.needs import Need
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import debian, routing
from cluster.systems.rabbitmq import launch as launch_of
from cluster.systems.rabbitmq import queues
from cluster.systems.rabbitmq import settings as settings_of
from cluster.systems.rabbitmq.launch import ROLE
from cluster.systems.rabbitmq.programs import PACKAGE
from cluster.systems.rabbitmq.trials import TRIALS
from cluster.trial import Trial


class RabbitMQ:
    """RabbitMQ 3.10 of Debian: three or five nodes, with quorum queues, classic or mirrored ones.

    Implements ``cluster.system.System``; only ``fetch`` is not pure.
    """

    name = "rabbitmq"
    help = "RabbitMQ (3.10): three or five nodes with quorum, classic or mirrored queues"
    version = PACKAGE.version
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "total-queue"
    trials: Sequence[Trial] = TRIALS
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """Three nodes, or five."""
        return tuple(NodeSpec(name=name, role=ROLE) for name in queues.nodes_of(settings))

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """The queues."""
        return queues.subjects(settings, keys)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder with the server and its Erlang, out of Debian's packages."""
        return debian.unpack_package(PACKAGE, say)

    def needs(self) -> Need:
        """Debian's packages, or the tools that fetch them."""
        return debian.needs(PACKAGE)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.rabbitmq.probe import RabbitProbe

        return RabbitProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leaders."""
        from cluster.systems.rabbitmq.client import RabbitClient

        return RabbitClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of queues without offsets."""
        return frozenset(total_queue.F) if model == total_queue.MODEL else frozenset()

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one node."""
        return routing.is_pinned(settings["client.routing"], clients)
