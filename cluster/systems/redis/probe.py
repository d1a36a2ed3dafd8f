"""Servers and sentinels asked about themselves: who leads, in which epoch, and with which settings they run.

A master of the sentinels has no epoch of its own. Its claim carries that of the last answer in which a sentinel named
it: one that was cut off, or starts again as what it was, leads in the epoch in which it was made one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo, Subject
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.redis import slots
from cluster.systems.redis.launch import MASTER, WATCHER
from cluster.systems.redis.servers import Servers, fields, groups_of, info
from cluster.systems.redis.settings import CLUSTER, DIRECTIVES, SENTINEL, promises

_TIMEOUT_S: Final = 5.0
_READY_TIMEOUT_S: Final = 1.0
_SCAN_COUNT: Final = 1000


class RedisProbe(Probe):
    """Asks the nodes themselves; nothing has to be created, because a key is there once it is written."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._mode = view.settings["cluster.mode"]
        self._nodes = Servers(view)
        self._subjects = subjects(self._nodes.servers, self._mode, view.keys)
        self._epochs: dict[str, int] = {}

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare what every node says of its settings with what they should be.

        Raises:
            DeployError: a setting is not in effect, or a node does not say.
        """
        shown = {node.name: await self._shown(node) for node in self._view.nodes}
        for name, said in shown.items():
            for key, found in said.items():
                wanted = self._view.settings[key]
                if found != wanted and (asked is None or key in asked):
                    raise DeployError(f"settings are not in effect: {name}: {key} is {found} instead of {wanted}")
        together = [pair for said in shown.values() for pair in said.items()]
        alike = {key: value for key, value in together if all(said.get(key, value) == value for said in shown.values())}
        text = f"redis; {len(alike)} settings proven to be in effect on {len(shown)} nodes"
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text)
        if asked is None:
            return Confirmed(notes=(note,), settings=alike)
        promised = weakest_promises(promises({**self._view.settings, **said}) for said in shown.values())
        return Confirmed(notes=(note,), settings=alike, promises=promised)

    async def _shown(self, node: NodeInfo) -> dict[str, str]:
        """The settings of a node as it says them. Raises DeployError if it does not."""
        link, deadline_ns = self._nodes.links[node.name], ns_from_now(_TIMEOUT_S)
        try:
            if node.role == WATCHER:
                (reply,) = await link.call(("SENTINEL", "MASTER", MASTER), deadline_ns=deadline_ns)
                names = SENTINEL
            else:
                (reply,) = await link.call(("CONFIG", "GET", "*"), deadline_ns=deadline_ns)
                names = {**DIRECTIVES, **(CLUSTER if self._mode == "cluster" else {})}
        except (Definite, Indefinite) as error:
            raise DeployError(f"{node.name} does not say its settings in effect: {error}") from None
        said = fields(reply)
        return {name: said.get(name, "unknown") for name in names}

    async def readiness(self) -> str | None:
        """None when all answer, each master has its replicas, and the sentinels know each other."""
        nodes = self._view.nodes
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
        missing = not_ready({seen.node: seen for seen in observed}, self._subjects)
        if missing is not None:
            return missing
        return await self._unwatched() or await self._cluster_down()

    async def _cluster_down(self) -> str | None:
        """The first server of a cluster that does not serve its slots yet; None if there is none."""
        for name in self._nodes.servers if self._mode == "cluster" else ():
            try:
                (said,) = await self._nodes.links[name].call(
                    ("CLUSTER", "INFO"), deadline_ns=ns_from_now(_READY_TIMEOUT_S)
                )
            except (Definite, Indefinite) as error:
                return f"{name} does not answer: {error}"
            if info(said).get("cluster_state") != "ok":
                return f"{name} says that the cluster is down"
        return None

    async def _unwatched(self) -> str | None:
        """The first sentinel that could not fail over yet; None if there is none."""
        for name in self._nodes.watchers:
            try:
                known = await self._nodes.watched(name, ns_from_now(_READY_TIMEOUT_S))
            except (Definite, Indefinite) as error:
                return f"{name} does not answer: {error}"
            replicas, others = len(self._nodes.servers) - 1, len(self._nodes.watchers) - 1
            if (known.replicas, known.others) != (replicas, others):
                return f"{name} knows {known.replicas} replicas and {known.others} other sentinels"
        return None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s``."""
        asked_ns = now_ns()
        deadline_ns = asked_ns + int(timeout_s * NS_PER_S)
        try:
            role, claims = await self._claims(node, deadline_ns)
        except (Definite, Indefinite) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))
        return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=claims)

    async def _claims(self, node: NodeInfo, deadline_ns: int) -> tuple[str, tuple[Claim, ...]]:
        """A node's word for what it is, and what it says of who leads."""
        if node.role == WATCHER:
            known = await self._nodes.watched(node.name, deadline_ns)
            if known.master is not None:
                self._epochs[known.master] = max(known.epoch, self._epochs.get(known.master, 0))
            return WATCHER, (Claim(subject=self._subjects[0].name, leader=known.master, epoch=known.epoch),)
        asked = ("INFO", "replication", "persistence")
        (reply,) = await self._nodes.links[node.name].call(asked, deadline_ns=deadline_ns)
        said = info(reply)
        if said.get("loading") == "1":
            return "loading", ()  # it reads its file, and refuses everything else until then
        if self._mode == "cluster":
            return said.get("role", ""), self._of_cluster(said, await self._nodes.members(node.name, deadline_ns))
        leader = node.name if said.get("role") == "master" else self._nodes.named(said.get("master_host", ""))
        leads = leader == node.name
        claim = Claim(
            subject=self._subjects[0].name,
            leader=leader,
            epoch=self._epochs.get(node.name, 0) if leads and self._mode == "sentinel" else 0 if leads else None,
            members=self._members(node.name, said) if leads else None,
        )
        return said.get("role", ""), (claim,)

    def _of_cluster(self, said: Mapping[str, str], members: Sequence[slots.Member]) -> tuple[Claim, ...]:
        """What a server of a cluster says of its own shard."""
        own = next((one for one in members if one.myself), None)
        master = own if own is not None and own.leads else _followed(own, members)
        if own is None or master is None:
            return ()
        leader, name = self._nodes.named(master.host), self._nodes.named(own.host)
        subject = next(one.name for one in self._subjects if name in one.nodes)
        if master.leads and master.first_slot is None:
            leader = None  # a master whose slots another one has taken
        leads = leader == name
        return (
            Claim(
                subject=subject,
                leader=leader,
                epoch=master.epoch,
                members=self._members(str(name), said) if leads else None,
            ),
        )

    def _members(self, own: str, said: Mapping[str, str]) -> tuple[str, ...]:
        """The master and its replicas that are connected and have all that it had when they were."""
        replicas = [dict(pair.split("=", 1) for pair in value.split(",")) for value in _replicas(said)]
        online = {self._nodes.named(one["ip"]) for one in replicas if one.get("state") == "online"}
        return tuple(name for name in self._nodes.servers if name == own or name in online)

    async def remove(self) -> Removal:
        """Delete the run's keys from every master."""
        mark, left = self._view.mark, []
        for name in self._nodes.servers:
            try:
                await self._delete(name, f"*{mark}/*")
            except (Definite, Indefinite) as error:
                if not str(error).startswith(("READONLY", "MOVED")):
                    left.append(f"keys {mark}/* on {name}: {error}")
        return Removal(left=tuple(left)) if left else Removal(removed=(f"keys {mark}/*",))

    async def _delete(self, name: str, pattern: str) -> None:
        """Delete all keys of a server that match."""
        link, cursor = self._nodes.links[name], "0"
        while True:
            scan = ("SCAN", cursor, "MATCH", pattern, "COUNT", _SCAN_COUNT)
            (reply,) = await link.call(scan, deadline_ns=ns_from_now(_TIMEOUT_S))
            if not isinstance(reply, list) or len(reply) != 2 or not isinstance(reply[1], list):  # noqa: PLR2004
                raise Definite(f"malformed answer: {str(reply)[:60]}")
            cursor = str(reply[0])
            for key in reply[1]:
                await link.call(("DEL", str(key)), deadline_ns=ns_from_now(_TIMEOUT_S), write=True)
            if cursor == "0":
                return

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._nodes.close()


def subjects(servers: Sequence[str], mode: str, keys: int) -> tuple[Subject, ...]:
    """What has a leader: the servers, or each shard of them, with its share of so many keys. Pure."""
    groups = groups_of(servers, mode)
    if mode != "cluster":
        return (Subject(name=MASTER, nodes=groups[0]),)
    shares = [tuple(range(shard, keys, slots.SHARDS)) for shard in range(slots.SHARDS)]
    return tuple(
        Subject(name=slots.shard_name(shard), nodes=own, keys=shares[shard]) for shard, own in enumerate(groups)
    )


def _followed(own: slots.Member | None, members: Sequence[slots.Member]) -> slots.Member | None:
    return next((one for one in members if own is not None and one.id == own.follows), None)


def _replicas(said: Mapping[str, str]) -> list[str]:
    """The values of the lines of INFO that tell of replicas."""
    return [value for name, value in said.items() if name.startswith("slave") and name[5:].isdecimal()]
