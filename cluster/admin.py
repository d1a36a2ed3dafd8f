"""What a system's administrators can do: the seam between faults and the admin interface of a system.

A system that has one says which actions it offers (``HasAdmin``), before any host is there. Each action has a protocol
here: what is done, and beside it what is asked to prove it. The questions go another way than the action: to every node
by itself, or to the kernel of its host.

Who acts does so by commands on a host, since the harness itself is not in the cluster's network. Does not know faults.
"""

from collections.abc import Collection, Mapping
from typing import Final, Protocol, runtime_checkable

from cluster.host import Host
from cluster.system import ClusterView, Launch

TRANSFER_LEADERSHIP: Final = "transfer-leadership"
COMPACT: Final = "compact"
DEFRAGMENT: Final = "defragment"
SNAPSHOT: Final = "snapshot"
CHANGE_MEMBERS: Final = "change-members"
CHANGE_SETTING: Final = "change-setting"
CHANGE_VERSION: Final = "change-version"


@runtime_checkable
class HasAdmin(Protocol):
    """A system with an admin interface."""

    def admin_actions(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Pure: the names of the actions that it offers under these settings, and by what each is done."""
        ...

    def admin(self, view: ClusterView, host: Host) -> object:
        """Who acts on this cluster, by commands on ``host``, from where every node can be reached.

        It implements the protocol of each action that the system offers.
        """
        ...


@runtime_checkable
class TransfersLeadership(Protocol):
    """Of the action ``transfer-leadership``. Nodes and subjects are known by name."""

    def voters(self, subject: str) -> tuple[str, ...]:
        """The nodes that may lead the subject, in order."""
        ...

    def leaders(self, subject: str) -> Mapping[str, str | None]:
        """What each node that may lead the subject says itself: who leads it, or None. Silent nodes are left out."""
        ...

    def transfer_leadership(self, subject: str, to: str) -> None:
        """Have another node lead the subject, which hands over by itself; one attempt.

        Raises:
            ChaosError: it was refused, or it is not known whether it was done.
        """
        ...


@runtime_checkable
class Compacts(Protocol):
    """Of the action ``compact``. Revisions count the changes of the whole system."""

    def revision(self) -> int:
        """The newest revision that a node has.

        Raises:
            ChaosError: no node answers.
        """
        ...

    def compact(self, revision: int) -> None:
        """Forget what is older than a revision, on all nodes; one attempt. Raises ChaosError."""
        ...

    def has_revision(self, node: str, revision: int) -> bool:
        """Whether one node itself answers a read of what was at a revision; 0: of what is now.

        Raises:
            ChaosError: it does not answer, or refuses for another reason than that it has forgotten.
        """
        ...


@runtime_checkable
class Defragments(Protocol):
    """Of the action ``defragment``. ``database``: the file that is written anew, relative to a node's home."""

    database: str

    def defragment(self, node: str) -> None:
        """Have one node write its database anew; one attempt. Raises ChaosError."""
        ...

    def answers(self, node: str) -> bool:
        """Whether one node answers."""
        ...


@runtime_checkable
class TakesSnapshots(Protocol):
    """Of the action ``snapshot``. Files are on the host from where the admin interface is asked."""

    def save_snapshot(self, node: str, file: str) -> None:
        """Write what one node sends into a file; one attempt. Raises ChaosError."""
        ...

    def snapshot_bytes(self, file: str) -> int | None:
        """How long a snapshot is; None if the file is not there, or is not what its checksum says."""
        ...


@runtime_checkable
class ChangesMembers(Protocol):
    """Of the action ``change-members``: a node is removed, and added again as a new member."""

    def members(self, node: str) -> Mapping[str, str]:
        """Node → its number in the cluster, of every member, by what one node itself says. Raises ChaosError."""
        ...

    def remove_member(self, node: str) -> None:
        """Have a node be no member any more; another one is asked, once. Raises ChaosError."""
        ...

    def add_member(self, node: str) -> None:
        """Have a node be a member, before it starts; another one is asked, once. Raises ChaosError."""
        ...

    def joining(self, node: str, launch: Launch, members: Collection[str]) -> Launch:
        """Pure: how a node with no data is started that was added to these members, itself among them."""
        ...

    def position(self, node: str) -> int:
        """How much of what all members share one node itself has applied. Raises ChaosError: it does not answer."""
        ...


@runtime_checkable
class TellsSettings(Protocol):
    """Of the action ``change-setting``: a node is started again with another value of a setting."""

    def settings_of(self, node: str) -> Mapping[str, str]:
        """By full name, the settings that one node itself says that it goes by.

        Raises:
            ChaosError: it does not answer.
        """
        ...


@runtime_checkable
class TellsVersion(Protocol):
    """Of the action ``change-version``: a node is started again as another version."""

    def version_of(self, node: str) -> str:
        """The version that one node itself says it is. Raises ChaosError: it does not answer."""
        ...


@runtime_checkable
class ChangesSettings(Protocol):
    """A system whose nodes may differ in some settings while they serve."""

    def changeable(self, role: str) -> Collection[str]:
        """Pure: those that a node of a role has for itself and tells, by full name."""
        ...


def changeable_settings(system: object, role: str) -> tuple[str, ...]:
    """The settings in which nodes of a role may differ, by full name; none if the system knows of none."""
    return tuple(system.changeable(role)) if isinstance(system, ChangesSettings) else ()


def admin_actions_of(system: object, settings: Mapping[str, str]) -> Mapping[str, str]:
    """The actions that a system's admin interface offers; none if it has no such interface."""
    return system.admin_actions(settings) if isinstance(system, HasAdmin) else {}


def admin_of(system: object, view: ClusterView, host: Host) -> object | None:
    """Who acts on a cluster by its admin interface; None if the system has none."""
    return system.admin(view, host) if isinstance(system, HasAdmin) else None
