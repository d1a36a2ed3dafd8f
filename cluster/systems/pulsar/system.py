"""Pulsar as the harness knows it: the plugin behind ``--system pulsar``."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.log.words import MODEL, F
from chaos.models.queues import total_queue
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems._shared.of_jars import Jars, OfJars
from cluster.systems.pulsar import launch as launch_of
from cluster.systems.pulsar import programs
from cluster.systems.pulsar import settings as settings_of
from cluster.systems.pulsar.outcomes import NOT_SERVED
from cluster.systems.pulsar.settings import BOOKIE, BROKER, METADATA
from cluster.systems.pulsar.trials import TRIALS
from cluster.trial import Trial


class Pulsar(OfJars):
    """Pulsar with BookKeeper, 4.0 or another version: three brokers, three bookies or more, three servers of metadata.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; only ``fetch`` and
    ``built`` are not pure.
    """

    name = "pulsar"
    help = "Pulsar with BookKeeper: three brokers, three bookies or more, three metadata servers"
    refusals = (f"no producer: {NOT_SERVED}", NOT_SERVED)
    other_versions = "3.0.0 and later, by Maven; needs Java 17"
    build_holds = programs.HOLDS
    jars = Jars(programs.VERSION, programs.distribution, programs.version_in)
    roles: Mapping[str, RoleKind] = MappingProxyType({BROKER: "replica", BOOKIE: "replica", METADATA: "controller"})
    workload = "queue"
    trials: Sequence[Trial] = TRIALS
    start_order = ((METADATA,), (BOOKIE,), (BROKER,))
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
        from cluster.systems.pulsar.probe import PulsarProbe

        return PulsarProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the owners."""
        from cluster.systems.pulsar.client import PulsarClient

        return PulsarClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """Sends, polls and strong reads of a log; all words of queues without offsets.

        No broker but the owner gives messages, and no bookie by a topic. A reader is given delayed messages at once.
        """
        words: Mapping[str, frozenset[Word]] = {
            MODEL: frozenset({F.SEND, F.POLL, F.READ, F.DRAIN}),
            total_queue.MODEL: frozenset(total_queue.F),
        }
        return words.get(model, frozenset())

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:
        """Where brokers remove duplicates."""
        return settings[settings_of.DEDUPLICATION] == "on"

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one broker."""
        return routing.is_pinned(settings["client.routing"], clients)
