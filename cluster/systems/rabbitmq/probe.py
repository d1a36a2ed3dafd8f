"""The nodes asked about themselves: whether they serve, who leads each queue, and with which settings they run."""

import asyncio
from collections.abc import Mapping
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns, ns_from_now
from chaos.core.errors import DeployError
from chaos.core.events import Claim, Note, Observation
from chaos.storage.runinfo import NodeInfo
from cluster.leaders import not_ready
from cluster.system import ClusterView, Confirmed, Probe, Removal
from cluster.systems.rabbitmq import queues
from cluster.systems.rabbitmq import settings as settings_of
from cluster.systems.rabbitmq.amqp import Declare, Delete, Refused, Request
from cluster.systems.rabbitmq.amqp import Done as AmqpDone
from cluster.systems.rabbitmq.channels import Channels
from cluster.systems.rabbitmq.queues import CLASSIC, MIRRORED, QUORUM
from cluster.systems.rabbitmq.servers import Done, Servers, Shown, State
from cluster.systems.rabbitmq.settings import IN_EFFECT, TICK

_TIMEOUT_S: Final = 5.0
_PREPARE_TIMEOUT_S: Final = 20.0
_READY_TIMEOUT_S: Final = 1.0


class RabbitProbe(Probe):
    """Asks the observer inside each node; makes and removes the queues by AMQP."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._servers = Servers(view)
        self._subjects = queues.subjects(view.settings, view.keys)
        self._channels = {node.name: Channels(node.address) for node in view.nodes}
        self._prepared = False

    async def prepare(self) -> None:
        """Make the queues, each at its own node; one that is there already is left. Raises DeployError if refused."""
        settings = self._view.settings
        nodes = queues.nodes_of(settings)
        if settings["cluster.queueType"] == MIRRORED:
            await self._mirror(nodes[0])
        for key, queue in enumerate(self._servers.queues):
            await self._do(queues.declared_at(key, nodes), Declare(queue, queues.arguments(settings)))
        self._prepared = True

    async def _mirror(self, name: str) -> None:
        """Have classic queues mirrored. Raises DeployError."""
        try:
            done = await self._servers.observers[name].ask("mirror", Done, ns_from_now(_PREPARE_TIMEOUT_S))
        except (Definite, Indefinite) as error:
            raise DeployError(f"{name}: mirrors: {error}") from None
        if done.set != "ok":
            raise DeployError(f"{name}: mirrors: {done.error or done.set}")

    async def _do(self, name: str, request: Request) -> None:
        """Ask one node for something. Raises DeployError."""
        try:
            answer = await self._channels[name].ask(request, ns_from_now(_PREPARE_TIMEOUT_S))
        except (Definite, Indefinite) as error:
            raise DeployError(f"{name}: {type(request).__name__} {request[0]}: {error}") from None
        if not isinstance(answer, AmqpDone):
            said = f"{answer.code} {answer.text}" if isinstance(answer, Refused) else str(answer)
            raise DeployError(f"{name}: {type(request).__name__} {request[0]}: {said}")

    async def confirm(self, asked: frozenset[str] | None = None) -> Confirmed:  # noqa: ARG002 - clusters are our own
        """Compare what every node says of itself and of its queues with the settings.

        Raises:
            DeployError: a setting is not in effect, or a node does not say.
        """
        versions: set[str] = set()
        proven: set[str] = set()
        for node in self._view.nodes:
            state, shown = await self._shown(node.name)
            found = settings_shown(state, shown, self._servers.queues)
            for key, wanted in self._view.settings.items():
                if key in found and found[key] != wanted:
                    raise DeployError(
                        f"settings are not in effect: {node.name}: {key} is {found[key]} instead of {wanted}"
                    )
            missing = set(settings_of.lines(self._view.settings)) - set(found)
            if missing:
                raise DeployError(f"settings are not in effect: {node.name} does not know {', '.join(sorted(missing))}")
            versions.add(state.version)
            proven |= set(found) & set(self._view.settings)
        which = ", ".join(sorted(versions))
        text = f"rabbitmq {which}; {len(proven)} settings proven to be in effect on {len(self._view.nodes)} nodes"
        notes = (Note(time_ns=now_ns(), name="settings-in-effect", text=text),)
        return Confirmed(notes=notes, settings={key: self._view.settings[key] for key in proven})

    async def _shown(self, name: str) -> tuple[State, Shown]:
        """What a node shows. Raises DeployError if it does not."""
        observer = self._servers.observers[name]
        try:
            state = await observer.ask("state", State, ns_from_now(_TIMEOUT_S))
            shown = await observer.ask(f"settings {' '.join(IN_EFFECT)}", Shown, ns_from_now(_TIMEOUT_S))
        except (Definite, Indefinite) as error:
            raise DeployError(f"{name} does not say its settings in effect: {error}") from None
        if state.error or shown.error:
            raise DeployError(f"{name} does not say its settings in effect: {state.error or shown.error}")
        return state, shown

    async def readiness(self) -> str | None:
        """None when all nodes run together and, once there are queues, each has a leader and all its mirrors."""
        nodes = self._view.nodes
        states = await asyncio.gather(*(self._said(node.name, _READY_TIMEOUT_S) for node in nodes))
        for node, said in zip(nodes, states, strict=True):
            if isinstance(said, str):
                return f"{node.name} does not answer: {said}"
            if len(said.running) != len(nodes):
                return f"{node.name} runs with {len(said.running)} of {len(nodes)} nodes"
        if not self._prepared:
            return None
        observed = await asyncio.gather(*(self.observe(node, _READY_TIMEOUT_S) for node in nodes))
        return not_ready({seen.node: seen for seen in observed}, self._subjects)

    async def _said(self, name: str, timeout_s: float) -> State | str:
        """What a node that serves says of itself, or why it does not."""
        try:
            state = await self._servers.observers[name].ask("state", State, ns_from_now(timeout_s))
        except (Definite, Indefinite) as error:
            return str(error)
        return state if state.serves else state.error or "it runs and does not serve"

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one node, within ``timeout_s``."""
        asked_ns = now_ns()
        said = await self._said(node.name, timeout_s)
        if isinstance(said, str):
            return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=False, error=said)
        claims = claims_of(node.name, said, self._servers.queues, self._servers.names)
        role = "leader" if any(claim.leader == node.name for claim in claims) else "follower"
        return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=True, role=role, claims=claims)

    async def remove(self) -> Removal:
        """Delete the run's queues."""
        removed, left = [], []
        for key, queue in enumerate(self._servers.queues):
            try:
                await self._do(queues.declared_at(key, queues.nodes_of(self._view.settings)), Delete(queue))
                removed.append(f"queue {queue}")
            except DeployError as error:
                left.append(str(error))
        return Removal(removed=tuple(removed), left=tuple(left))

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        self._servers.close()
        for channels in self._channels.values():
            channels.close()


def claims_of(node: str, said: State, names: tuple[str, ...], known: Mapping[str, str]) -> tuple[Claim, ...]:
    """Pure: what a node says of who leads each queue. Only a leader knows its own term, and a classic queue has none.

    Args:
        node: its name.
        said: its words.
        names: of the run's queues, in order.
        known: name of an Erlang node → name of the node.
    """
    out = []
    for key, name in enumerate(names):
        queue = said.queue(name)
        if queue is None:
            continue
        leader = known.get(queue.leader)
        quorum, leads = queue.type == QUORUM, leader == node
        members = tuple(sorted(known[one] for one in queue.members if one in known))
        out.append(
            Claim(
                subject=queues.subject_of(key),
                leader=leader,
                epoch=queue.term if quorum and leads else None,
                members=members if leads and not quorum else None,
            )
        )
    return tuple(out)


def settings_shown(state: State, shown: Shown, names: tuple[str, ...]) -> dict[str, str]:
    """Pure: the settings as a node shows them, by full name."""
    out = {**shown.lines, **{key: value for key, value in shown.values.items() if key in shown.lines}}
    out[TICK] = str(shown.ticktime)
    out["cluster.nodes"] = str(len(state.running))
    kept = [queue for queue in state.queues if queue.name in names]
    types = {type_of(queue.type, len(queue.members)) for queue in kept}
    if types:
        out["cluster.queueType"] = ", ".join(sorted(types))
    return out


def type_of(kind: str, members: int) -> str:
    """Pure: the type of a queue, as the setting has it."""
    return MIRRORED if kind == CLASSIC and members > 1 else kind
