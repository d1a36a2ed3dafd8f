"""What is tested: roles, configuration as data, a client, and what can be observed.

A system decides in pure functions (``topology``, ``launch``, ``promises``); start, kill, pause, resume and alive are
not its business but ``cluster.nodes.process``'. ``Probe`` and ``Client`` run inside the client host's network, in
worker and observer processes, and know nodes by address only.

What only some systems have is a protocol of its own: ``HasBugs``, ``HasSettings``, ``NeedsSettings``,
``PinsClients``, ``RefusesByDesign``, ``ShowsReplicaData``, ``TakesSendsOnce``, ``cluster.leaders.HasLeaders``,
``cluster.admin.HasAdmin``, and those of ``cluster.versions``. A system that lacks one says nothing of it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from chaos.basics.rand import run_hash
from chaos.core.client import Client
from chaos.core.events import Note, Observation
from chaos.core.op import Word
from chaos.core.replica_data import ReplicaData
from chaos.storage.runinfo import NodeInfo, Promises
from cluster.bug import Bug
from cluster.host import NodeSpec

RoleKind = Literal["replica", "controller", "other"]


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster as seen by address: what workers and the observer are given."""

    run_id: str
    nodes: tuple[NodeInfo, ...]
    settings: dict[str, str]
    keys: int

    @property
    def mark(self) -> str:
        """What every name begins with that the run gives to something on the cluster: topics, groups.

        The number is the one that the run's messages carry. 22 letters, digits and a dash: legal in every system.
        """
        return f"chaos-{run_hash(self.run_id):016x}"

    def of_role(self, *roles: str) -> tuple[NodeInfo, ...]:
        """The nodes of the named roles, in order."""
        return tuple(node for node in self.nodes if node.role in roles)


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How one node's process is started: pure data.

    ``files``: path relative to the host's home → content. ``argv[0]`` is a program on the host.
    ``ready_pattern``: a regular expression that its standard output shows once it serves.
    ``logs``: paths relative to home worth collecting. ``data``: paths relative to home that hold its state.
    ``found_by``: a regular expression; ``argv`` then ends by itself, and the node's process is the one whose
    command line matches. ``stop``: the command that ends such a process in good order.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    files: dict[str, bytes]
    ready_pattern: str
    logs: tuple[str, ...]
    data: tuple[str, ...]
    found_by: str = ""
    stop: tuple[str, ...] = ()


class Confirmed(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes were proven to run with. ``warning`` in a note's data: say it.

    ``settings``: by full name, those of the run that are alike on all nodes. ``promises``: what may be promised by what
    every single node said; None on a cluster of the run's own, where all settings are as they were asked for.
    """

    notes: tuple[Note, ...] = ()
    settings: dict[str, str] = {}
    promises: Promises | None = None


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """What became of that which a run made on a cluster that goes on without it: a phrase for each thing.

    ``left`` says where and why.
    """

    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Probe(Protocol):
    """Asks the system about itself, from inside. One outstanding request per node, own connections.

    A class that names this one as its base need say only what differs from the defaults: nothing has to be created, no
    setting has to be in effect, and nothing stays open between questions.
    """

    async def prepare(self) -> None:
        """Create what the workload needs (topics on every replica); raises DeployError if refused."""
        return

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:  # noqa: ARG002 - there are none
        """Ask every node for its settings in effect.

        Args:
            asked: None on a cluster of the run's own: every setting must be in effect. Else it is somebody else's: the
                settings that somebody asked for, by full name, must be in effect; the others are learned.

        Raises:
            DeployError: one is not in effect; names node, key, wanted and found.
        """
        return Confirmed()

    async def readiness(self) -> str | None:
        """None when the cluster is complete and serves; else one line saying what is missing."""
        ...

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node; never raises for a silent one (``alive`` false, ``error`` set)."""
        ...

    async def remove(self) -> Removal:
        """Remove what ``prepare`` created, from a cluster that goes on without this run; never raises for a node."""
        return Removal()

    async def close(self) -> None:
        """Release all connections."""
        return


class System(Protocol):
    """One system under test, found by name in the entry-point group ``chaos.systems``."""

    name: str
    version: str
    roles: Mapping[str, RoleKind]
    workload: str
    """What clients do unless somebody asks for something else."""
    start_order: tuple[tuple[str, ...], ...]
    """Roles in the order in which their processes are started; those of one group start at once."""

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Check settings and fill in defaults.

        Raises:
            UsageError: unknown or impossible setting, with a guess at what was meant.
        """
        ...

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """The nodes, in the order in which they are shown."""
        ...

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """Which anomalies are by design under these settings."""
        ...

    def fetch(self, say: Callable[[str], None]) -> Path:
        """Make sure the artefacts are in the user's cache; returns their folder.

        ``say`` gets one line per step of progress. Safe against two at once and against being cut off.

        Raises:
            CapabilityError: a tool is missing, with the command that installs it.
        """
        ...

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """Pure: how this node is started. ``artefacts`` is their path on the host."""
        ...

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        ...

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number asks for one beside them, which is not pinned."""
        ...

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:
        """Pure: the words of a model that clients know under these settings; none: the system does not serve it.

        A workload leaves out the others.
        """
        ...


@runtime_checkable
class HasBugs(Protocol):
    """A system that carries bugs as switches."""

    bugs: Mapping[str, Bug]
    """The bugs that the setting ``bug`` can switch on, by name."""


@runtime_checkable
class HasSettings(Protocol):
    """A system that lists its settings (``chaos list settings``)."""

    settings_help: Mapping[str, str]
    """Settings of the harness' own for this system (``client.…``) with a line of help each."""


@runtime_checkable
class NeedsSettings(Protocol):
    """A system that must be set up for some operations."""

    def settings_for(self, operations: frozenset[Word]) -> Mapping[str, str]:
        """Pure: what has to be set for clients to make these operations, by full name; the user's go before."""
        ...


class ReplicaReader(Protocol):
    """Asks replicas for the data that they themselves hold, from inside."""

    async def read(self, timeout_s: float) -> tuple[ReplicaData, ...]:
        """Each replica's data, once all have applied the same or ``timeout_s`` is over; never raises for a node."""
        ...

    async def close(self) -> None:
        """Release all connections."""
        ...


@runtime_checkable
class ShowsReplicaData(Protocol):
    """A system each of whose replicas can be asked for the data that it itself holds, whoever leads.

    What they say is compared after the load (SEMANTICS 15). A system that is sure to answer promises it
    (``Promises.replicas_read``).
    """

    def replica_reader(self, view: ClusterView) -> ReplicaReader:
        """A reader of this cluster's replicas."""
        ...


@runtime_checkable
class PinsClients(Protocol):
    """A system some of whose clients stay on one node whatever the route says."""

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """Pure: for each client number, whether it stays on one node."""
        ...


@runtime_checkable
class RefusesByDesign(Protocol):
    """A system whose nodes refuse, for certain, what they must not serve."""

    refusals: tuple[str, ...]
    """The errors that say so, or how they begin: that a node does not lead, or has too few replicas in sync."""


@runtime_checkable
class TakesSendsOnce(Protocol):
    """A system that may take a repeated send only once."""

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:
        """Pure: whether a send under a producer's name and sequence takes effect once however often it is tried."""
        ...


def bugs_of(system: object) -> Mapping[str, Bug]:
    """The bugs that a system carries, by name."""
    return system.bugs if isinstance(system, HasBugs) else {}


def settings_help_of(system: object) -> Mapping[str, str]:
    """The settings that a system lists, with a line of help each."""
    return system.settings_help if isinstance(system, HasSettings) else {}


def settings_for(system: object, operations: frozenset[Word]) -> Mapping[str, str]:
    """What has to be set in a system for clients to make these operations, by full name."""
    return system.settings_for(operations) if isinstance(system, NeedsSettings) else {}


def pinned_clients(system: object, settings: Mapping[str, str], clients: int) -> list[bool]:
    """For each client number, whether it stays on one node."""
    return list(system.pinned(settings, clients)) if isinstance(system, PinsClients) else [False] * clients


def refusals_of(system: object) -> tuple[str, ...]:
    """The errors by which nodes refuse what they must not serve, or how these begin."""
    return system.refusals if isinstance(system, RefusesByDesign) else ()


def takes_sends_once(system: object, settings: Mapping[str, str]) -> bool:
    """Whether a send under a producer's name and sequence takes effect once however often it is tried."""
    return isinstance(system, TakesSendsOnce) and system.idempotent_sends(settings)
