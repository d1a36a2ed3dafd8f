"""The cluster asked about itself: who leads which partition, who is in sync, and what settings are in effect.

A broker says of each partition what it has heard of the controllers: where it names itself, it claims to lead.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, Deadline, now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo, Promises
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems._shared.link import Malformed
from cluster.systems._shared.weakest_promise import weakest_promises
from cluster.systems.kafka import launch, outcomes, requests, settings_proof
from cluster.systems.kafka import settings as settings_of
from cluster.systems.kafka.group import Group
from cluster.systems.kafka.requests import LATEST, Partition
from cluster.systems.kafka.servers import (
    CONTROLLER_PORT,
    Broker,
    Brokers,
    barrier_of,
    controllers_of,
    number_of,
    replicas_of,
)
from cluster.systems.kafka.settings import BROKER
from cluster.systems.kafka.wire import Request

_ASK_S: Final = 1.0
_CONFIG_S: Final = 20.0
_PREPARE_S: Final = 60.0
_RETRY_S: Final = 0.2
_MS: Final = 1000


class KafkaProbe(Probe):
    """Asks brokers and controllers themselves."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._source = Brokers(view)
        self._controllers = {node.name: Broker(node.address, CONTROLLER_PORT) for node in controllers_of(view)}
        self._by_number = {number_of(node.name): node.name for node in view.nodes}
        self._subjects = launch.subjects(view.settings, view.keys)
        self._prepared = False

    async def prepare(self) -> None:
        """Create the topic, each partition with a preferred leader of its own as far as there are enough brokers.

        Raises:
            DeployError: nobody creates it. DeadlineError: not every broker heard of it in time.
        """
        names = [*self._source.brokers]
        assignments = [[number_of(name) for name in replicas_of(names, key)] for key in range(self._view.keys)]
        deadline = Deadline(f"topic {self._view.mark} on its brokers", _PREPARE_S)
        await self._require(self._view.mark, assignments, deadline)
        await self._require(barrier_of(self._view), assignments[:1], deadline)
        self._prepared = True
        while (missing := await self.readiness()) is not None:
            deadline.check(missing)
            await asyncio.sleep(_RETRY_S)

    async def _require(self, topic: str, assignments: Sequence[Sequence[int]], deadline: Deadline) -> None:
        """Have some broker create a topic, which may be there already. Raises DeployError: none does in time."""
        names, at = [*self._source.brokers], 0
        configuration = settings_of.of_topic(self._view.settings)
        request = requests.create_topic(topic, assignments, configuration, int(_CONFIG_S * _MS))
        while (problem := await self._create(names[at % len(names)], request)) is not None:
            if deadline.expired():
                raise DeployError(f"topic {topic} cannot be created: {problem}")
            at += 1
            await asyncio.sleep(_RETRY_S)

    async def _create(self, name: str, request: Request) -> str | None:
        """Ask a broker to create the topic; why there is none."""
        try:
            answer = await self._source.brokers[name].way("prepare").ask(request, ns_from_now(_CONFIG_S))
            error, message = requests.read_created(answer)
        except (Definite, Indefinite, Malformed) as problem:
            return str(problem)
        return None if error in (0, outcomes.TOPIC_EXISTS) else f"{outcomes.name_of(error)}: {message}"

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:
        """Compare what every broker shows of its settings, and of the topic's, with what they should be.

        Raises:
            DeployError: a setting is not in effect, or a broker does not say.
        """
        shown: dict[str, dict[str, str | None]] = {}
        for name in self._source.brokers:
            own = await self._shown(
                name, settings_proof.OF_BROKER, str(number_of(name)), [*settings_proof.required_lines(self._view)]
            )
            topic = {}
            if self._prepared:
                topic = await self._shown(name, settings_proof.OF_TOPIC, self._view.mark, settings_of.OF_TOPICS)
            shown[name] = settings_proof.by_setting(own, topic)
        wanted = settings_proof.wanted_settings(self._view, shown)
        wrong = settings_proof.differences(
            shown, wanted if asked is None else {k: wanted[k] for k in asked & {*wanted}}
        )
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise DeployError(f"settings are not in effect: {wrong[0]}{more}; see nodes/*/server.properties")
        text = f"{len(wanted)} settings proven to be in effect on {len(shown)} brokers"
        note = Note(time_ns=now_ns(), name="settings-in-effect", text=text)
        alike = settings_proof.common_settings(shown)
        return Confirmed(notes=(note,), settings=alike, promises=None if asked is None else self._promised(shown))

    def _promised(self, shown: Mapping[str, Mapping[str, str | None]]) -> Promises:
        """What holds by what every single broker of somebody else's cluster shows."""
        each = ({**self._view.settings, **{k: v for k, v in one.items() if v is not None}} for one in shown.values())
        return weakest_promises(settings_of.promises(one) for one in each)

    async def _shown(
        self, name: str, kind: int, resource: str, keys: "list[str] | tuple[str, ...]"
    ) -> dict[str, str | None]:
        request = requests.describe_configs(kind, resource, keys)
        try:
            answer = await self._source.brokers[name].way("prepare").ask(request, ns_from_now(_CONFIG_S))
            error, message, found = requests.configs_of(answer)
        except (Definite, Indefinite, Malformed) as problem:
            raise DeployError(f"{name} does not say its settings in effect: {problem}") from None
        if error:
            raise DeployError(f"{name} does not say its settings in effect: {outcomes.name_of(error)}: {message}")
        return found

    async def readiness(self) -> str | None:
        """None when every node answers, a controller leads, and (once prepared) each partition is led and in sync."""
        observed = await asyncio.gather(*(self.observe(node, _ASK_S) for node in self._view.nodes))
        kinds = ("replica", "controller") if self._prepared else ("controller",)
        subjects = [subject for subject in self._subjects if subject.kind in kinds]
        return not_ready({seen.node: seen for seen in observed}, subjects)

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s`` for everything together."""
        asked_ns = now_ns()
        deadline_ns = asked_ns + int(timeout_s * NS_PER_S)
        claims: list[Claim] = []
        role = None
        offsets: dict[str, int] = {}
        error = None
        try:
            if node.role == BROKER:
                known = await self._source.partitions(node.name, deadline_ns)
                claims += [claim_of(key, one, self._by_number) for key, one in sorted(known.items())]
                led = [key for key, one in known.items() if one.leader == number_of(node.name)]
                role = "leader" if led else "follower"
                try:
                    offsets = await self._ends(node.name, led, deadline_ns) if led else {}
                except (Definite, Indefinite, Malformed) as problem:  # it has answered, so it is alive
                    error = f"last offsets: {problem}"
            if node.name in self._controllers:
                quorum = await self._quorum(node.name, deadline_ns)
                active = not quorum.error and quorum.leader == number_of(node.name)
                role = role or ("active controller" if active else "controller")
                if active:
                    claims.append(Claim(subject=launch.CONTROLLERS, leader=node.name, epoch=quorum.epoch))
        except (Definite, Indefinite, Malformed) as problem:
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=str(problem))
        return Observation(
            time_ns=now_ns(),
            asked_ns=asked_ns,
            node=node.name,
            alive=True,
            role=role,
            claims=tuple(claims),
            max_offsets=offsets or None,
            error=error,
        )

    async def _ends(self, name: str, keys: list[int], deadline_ns: int) -> dict[str, int]:
        """The offset behind the last that is replicated, of partitions that a broker leads."""
        request = requests.list_offsets(self._view.mark, keys, LATEST)
        found = requests.offsets_of(await self._source.brokers[name].way("observe").ask(request, deadline_ns))
        return {str(key): one.offset for key, one in found.items() if not one.error}

    async def _quorum(self, name: str, deadline_ns: int) -> requests.Quorum:
        answer = await self._controllers[name].way("observe").ask(requests.describe_quorum(), deadline_ns)
        return requests.quorum_of(answer)

    async def remove(self) -> Removal:
        """Delete the run's topics, and the group."""
        topic = self._view.mark
        topics = f"topics and group {topic}*"
        requested = [requests.delete_topic(name, int(_CONFIG_S * _MS)) for name in (topic, barrier_of(self._view))]
        why = [problem for request in requested if (problem := await self._delete(request)) is not None]
        if (problem := await Group(self._view, self._source, 0).delete(ns_from_now(_CONFIG_S))) is not None:
            why.append(problem)
        return Removal(left=(f"{topics}: {'; '.join(why)}",)) if why else Removal(removed=(topics,))

    async def _delete(self, request: Request) -> str | None:
        """Have some broker delete a topic; why it is left."""
        why = "nobody was asked"
        for name, broker in self._source.brokers.items():
            try:
                error = requests.read_deleted(await broker.way("prepare").ask(request, ns_from_now(_CONFIG_S)))
            except (Definite, Indefinite, Malformed) as problem:
                why = f"{name}: {problem}"
                continue
            if error in (0, outcomes.UNKNOWN_TOPIC):
                return None
            why = f"{name}: {outcomes.name_of(error)}"
        return why

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._source.close()
        for controller in self._controllers.values():
            controller.close()


def claim_of(key: int, known: Partition, names: Mapping[int, str]) -> Claim:
    """What a broker says of a partition, whose epochs are counted from 1 here and from 0 by Kafka. Pure."""
    leader = names.get(known.leader) if known.leader is not None else None
    members = tuple(sorted(names[number] for number in known.in_sync if number in names))
    return Claim(subject=launch.subject_of(key), leader=leader, epoch=known.epoch + 1, members=members)
