"""NATS as the harness knows it: the plugin behind ``--system nats``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids, watch
from chaos.models.log.words import MODEL, F
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.queues import total_queue
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.needs import Need
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems._shared import debian, gomodules, routing
from cluster.systems.nats import buckets, log_lines, programs, spaces, streams
from cluster.systems.nats import launch as launch_of
from cluster.systems.nats import settings as settings_of
from cluster.systems.nats.launch import ROLE
from cluster.systems.nats.outcomes import NOBODY
from cluster.systems.nats.programs import PACKAGE
from cluster.systems.nats.trials import TRIALS
from cluster.trial import Trial
from cluster.versions import release_of

_WORDS: Final[Mapping[str, Mapping[str, Iterable[Word]]]] = MappingProxyType(
    {
        streams.KEY_VALUE: {
            register.MODEL: register.F,
            sets.MODEL: sets.F,
            counter.MODEL: counter.F,
            unique_ids.MODEL: unique_ids.F,
            kv.MODEL: spaces.WORDS,
        },
        streams.EXPIRING: {lock.MODEL: lock.F, lease.MODEL: lease.F, semaphore.MODEL: semaphore.F},
        streams.HISTORY: {watch.MODEL: (watch.F.PUT, watch.F.SUBSCRIBE)},
        streams.WORK: {total_queue.MODEL: total_queue.F},
        streams.LOG: {},
    }
)
"""By kind of stream the models that clients know, and the words; of a log see ``operations``."""
_AGES: Final[Mapping[type[Word], str]] = MappingProxyType({lock.F: "2s", lease.F: "4s", semaphore.F: "4s"})
"""How old keys become where something is held by them for as long: as old as workloads ask for."""


class Nats:
    """NATS with JetStream, 2.9 of Debian or any later version: three servers, whose streams are Raft groups.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; only ``fetch`` and
    ``built`` are not pure.

    Args:
        version: of the program.
        build: the folder of somebody's own build of it.
    """

    name = "nats"
    help = "NATS with JetStream (2.9 or later): three servers whose streams are Raft groups"
    other_versions = "2.9 and later, built of Go modules in about a minute; needs Go 1.21 or later"
    build_holds = programs.HOLDS
    refusals = (NOBODY,)
    roles: Mapping[str, RoleKind] = MappingProxyType({ROLE: "replica"})
    workload = "register"
    trials: Sequence[Trial] = TRIALS
    start_order = ((ROLE,),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def __init__(self, version: str = PACKAGE.version, build: Path | None = None) -> None:
        self.version = version
        self._build = build
        self._release = release_of(version, programs.EXAMPLE)

    def at(self, version: str) -> "Nats":
        """Debian's version, or another from 2.9 on. Raises UsageError for any other."""
        programs.check_had(version)
        return Nats(version)

    def built(self, folder: Path) -> "Nats":
        """The build in a folder, which says its version itself. Raises UsageError."""
        return Nats(programs.version_in(folder), folder)

    def dated(self, line: str) -> str:
        """A line of a log with its date first."""
        return log_lines.dated(line)

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings, self.version, self._release)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - always the same
        """Three servers."""
        return tuple(NodeSpec(name=name, role=ROLE) for name in buckets.SERVERS)

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """The buckets, or the streams of the queues."""
        return streams.subjects(settings, keys)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that holds ``nats-server``: somebody's own, or out of Debian's package, or built of Go modules."""
        if self._build is not None:
            return self._build
        if self.version != PACKAGE.version:
            return gomodules.build_program(programs.of_modules(self.version), say)
        return debian.unpack_package(PACKAGE, say)

    def needs(self) -> Need:
        """Debian's package, or the tools that fetch it; of another version what builds it."""
        if self.version != PACKAGE.version:
            return gomodules.needs(programs.of_modules(self.version))
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
        from cluster.systems.nats.log import LogClient
        from cluster.systems.nats.queue import QueueClient

        if streams.are_work_queues(view.settings):
            return QueueClient(view, number, clients, seed)
        if streams.are_logs(view.settings):
            return LogClient(view, number, clients, seed)
        return NatsClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:
        """The words of the models that the kind of stream serves.

        A log that one server keeps has no replica to be read.
        """
        kind = settings.get(streams.KIND, streams.KEY_VALUE)
        if kind != streams.LOG or model != MODEL:
            return frozenset(_WORDS[kind].get(model, ()))
        of_replicas = {F.SLAVE_READ} if settings.get("cluster.replicas") != "1" else ()
        return frozenset({F.SEND, F.POLL, F.READ, F.DRAIN, *of_replicas})

    def settings_for(self, operations: frozenset[Word]) -> Mapping[str, str]:
        """Queues are logs or work queues, what is held for a time is an expiring key, and watches need every revision.

        Words of different models may be equal numbers.
        """
        models = {type(word) for word in operations}
        ages = [age for words, age in _AGES.items() if words in models]
        if ages:
            return {streams.KIND: streams.EXPIRING, buckets.MAX_AGE: ages[0]}
        kinds = {F: streams.LOG, total_queue.F: streams.WORK, watch.F: streams.HISTORY}
        kind = next((kind for words, kind in kinds.items() if words in models), "")
        return {streams.KIND: kind} if kind else {}

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:  # noqa: ARG002 - under all
        """By the message's id, within two minutes."""
        return True

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one server."""
        return routing.is_pinned(settings["client.routing"], clients)
