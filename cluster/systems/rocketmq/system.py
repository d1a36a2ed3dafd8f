"""RocketMQ as the harness knows it: the plugin behind ``--system rocketmq``."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.log.words import MODEL, POPS, F
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.bug import Bug
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems._shared.of_jars import Jars, OfJars
from cluster.systems.rocketmq import artefacts as artefacts_of
from cluster.systems.rocketmq import launch as nodes
from cluster.systems.rocketmq import promises
from cluster.systems.rocketmq import settings as keys
from cluster.systems.rocketmq import topology as shape
from cluster.systems.rocketmq.artefacts import VERSION


class RocketMQ(OfJars):
    """Apache RocketMQ 5: name servers, controllers where the mode has them, one replica group of brokers.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; every method but
    ``fetch`` and ``built`` is pure.
    """

    name = "rocketmq"
    help = "Apache RocketMQ (5): name servers, controllers in some modes, and a replica group of brokers"
    refusals = (
        "SYSTEM_BUSY: not master",
        "SYSTEM_ERROR: in-sync replicas not enough",
        "SERVICE_NOT_AVAILABLE",
    )
    other_versions = "5.0.0 and later, by Maven; needs Java"
    build_holds = artefacts_of.HOLDS
    jars = Jars(VERSION, artefacts_of.distribution, artefacts_of.version_in)
    roles: Mapping[str, RoleKind] = nodes.ROLES
    # Seven JVMs that start at once starve each other: a broker elected meanwhile misses its heartbeats, is
    # replaced in an epoch that is as empty as its own, and 5.5.0 then never lets it back in (docs/results/findings.md).
    workload = "queue"
    start_order = (("namesrv", "controller"), ("broker",))
    bugs: Mapping[str, Bug] = MappingProxyType({})
    settings_help: Mapping[str, str] = keys.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """See ``settings.resolve``."""
        return keys.resolve(settings)

    def settings_for(self, operations: frozenset[Word]) -> Mapping[str, str]:
        """See ``settings.needed_for``."""
        return keys.needed_for(operations)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """See ``launch.topology``."""
        return nodes.topology(shape.of(settings))

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one group
        """See ``launch.subjects``."""
        return nodes.subjects(settings)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``promises.of``."""
        return promises.of(settings)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return nodes.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.rocketmq.probe import RocketMQProbe

        return RocketMQProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the route."""
        from cluster.systems.rocketmq.client import RocketMQClient

        return RocketMQClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:
        """Slave reads only where slaves are read on purpose, delayed messages and pops where brokers can time them."""
        if model != MODEL:
            return frozenset()
        kinds = frozenset({F.SEND, F.POLL, F.READ, F.DRAIN, F.REPLICA, F.COMMIT, F.COMMITTED_READ, F.TRANSACT})
        if settings.get("broker.timerWheelEnable", "false") == "true":
            kinds |= {F.SCHEDULE, *POPS}
        return kinds | {F.SLAVE_READ} if keys.slaves_are_read(settings) else kinds

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:  # noqa: ARG002 - the same under all settings
        """No: brokers do not know producers' sequence numbers."""
        return False

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one broker."""
        return routing.is_pinned(settings["client.routing"], clients)
