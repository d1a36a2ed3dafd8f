"""DLedger as the harness knows it: the plugin behind ``--system dledger``."""

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
from cluster.systems.dledger import launch as launch_of
from cluster.systems.dledger import programs
from cluster.systems.dledger import settings as settings_of
from cluster.systems.dledger.outcomes import NOT_LEADER
from cluster.systems.dledger.settings import GROUP, ROLE


class DLedger(OfJars):
    """DLedger, 0.4.3 or another version from 0.1 on: three or five nodes that keep one log.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; only ``fetch`` and
    ``built`` are not pure.
    """

    name = "dledger"
    help = "DLedger (0.1 to 0.4): three or five nodes that keep one replicated log"
    refusals = (NOT_LEADER,)
    other_versions = "0.1 and later, by Maven; needs Java 17"
    build_holds = programs.HOLDS
    jars = Jars(programs.VERSION, programs.distribution, programs.version_in)
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "queue"
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """Three nodes, or five."""
        return tuple(NodeSpec(name=name, role=ROLE, programs=("java",)) for name in settings_of.nodes_of(settings))

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one log
        """The one group, which serves every key."""
        return (Subject(name=GROUP, nodes=settings_of.nodes_of(settings), epoch_word="term"),)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.dledger.probe import DLedgerProbe

        return DLedgerProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leader."""
        from cluster.systems.dledger.client import DLedgerClient

        return DLedgerClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """Sends and all reads of a log."""
        if model != MODEL:
            return frozenset()
        return frozenset({F.SEND, F.POLL, F.READ, F.SLAVE_READ, F.DRAIN, F.REPLICA})

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one node."""
        return routing.is_pinned(settings["client.routing"], clients)
