"""The cluster asked about itself: readiness, roles, epochs, offsets, SyncStateSet.

Runs in the observer process on connections of its own, one outstanding request per node. What a node says is written
down as it says it: two masters are two observations. Refuses to change anything but to create the topic.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, Deadline, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo
from cluster.leaders import leads_of, not_ready
from cluster.system import ClusterView, Confirmed, Removal
from cluster.systems.minimq import config, settings, settings_proof
from cluster.systems.minimq.clients.outcomes import expect
from cluster.systems.minimq.clients.route import Controllers
from cluster.systems.minimq.clients.rpc import Asked, Link
from cluster.systems.minimq.config import CONTROLLERS
from cluster.systems.minimq.protocol import groups
from cluster.systems.minimq.protocol.broker_messages import GetReplica, ReplicaStatus
from cluster.systems.minimq.protocol.messages import (
    Accepted,
    CreateTopic,
    GetSettings,
    GetStatus,
    Refused,
    Settings,
    Status,
)

_ASK_TIMEOUT_S: Final = 1.0
_PREPARE_TIMEOUT_S: Final = 30.0
_SETTINGS_TIMEOUT_S: Final = 5.0
_RETRY_S: Final = 0.1


class MiniMQProbe:
    """Implements ``cluster.system.Probe``."""

    def __init__(self, view: ClusterView, link: Callable[[str], Asked] = Link) -> None:
        """``link``: makes the way to a node from its address."""
        self._view = view
        self._topic = view.mark
        self._subjects = config.subjects(view.settings, view.keys)
        self._links = {node.name: link(node.address) for node in view.nodes}
        self._prepared = False

    async def prepare(self) -> None:
        """Create the topic.

        Raises:
            DeployError: the controllers refused it, or none led until the deadline.
        """
        controllers = Controllers({node.name: self._links[node.name] for node in self._view.of_role("controller")})
        request = CreateTopic(topic=self._topic, queues=self._view.keys)
        what = f"topic {self._topic}"
        deadline = Deadline(f"{what} to be created", _PREPARE_TIMEOUT_S)
        while True:
            answer = await controllers.first(request, ns_from_now(_ASK_TIMEOUT_S))  # twice does no harm
            if isinstance(answer, Accepted):
                break
            if isinstance(answer, Refused) and answer.reason in ("topic-exists", "bad-topic"):
                raise DeployError(f"{what} with {self._view.keys} queues was not created: {answer.reason}")
            if deadline.expired():
                raise DeployError(f"{what} was not created in {_PREPARE_TIMEOUT_S:g} s: no controller leads")
            await asyncio.sleep(_RETRY_S)
        self._prepared = True

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """See ``effects``: one note of what every node was proven to go by.

        Raises:
            DeployError: a setting is not in effect, or a node of the run's own does not say.
        """
        shown = {node.name: await self._shown(node) for node in self._view.nodes}
        text, promises = settings_proof.effects_note(shown, self._view.settings, asked)
        data = {"warning": promises is not None and bool(promises.not_taken)}
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text, data=data)
        return Confirmed(notes=(note,), settings=settings_proof.common_settings(shown), promises=promises)

    async def _shown(self, node: NodeInfo) -> dict[str, str] | str:
        """The settings that a node goes by, or why it does not say them."""
        try:
            told = expect(await self._links[node.name].ask(GetSettings(), ns_from_now(_SETTINGS_TIMEOUT_S)), Settings)
            return settings.in_effect(node.role, told)
        except (Definite, Indefinite, msgspec.ValidationError) as error:
            return str(error)

    async def readiness(self) -> str | None:
        """None when every node serves, each SyncStateSet is complete and (once prepared) every broker has the topic."""
        nodes = self._view.nodes
        observed = await asyncio.gather(*(self.observe(node, _ASK_TIMEOUT_S) for node in nodes))
        seen = {node.name: observation for node, observation in zip(nodes, observed, strict=True)}
        missing = not_ready(seen, self._subjects)
        if missing is not None:
            return missing
        leads = leads_of(seen, self._subjects)
        for subject in (one for one in self._subjects if one.kind == "replica"):
            queues = self._view.keys if subject.keys is None else len(subject.keys)
            for name in subject.nodes:
                if seen[name].role != ("master" if name == leads[subject.name].leader else "slave"):
                    return f"{name} does not know its place yet"
                if self._prepared and len(seen[name].max_offsets or {}) < queues:
                    return f"{name} does not know topic {self._topic}"
        return None

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s``."""
        asked_ns = now_ns()
        deadline_ns = asked_ns + int(timeout_s * NS_PER_S)
        link = self._links[node.name]
        try:
            if node.role == "broker":
                replica = expect(await link.ask(GetReplica(), deadline_ns), ReplicaStatus)
                group, number = config.group_of(node, self._view), config.group_count(self._view.settings)
                return of_broker(node.name, replica, self._topic, asked_ns, now_ns(), group, number)
            status = expect(await link.ask(GetStatus(), deadline_ns), Status)
            return of_controller(node.name, status, asked_ns, now_ns())
        except (Definite, Indefinite) as error:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(error))

    async def remove(self) -> Removal:
        """Nothing can be removed: records of all topics lie in one log, and minimq keeps every record."""
        return Removal(left=(f"topic {self._topic} and what its consumer group committed: minimq deletes no topic",))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        for link in self._links.values():
            link.close()


def of_broker(
    name: str, said: ReplicaStatus, topic: str, asked_ns: int, time_ns: int, group: str = groups.ONE, number: int = 1
) -> Observation:
    """Pure: an observation from the status of a broker of one of so many groups.

    Only a master speaks for its group; a follower repeats others.
    """
    own = Claim(
        subject=group,
        leader=name,
        epoch=said.epoch,
        members=tuple(sorted(said.sync_state_set)),
        members_epoch=said.sss_epoch,
    )
    ends = enumerate(said.queue_ends.get(topic, ()))
    return Observation(
        time_ns=time_ns,
        asked_ns=asked_ns,
        node=name,
        alive=True,
        role={"master": "master", "follower": "slave", "none": "none"}[said.role],
        claims=(own,) if said.role == "master" else (),
        max_offsets={str(queue): end for queue, end in ends if groups.owns(group, queue, number)} or None,
    )


def of_controller(name: str, said: Status, asked_ns: int, time_ns: int) -> Observation:
    """Pure: an observation from a controller's status. Only one that leads speaks for the groups."""
    own = Claim(subject=CONTROLLERS, leader=name, epoch=said.term)
    return Observation(
        time_ns=time_ns,
        asked_ns=asked_ns,
        node=name,
        alive=True,
        role=said.role,
        claims=(own, *_of_groups(said)) if said.role == "leader" else (),
    )


def _of_groups(said: Status) -> Iterator[Claim]:
    """What a controller says of each group. Of a master's epoch the master itself speaks."""
    for name, metadata in said.metadata.items():
        group = metadata.group
        yield Claim(
            subject=name,
            leader=group.master,
            members=tuple(sorted(group.sync_state_set)),
            members_epoch=group.sss_epoch,
        )
