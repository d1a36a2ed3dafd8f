"""minimq as the harness knows it: the plugin behind ``--system minimq``, the default."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.log.words import MODEL, F
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.bug import Bug
from cluster.host import Host, NodeSpec
from cluster.simulation.core import Birth, Links, SimulatedNode, Surroundings, Watch
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems.minimq import artefacts as modules
from cluster.systems.minimq import config, promises
from cluster.systems.minimq import settings as keys
from cluster.systems.minimq.bugs.switches import BUGS
from cluster.systems.minimq.clients import admin as admin_of
from cluster.systems.minimq.trials import TRIALS
from cluster.trial import Trial


class MiniMQ:
    """minimq: three Raft controllers and one replica group of three brokers (or several), embedded; needs Python alone.

    Implements ``cluster.system.System``; every method but ``fetch`` is pure.
    """

    name = "minimq"
    help = "minimq, a small message queue of our own with bugs to switch on: needs nothing but Python"
    refusals = ("rejected: not-master", "rejected: too-few-in-sync")
    version = config.VERSION
    roles: Mapping[str, RoleKind] = config.ROLES
    workload = "queue"
    trials: Sequence[Trial] = TRIALS
    start_order = (("controller", "broker"),)
    bugs: Mapping[str, Bug] = BUGS
    settings_help: Mapping[str, str] = keys.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """See ``settings.resolve``."""
        return keys.resolve(settings)

    def settings_for(self, operations: frozenset[Word]) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """Nothing: minimq does everything it can under all settings."""
        return {}

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """c1 to c3, and b1 to b3 for each group."""
        return config.topology(config.group_count(settings))

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """See ``config.subjects``."""
        return config.subjects(settings, keys)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``promises.of``."""
        return promises.of(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """See ``artefacts.fetch``."""
        return modules.fetch(say)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``config.launch``."""
        return config.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.minimq.clients.probe import MiniMQProbe

        return MiniMQProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the route."""
        from cluster.systems.minimq.clients.client import MiniMQClient

        return MiniMQClient(view, number, clients, seed)

    def admin_actions(self, settings: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002 - under all
        """See ``admin.ACTIONS``."""
        return admin_of.ACTIONS

    def admin(self, view: ClusterView, host: Host) -> admin_of.MiniMQAdmin:
        """Who asks nodes for their settings."""
        return admin_of.MiniMQAdmin(view, host)

    def changeable(self, role: str) -> Sequence[str]:
        """The settings of brokers, or of controllers."""
        return tuple(name for name in keys.SETTINGS if name.startswith(f"{role}."))

    def simulated_node(self, birth: Birth, around: Surroundings) -> SimulatedNode:
        """A core and what carries out its effects."""
        from cluster.systems.minimq.simulation.core_nodes import CoreNode

        return CoreNode(birth, around)

    def invariants(self) -> Watch:
        """See ``invariants``."""
        from cluster.systems.minimq.simulation.core_nodes import CoreNode
        from cluster.systems.minimq.simulation.invariants import Invariants

        kept = Invariants()
        return lambda node: kept.look(node.core) if isinstance(node, CoreNode) else None

    def simulated_client(self, view: ClusterView, number: int, clients: int, seed: int, links: Links) -> Client:
        """As ``client``, over these links."""
        from cluster.systems.minimq.clients.client import MiniMQClient

        return MiniMQClient(view, number, clients, seed, links)

    def simulated_probe(self, view: ClusterView, links: Links) -> Probe:
        """As ``probe``, over these links."""
        from cluster.systems.minimq.clients.probe import MiniMQProbe

        return MiniMQProbe(view, links)

    def end_simulation(self) -> None:
        """A bug that was on is off."""
        from cluster.systems.minimq.bugs import switches

        switches.have_on(None)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:
        """What clients do to a log; slave reads only where slaves are read on purpose."""
        if model != MODEL:
            return frozenset()
        kinds = frozenset({F.SEND, F.POLL, F.READ, F.DRAIN, F.COMMIT, F.COMMITTED_READ, F.REPLICA})
        return kinds | {F.SLAVE_READ} if settings["client.slaveReads"] == "on" else kinds

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:  # noqa: ARG002 - the same under all settings
        """Yes: brokers keep producers' sequence numbers in their log."""
        return True

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one broker."""
        return routing.is_pinned(settings["client.routing"], clients)
