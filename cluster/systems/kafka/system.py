"""Kafka as the harness knows it: the plugin behind ``--system kafka``."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.log.words import MODEL, F
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems._shared.of_jars import Jars, OfJars
from cluster.systems.kafka import launch as launch_of
from cluster.systems.kafka import programs
from cluster.systems.kafka import settings as settings_of
from cluster.systems.kafka.settings import BROKER, CONTROLLER
from cluster.systems.kafka.trials import TRIALS
from cluster.trial import Trial


class Kafka(OfJars):
    """Kafka without ZooKeeper, 4.3 or another version: three brokers, and three controllers or none of their own.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; only ``fetch`` and
    ``built`` are not pure.
    """

    name = "kafka"
    help = "Kafka without ZooKeeper (KRaft): three brokers, with controllers of their own or combined"
    refusals = ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS")
    other_versions = "3.3.0 and later, by Maven; needs Java"
    build_holds = programs.HOLDS
    jars = Jars(programs.VERSION, programs.distribution, programs.version_in)
    roles: Mapping[str, RoleKind] = MappingProxyType({BROKER: "replica", CONTROLLER: "controller"})
    workload = "queue"
    trials: Sequence[Trial] = TRIALS
    start_order = ((BROKER, CONTROLLER),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """See ``launch.topology``."""
        return launch_of.topology(settings)

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """See ``launch.subjects``."""
        return launch_of.subjects(settings, keys)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.kafka.probe import KafkaProbe

        return KafkaProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the route."""
        from cluster.systems.kafka.client import KafkaClient

        return KafkaClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:
        """Sends and all reads of a log, transactions where readers are shown committed ones alone.

        No strong reads where readers need not be shown what was acknowledged: by the leader alone, or behind a
        transaction that is open.
        """
        if model != MODEL:
            return frozenset()
        kinds = frozenset({F.SEND, F.POLL, F.SLAVE_READ, F.DRAIN, F.REPLICA, F.COMMIT, F.COMMITTED_READ})
        if settings.get("client.acks", "all") != "all":
            return kinds
        committed = settings.get("client.isolation") == settings_of.COMMITTED
        return kinds | {F.TRANSACT if committed else F.READ}

    def settings_for(self, operations: frozenset[Word]) -> Mapping[str, str]:
        """Transactions need readers that are shown committed ones alone."""
        return {"client.isolation": settings_of.COMMITTED} if F.TRANSACT in operations else {}

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:
        """Under a producer's number, where every replica in sync has the message."""
        return settings["client.acks"] == "all"

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one broker of each partition."""
        return routing.is_pinned(settings["client.routing"], clients)
