"""etcd as the harness knows it: the plugin behind ``--system etcd``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.errors import UsageError
from chaos.core.op import Word
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids, watch
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.transactions import bank
from chaos.models.transactions import words as transactions
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.admin import CHANGE_VERSION
from cluster.host import Host, NodeSpec
from cluster.needs import Need
from cluster.system import ClusterView, Launch, Probe, ReplicaReader, RoleKind
from cluster.systems._shared import debian, gomodules, routing
from cluster.systems.etcd import admin as admin_of
from cluster.systems.etcd import launch as launch_of
from cluster.systems.etcd import programs
from cluster.systems.etcd import settings as settings_of
from cluster.systems.etcd.launch import LEARNER, MEMBER
from cluster.systems.etcd.programs import PACKAGE
from cluster.systems.etcd.settings import GROUP
from cluster.systems.etcd.trials import TRIALS
from cluster.trial import Trial
from cluster.versions import release_of

_WORDS: Final[Mapping[str, Iterable[Word]]] = {
    register.MODEL: register.F,
    sets.MODEL: sets.F,
    counter.MODEL: counter.F,
    transactions.MODEL: transactions.F,
    bank.MODEL: bank.F,
    unique_ids.MODEL: unique_ids.F,
    lock.MODEL: lock.F,
    semaphore.MODEL: semaphore.F,
    lease.MODEL: lease.F,
    watch.MODEL: (watch.F.WRITE, watch.F.SUBSCRIBE),
    kv.MODEL: kv.F,
}
_LETTERS: Final = MappingProxyType({MEMBER: "n", LEARNER: "l"})


class Etcd:
    """etcd, 3.4 of Debian or any later version: one Raft group of three or five members, and a learner.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions``, ``TakesBuilds`` and ``BuildsVariants``; only
    ``fetch`` and ``built`` are not pure.

    Args:
        version: of the program.
        build: the folder of somebody's own build of it.
        gofail: whether the program has failpoints.
    """

    name = "etcd"
    help = "etcd (3.4 or later): one Raft group of three or five members, and a learner if asked for"
    other_versions = "3.5.0 and later, built of Go modules in one to two minutes; needs Go 1.21 or later"
    build_holds = programs.HOLDS
    roles: Mapping[str, RoleKind] = MappingProxyType({MEMBER: "replica", LEARNER: "replica"})
    workload = "register"
    trials: Sequence[Trial] = TRIALS
    start_order = ((MEMBER,), (LEARNER,))
    settings_help: Mapping[str, str] = settings_of.HELP

    def __init__(self, version: str = PACKAGE.version, build: Path | None = None, *, gofail: bool = False) -> None:
        self.version = version
        self._build = build
        self._gofail = gofail
        self._release = release_of(version, programs.EXAMPLE)

    def at(self, version: str) -> "Etcd":
        """Debian's version, or a later one. Raises UsageError for any other."""
        programs.check_had(version)
        return Etcd(version)

    def built(self, folder: Path) -> "Etcd":
        """The build in a folder, which says its version itself. Raises UsageError."""
        return Etcd(programs.version_in(folder), folder)

    def variant(self, settings: Mapping[str, str]) -> "Etcd":
        """With or without failpoints."""
        return Etcd(self.version, self._build, gofail=settings["build.gofail"] == "true")

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults of this version filled in. Raises UsageError."""
        resolved = settings_of.resolve(settings, self._release)
        if resolved["build.gofail"] == "true" and self._build is None and self._release < programs.FIRST_MODULE:
            raise UsageError("--set build.gofail=true: Debian's etcd has no failpoints; add --system-version 3.5.4")
        return resolved

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """The members, and the learner if there is one."""
        numbers = {MEMBER: int(settings["cluster.members"]), LEARNER: int(settings["cluster.learners"])}
        return tuple(
            NodeSpec(name=f"{_LETTERS[role]}{number}", role=role)
            for role, many in numbers.items()
            for number in range(1, many + 1)
        )

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one group
        """The one Raft group, which serves every key."""
        return (Subject(name=GROUP, nodes=tuple(spec.name for spec in self.topology(settings)), epoch_word="term"),)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that holds ``etcd``: somebody's own, or out of Debian's package, or built of Go modules."""
        if self._build is not None:
            return self._build
        if self._release >= programs.FIRST_MODULE:
            return gomodules.build_program(programs.of_modules(self.version, gofail=self._gofail), say)
        return debian.unpack_package(PACKAGE, say)

    def needs(self) -> Need:
        """Debian's package, or the tools that fetch it; of a later version what builds it."""
        if self._release >= programs.FIRST_MODULE:
            return gomodules.needs(programs.of_modules(self.version, gofail=self._gofail))
        return debian.needs(PACKAGE)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.etcd.probe import EtcdProbe

        return EtcdProbe(view)

    def replica_reader(self, view: ClusterView) -> ReplicaReader:
        """A reader of what each member holds."""
        from cluster.systems.etcd.replicas import EtcdReplicas

        return EtcdReplicas(view)

    def admin_actions(self, settings: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002 - under all
        """See ``admin.ACTIONS``; of Debian's release there is one version only."""
        one = self._release < programs.FIRST_MODULE
        return {name: how for name, how in admin_of.ACTIONS.items() if not (one and name == CHANGE_VERSION)}

    def changeable(self, role: str) -> Sequence[str]:
        """The flags of members; a learner is started by a program that adds it first."""
        return settings_of.FLAGS if role == MEMBER else ()

    def admin(self, view: ClusterView, host: Host) -> admin_of.EtcdAdmin:
        """Who acts by the maintenance API."""
        return admin_of.EtcdAdmin(view, host)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leader."""
        from cluster.systems.etcd.client import EtcdClient

        return EtcdClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of every model that clients know."""
        return frozenset(_WORDS.get(model, ()))

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one member."""
        return routing.is_pinned(settings["client.routing"], clients)
