"""NATS as the harness knows it: the plugin behind ``--system nats``."""

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
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import debian, routing
from cluster.systems.nats import buckets, programs
from cluster.systems.nats import launch as launch_of
from cluster.systems.nats import settings as settings_of
from cluster.systems.nats.launch import ROLE
from cluster.systems.nats.outcomes import NOBODY
from cluster.systems.nats.programs import PACKAGE

_WORDS: Final[Mapping[str, type[Word]]] = MappingProxyType(
    {register.MODEL: register.F, sets.MODEL: sets.F, counter.MODEL: counter.F}
)


class Nats:
    """NATS with JetStream: three servers, whose buckets are Raft groups. Implements ``cluster.system.System``.

    Only ``fetch`` is not pure.

    Args:
        version: of the program.
    """

    name = "nats"
    refusals = (NOBODY,)
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "register"
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def __init__(self, version: str = PACKAGE.version) -> None:
        self.version = version
        self._release = programs.release_of(version)

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings, self.version, self._release)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - always the same
        """Three servers."""
        return tuple(NodeSpec(name=name, role=ROLE) for name in buckets.SERVERS)

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """The buckets."""
        return buckets.subjects(settings, keys)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that holds ``nats-server``, out of Debian's package."""
        return debian.unpacked(PACKAGE, say)

    def needs(self) -> Need:
        """Debian's package, or the tools that fetch it."""
        return debian.needs(PACKAGE)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.nats.probe import NatsProbe

        return NatsProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leaders."""
        from cluster.systems.nats.client import NatsClient

        return NatsClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of registers, sets and counters."""
        return frozenset(_WORDS.get(model, ()))

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one server."""
        return routing.is_pinned(settings["client.routing"], clients)
