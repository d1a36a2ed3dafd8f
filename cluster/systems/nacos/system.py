"""Nacos as the harness knows it: the plugin behind ``--system nacos``."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.coordination import lease
from chaos.models.objects import register
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import routing
from cluster.systems._shared.of_jars import Jars, OfJars
from cluster.systems.nacos import launch as launch_of
from cluster.systems.nacos import programs
from cluster.systems.nacos import settings as settings_of
from cluster.systems.nacos.settings import ROLE
from cluster.systems.nacos.trials import TRIALS
from cluster.trial import Trial

_WORDS: Final[Mapping[str, type[Word]]] = MappingProxyType({register.MODEL: register.F, lease.MODEL: lease.F})


class Nacos(OfJars):
    """Nacos as pig-mesh republished it, or a distribution of yours: three or five servers.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; only ``fetch`` and
    ``built`` are not pure.
    """

    name = "nacos"
    help = "Nacos 3.1, a republished build: three or five servers"
    other_versions = "none by Maven; a distribution of yours by --artifacts"
    build_holds = programs.HOLDS
    jars = Jars(programs.VERSION, programs.distribution, programs.version_in)
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "register"
    trials: Sequence[Trial] = TRIALS
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """Three servers, or five."""
        return tuple(NodeSpec(name=name, role=ROLE, programs=("java",)) for name in settings_of.nodes_of(settings))

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one group
        """See ``settings.subjects``."""
        return settings_of.subjects(settings_of.nodes_of(settings))

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.nacos.probe import NacosProbe

        return NacosProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leader."""
        from cluster.systems.nacos.client import NacosClient

        return NacosClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of registers and leases."""
        return frozenset(_WORDS.get(model, ()))

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one node."""
        return routing.is_pinned(settings["client.routing"], clients)
