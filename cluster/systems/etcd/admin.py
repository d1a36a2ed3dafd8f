"""etcd's admin interface: its maintenance and cluster API, asked from a host of the cluster's network.

Implements what ``cluster.admin`` has for each action. What is done goes to the gateway of a member; who leads is asked
of each member's own Raft (``/debug/vars``), which knows nothing of requests to hand over.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from chaos.core.errors import DeployError
from cluster.admin import (
    CHANGE_MEMBERS,
    CHANGE_SETTING,
    CHANGE_VERSION,
    COMPACT,
    DEFRAGMENT,
    SNAPSHOT,
    TRANSFER_LEADERSHIP,
)
from cluster.host import Host
from cluster.system import ClusterView, Launch
from cluster.systems.etcd import ask, snapshot_program
from cluster.systems.etcd.gateway import CLIENT_PORT, PEER_PORT
from cluster.systems.etcd.launch import MEMBER
from cluster.systems.etcd.members import Raft, Variables
from cluster.systems.etcd.settings import FLAGS

ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        TRANSFER_LEADERSHIP: "MoveLeader of the maintenance API",
        COMPACT: "Compact of the KV API",
        DEFRAGMENT: "Defragment of the maintenance API",
        SNAPSHOT: "Snapshot of the maintenance API",
        CHANGE_MEMBERS: "MemberRemove and MemberAdd of the cluster API",
        CHANGE_SETTING: "a restart with another flag",
        CHANGE_VERSION: "a restart of another program",
    }
)
COMPACTED: Final = "etcdserver: mvcc: required revision has been compacted"

_ASK_PROGRAM: Final = Path(ask.__file__)
_SNAPSHOT_PROGRAM: Final = Path(snapshot_program.__file__)
_STATUS: Final = "/v3/maintenance/status"
_MEMBERS: Final = "/v3/cluster/member/list"
_VARIABLES: Final = "/debug/vars"
_ASK_S: Final = 2.0
_CHANGE_S: Final = 3.0
"""A member without a leader lets a change of the members wait until whoever asks gives up."""
_LONG_S: Final = 10.0
"""For what takes a member longer; a leader that hands over gives up earlier."""
_START_S: Final = 10.0
"""For the program to start on a busy machine."""
_OK: Final = 200

AnswerT = TypeVar("AnswerT")


class Asked(msgspec.Struct, frozen=True):
    """A request to a member; without a body it is a GET."""

    node: str
    path: str
    body: dict[str, Any] | None = None
    timeout_s: float = _ASK_S


class Answer(msgspec.Struct):
    """What came back; ``error``: why nothing did."""

    status: int = 0
    body: str = ""
    error: str = ""


class _Error(msgspec.Struct):
    message: str


class Member(msgspec.Struct, frozen=True):
    """A member as the cluster knows it. ``name``: empty until it has started once."""

    id: int = msgspec.field(name="ID")
    name: str = ""
    peer_urls: tuple[str, ...] = msgspec.field(name="peerURLs", default=())


class Members(msgspec.Struct):
    """All members that one knows."""

    members: list[Member] = []


class _Header(msgspec.Struct):
    revision: int = 0


class _Status(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)
    applied: int = msgspec.field(name="raftAppliedIndex", default=0)


class _Version(msgspec.Struct):
    server: str = msgspec.field(name="etcdserver", default="unknown")


class EtcdAdmin:
    """Acts on one cluster. Implements the protocol of each of ``ACTIONS``.

    ``database``: see ``cluster.admin.Defragments``.
    """

    database = "data/member/snap/db"

    def __init__(self, view: ClusterView, host: Host) -> None:
        self._addresses = {node.name: node.address for node in view.nodes}
        self._voters = tuple(node.name for node in view.of_role(MEMBER))
        self._host = host

    def voters(self, subject: str) -> tuple[str, ...]:  # noqa: ARG002 - there is one group
        """See ``TransfersLeadership``."""
        return self._voters

    def leaders(self, subject: str) -> Mapping[str, str | None]:  # noqa: ARG002 - there is one group
        """See ``TransfersLeadership``."""
        answers = self._ask(*(Asked(node, _VARIABLES) for node in self._voters))
        rafts = {
            node: read(answer.body, Variables).raft
            for node, answer in zip(self._voters, answers, strict=True)
            if answer.status == _OK
        }
        return names_of_leaders(rafts)

    def transfer_leadership(self, subject: str, to: str) -> None:
        """See ``TransfersLeadership``; the one that leads must be asked."""
        leader = self.leaders(subject).get(to)
        if leader is None:
            raise DeployError(f"{to} knows of no leader that could hand over")
        ids = {member.name: member.id for member in read(self._must(Asked(to, _MEMBERS, {})), Members).members}
        if to not in ids or leader not in self._addresses:
            raise DeployError(f"{leader if to in ids else to} is no member")
        self._must(Asked(leader, "/v3/maintenance/transfer-leadership", {"targetID": str(ids[to])}, _LONG_S))

    def revision(self) -> int:
        """See ``Compacts``."""
        answers = self._ask(*(Asked(node, _STATUS, {}) for node in self._voters))
        found = [read(answer.body, _Status).header.revision for answer in answers if answer.status == _OK]
        if not found:
            raise DeployError("no member says its revision")
        return max(found)

    def compact(self, revision: int) -> None:
        """See ``Compacts``; the history is removed from the disk before the answer."""
        body = {"revision": str(revision), "physical": True}
        self._must(Asked(self._answering(), "/v3/kv/compaction", body, _LONG_S))

    def has_revision(self, node: str, revision: int) -> bool:
        """See ``Compacts``; a read of the member's own copy."""
        body = {"key": "AA==", "revision": str(revision), "serializable": True}  # a key that nobody writes
        (answer,) = self._ask(Asked(node, "/v3/kv/range", body))
        if answer.status != _OK and refusal(answer.body) == COMPACTED:
            return False
        _checked(node, "/v3/kv/range", answer)
        return True

    def defragment(self, node: str) -> None:
        """See ``Defragments``."""
        self._must(Asked(node, "/v3/maintenance/defragment", {}, _LONG_S))

    def answers(self, node: str) -> bool:
        """See ``Defragments``."""
        return self._ask(Asked(node, _STATUS, {}))[0].status == _OK

    def save_snapshot(self, node: str, file: str) -> None:
        """See ``TakesSnapshots``."""
        self._run(_SNAPSHOT_PROGRAM, {"host": self._addresses[node], "port": CLIENT_PORT, "file": file}, _LONG_S)

    def snapshot_bytes(self, file: str) -> int | None:
        """See ``TakesSnapshots``: the last 32 bytes are the SHA-256 of all before them."""
        return msgspec.json.decode(self._run(_SNAPSHOT_PROGRAM, {"check": file}, _LONG_S), type=int | None)

    def members(self, node: str) -> Mapping[str, str]:
        """See ``ChangesMembers``; numbers as etcd writes them, in hexadecimal. Known by the address for peers."""
        return members_by_node(read(self._must(Asked(node, _MEMBERS, {})), Members).members, self._addresses)

    def remove_member(self, node: str) -> None:
        """See ``ChangesMembers``."""
        other = self._answering(without=node)
        number = self.members(other).get(node)
        if number is None:
            raise DeployError(f"{node} is no member, says {other}")
        self._must(Asked(other, "/v3/cluster/member/remove", {"ID": str(int(number, 16))}, _CHANGE_S))

    def add_member(self, node: str) -> None:
        """See ``ChangesMembers``."""
        body = {"peerURLs": [peer_url(self._addresses[node])]}
        self._must(Asked(self._answering(without=node), "/v3/cluster/member/add", body, _CHANGE_S))

    def joining(self, node: str, launch: Launch, members: Collection[str]) -> Launch:  # noqa: ARG002
        """See ``ChangesMembers``: the flags for a cluster that is there already."""
        cluster = ",".join(f"{name}={peer_url(self._addresses[name])}" for name in members)
        flags = {"--initial-cluster": cluster, "--initial-cluster-state": "existing"}
        return msgspec.structs.replace(launch, argv=tuple(_with_flag(one, flags) for one in launch.argv))

    def position(self, node: str) -> int:
        """See ``ChangesMembers``: the entries of the Raft log."""
        return read(self._must(Asked(node, _STATUS, {})), _Status).applied

    def settings_of(self, node: str) -> Mapping[str, str]:
        """See ``TellsSettings``: the flags with which a member's process says that it was started."""
        said = read(self._must(Asked(node, _VARIABLES)), Variables)
        return {name: value for name, value in map(_flag, said.cmdline) if name in FLAGS}

    def version_of(self, node: str) -> str:
        """See ``TellsVersion``."""
        return read(self._must(Asked(node, "/version")), _Version).server

    def _answering(self, without: str = "") -> str:
        """A member that answers. Raises DeployError: none does."""
        asked = [node for node in self._voters if node != without]
        answers = self._ask(*(Asked(node, _STATUS, {}) for node in asked))
        found = [node for node, answer in zip(asked, answers, strict=True) if answer.status == _OK]
        if not found:
            raise DeployError("no member answers")
        return found[0]

    def _must(self, asked: Asked) -> str:
        """What a member answers.

        Raises:
            DeployError: it refuses or does not answer; names it and what it said.
        """
        (answer,) = self._ask(asked)
        return _checked(asked.node, asked.path, answer)

    def _ask(self, *asked: Asked) -> list[Answer]:
        """What members answer, in the order of the requests, which are made at once; never raises for a member."""
        requests = [
            {
                "host": self._addresses[one.node],
                "port": CLIENT_PORT,
                "path": one.path,
                "body": one.body,
                "timeout_s": one.timeout_s,
            }
            for one in asked
        ]
        said = self._run(_ASK_PROGRAM, requests, max((one.timeout_s for one in asked), default=0.0))
        return msgspec.json.decode(said, type=list[Answer])

    def _run(self, program: Path, orders: object, timeout_s: float) -> bytes:
        """What one of our programs prints on the host. Raises DeployError: it failed."""
        argv = ("python3", "-I", "-S", "-", msgspec.json.encode(orders).decode())
        done = self._host.run(*argv, stdin=program.read_bytes(), timeout_s=_START_S + 2 * timeout_s)
        return done.check("asking members").stdout


def names_of_leaders(rafts: Mapping[str, Raft]) -> dict[str, str | None]:
    """Pure: whom each member that answered names as leader; one that did not answer is named by its number."""
    names = {raft.id: node for node, raft in rafts.items()}
    return {node: None if raft.lead == "0" else names.get(raft.lead, raft.lead) for node, raft in rafts.items()}


def peer_url(address: str) -> str:
    """Pure: where a member is reached by the others."""
    return f"http://{address}:{PEER_PORT}"


def members_by_node(members: Iterable[Member], addresses: Mapping[str, str]) -> dict[str, str]:
    """Pure: node → number, of members that are nodes of ours; one that never started has an address and no name."""
    nodes = {peer_url(address): node for node, address in addresses.items()}
    return {nodes[url]: f"{member.id:x}" for member in members for url in member.peer_urls if url in nodes}


def _flag(word: str) -> tuple[str, str]:
    """Pure: name and value of an argument ``--flag=value``."""
    name, _, value = word.removeprefix("--").partition("=")
    return name, value


def _with_flag(word: str, flags: Mapping[str, str]) -> str:
    """Pure: an argument ``--flag=value`` with the value that ``flags`` has for it."""
    name, equals, _ = word.partition("=")
    return f"{name}={flags[name]}" if equals and name in flags else word


def _checked(node: str, path: str, answer: Answer) -> str:
    """Pure: what an answer holds. Raises DeployError: it is an error, or there is none."""
    if answer.status != _OK:
        raise DeployError(f"{node}: {path}: {refusal(answer.body) or answer.error}")
    return answer.body


def refusal(body: str) -> str:
    """Pure: what an answer that is an error says; empty if it says nothing."""
    try:
        return msgspec.json.decode(body, type=_Error).message
    except msgspec.DecodeError:
        return body.strip()[:200]


def read(body: str, kind: type[AnswerT]) -> AnswerT:
    """Pure: an answer as what it is.

    Raises:
        DeployError: it is something else.
    """
    try:
        return msgspec.json.decode(body, type=kind, strict=False)  # int64 come as strings
    except msgspec.DecodeError as error:
        raise DeployError(f"a member said what nobody expects: {error}") from None
