"""The members asked about themselves: who leads, in which term, and with which flags they run."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.launch import LEARNER
from cluster.systems.etcd.members import Members, Raft
from cluster.systems.etcd.settings import FLAGS, GROUP, promises
from cluster.systems.etcd.settings import flags_of as defaults_of
from cluster.versions import release_of

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 1.0
_FLAG: Final = re.compile(r"(?<!\S)--?([a-z-]+)(?:[= ](?!-)(\S+))?")


class _Version(msgspec.Struct):
    etcdserver: str


class _Done(msgspec.Struct):
    pass


class EtcdProbe(Probe):
    """Asks the members themselves; nothing has to be created, because a key is there once it is written."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._gateways = {node.name: Gateway(node.address) for node in view.nodes}
        self._members = Members(self._gateways)
        self._subjects = (Subject(name=GROUP, nodes=tuple(self._gateways), epoch_word="term"),)

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare the command line of every member's process, as it shows it itself, with the settings.

        Raises:
            DeployError: a setting is not in effect, or a member does not say.
        """
        shown: dict[str, dict[str, str]] = {}
        in_effect: dict[str, dict[str, str]] = {}
        versions: set[str] = set()
        for node in self._view.nodes:
            deadline_ns = ns_from_now(_TIMEOUT_S)
            try:
                said = await self._members.variables(node.name, deadline_ns)
                version = (await self._gateways[node.name].call("/version", None, _Version, deadline_ns)).etcdserver
            except (Definite, Indefinite) as error:
                raise DeployError(f"{node.name} does not say its settings in effect: {error}") from None
            versions.add(version)
            shown[node.name] = flags_of(said.cmdline)
            in_effect[node.name] = {**defaults_of(release_of(version)), **shown[node.name]}
        wanted = {name: self._view.settings[name] for name in FLAGS if asked is None or name in asked}
        check(in_effect, wanted)
        which = ", ".join(sorted(versions))
        text = f"etcd {which}; {len(wanted)} settings proven to be in effect on {len(shown)} nodes"
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text)
        alike = set.intersection(*(set(flags.items()) for flags in shown.values()))
        settings = {name: value for name, value in alike if name in FLAGS}
        promised = None if asked is None else _promised(shown, in_effect)
        return Confirmed(notes=(note,), settings=settings, promises=promised)

    async def readiness(self) -> str | None:
        """None when every member answers and all know the same leader."""
        nodes = self._view.nodes
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
        return not_ready({seen.node: seen for seen in observed}, self._subjects)

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one member, within ``timeout_s``."""
        asked_ns = now_ns()
        try:
            raft = (await self._members.variables(node.name, asked_ns + int(timeout_s * NS_PER_S))).raft
        except (Definite, Indefinite) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        leader = self._members.leader(raft)
        return Observation(
            time_ns=now_ns(),
            asked_ns=asked_ns,
            node=node.name,
            alive=True,
            role=_role(node, leader, raft),
            claims=(Claim(subject=GROUP, leader=leader, epoch=raft.term),),
        )

    async def remove(self) -> Removal:
        """Delete the run's keys."""
        mark = self._view.mark
        keys = {"key": f"{mark}/".encode(), "range_end": f"{mark}0".encode()}  # 0 comes behind /
        for gateway in self._gateways.values():
            try:
                await gateway.call("/v3/kv/deleterange", keys, _Done, ns_from_now(_TIMEOUT_S), write=True)
                return Removal(removed=(f"keys {mark}/*",))
            except (Definite, Indefinite) as error:
                why = str(error)
        return Removal(left=(f"keys {mark}/*: {why}",))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._members.close()


def _role(node: NodeInfo, leader: str | None, raft: Raft) -> str:
    """What a node is, in etcd's words."""
    if node.role == LEARNER:
        return LEARNER
    return "leader" if leader == node.name else "follower" if raft.lead != "0" else "no leader"


def flags_of(cmdline: Sequence[str]) -> dict[str, str]:
    """Pure: the flags in a command line, ``--name=value``, ``--name value``, or ``--name``."""
    return {name: value or "true" for name, value in _FLAG.findall(" ".join(cmdline))}


def check(in_effect: Mapping[str, Mapping[str, str]], wanted: Mapping[str, str]) -> None:
    """Pure: raises DeployError for the first setting that a member does not run with."""
    for node, flags in in_effect.items():
        for name, value in wanted.items():
            if (found := flags[name]) != value:
                raise DeployError(f"settings are not in effect: {node}: {name} is {found} instead of {value}")


def _promised(shown: Mapping[str, Mapping[str, str]], in_effect: Mapping[str, Mapping[str, str]]) -> Promises:
    """What holds of members of somebody else's cluster; how soon is known only where each shows its timeout."""
    if not all("election-timeout" in flags for flags in shown.values()):
        return Promises(not_taken=("to serve again in time (not every command line shows election-timeout)",))
    return weakest_promises(promises(flags) for flags in in_effect.values())
