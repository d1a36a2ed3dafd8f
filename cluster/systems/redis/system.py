"""Redis as the harness knows it: the plugin behind ``--system redis``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.queues import total_queue
from chaos.models.transactions import bank
from chaos.models.transactions import words as transactions
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.needs import Need
from cluster.system import ClusterView, Launch, Probe, ReplicaReader, RoleKind
from cluster.systems._shared import debian, routing
from cluster.systems.redis import launch as launch_of
from cluster.systems.redis import log_lines, spaces
from cluster.systems.redis import probe as probe_of
from cluster.systems.redis import settings as settings_of
from cluster.systems.redis.launch import SERVER, WATCHER
from cluster.systems.redis.trials import TRIALS
from cluster.trial import Trial

_WORDS: Final[Mapping[str, Iterable[Word]]] = MappingProxyType(
    {
        register.MODEL: register.F,
        sets.MODEL: sets.F,
        counter.MODEL: counter.F,
        unique_ids.MODEL: unique_ids.F,
        lock.MODEL: lock.F,
        semaphore.MODEL: semaphore.F,
        lease.MODEL: lease.F,
        total_queue.MODEL: total_queue.F,
        transactions.MODEL: transactions.F,
        bank.MODEL: bank.F,
        kv.MODEL: spaces.WORDS,
    }
)
PACKAGE: Final = debian.Package(
    program="redis",
    name="redis-tools",
    version="5:7.0.15",
    size="5 MB",
    beside=("redis-server",),
    libraries=(
        *("libatomic1", "libjemalloc2", "liblzf1", "libssl3", "libsystemd0", "libcap2", "libgcrypt20"),
        *("libgpg-error0", "liblz4-1", "liblzma5", "libzstd1"),
    ),
)
NODES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "sentinel": tuple((f"r{n}", SERVER) for n in (1, 2, 3)) + tuple((f"s{n}", WATCHER) for n in (1, 2, 3)),
        "single": (("r1", SERVER),),
        "cluster": tuple((f"r{n}", SERVER) for n in range(1, 7)),
    }
)
"""By mode, the nodes and their roles."""


class Redis:
    """Redis 7.0 of Debian: a master with replicas and sentinels, one server, or a cluster of slots.

    Implements ``cluster.system.System``; only ``fetch`` is not pure.
    """

    name = "redis"
    help = "Redis (7.0): a master with replicas and sentinels, a single server, or a cluster"
    refusals = ("READONLY", "NOREPLICAS")
    version = PACKAGE.plain_version
    roles: Mapping[str, RoleKind] = MappingProxyType({SERVER: "replica", WATCHER: "controller"})
    workload = "register"
    trials: Sequence[Trial] = TRIALS
    start_order = ((SERVER,), (WATCHER,))
    settings_help: Mapping[str, str] = settings_of.HELP

    def dated(self, line: str) -> str:
        """A line of a log with its date first."""
        return log_lines.dated(line)

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """The nodes of the mode."""
        return tuple(NodeSpec(name=name, role=role) for name, role in NODES[settings["cluster.mode"]])

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
        """The servers, or each shard of them."""
        mode = settings["cluster.mode"]
        return probe_of.subjects([name for name, role in NODES[mode] if role == SERVER], mode, keys)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that holds ``redis-server``, out of Debian's packages."""
        return debian.unpack_package(PACKAGE, say)

    def needs(self) -> Need:
        """Debian's packages, or the tools that fetch them."""
        return debian.needs(PACKAGE)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``launch.launch``."""
        return launch_of.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        return probe_of.RedisProbe(view)

    def replica_reader(self, view: ClusterView) -> ReplicaReader:
        """A reader of what each server itself holds."""
        from cluster.systems.redis.replicas import RedisReplicas

        return RedisReplicas(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the master."""
        from cluster.systems.redis.client import RedisClient

        return RedisClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of every model that clients know."""
        return frozenset(_WORDS.get(model, ()))

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one server of each shard."""
        return routing.is_pinned(settings["client.routing"], clients)
