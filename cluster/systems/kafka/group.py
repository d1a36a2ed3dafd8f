"""The consumer group of Kafka's clients: where it goes on in each partition, kept by one broker, its coordinator.

Members say themselves which partitions they read ("assign"), so the group has none that Kafka knows of; or they join
it, and each commit is that of a member of a generation (``client.members``). A coordinator writes commits to a log of
its own and answers questions from its memory, also after it was replaced. So a question counts only if the coordinator
took a commit behind it, of a partition that nobody reads: only who coordinates the group still can.
"""

from typing import Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.log.operations import Commit, GoesOn
from chaos.models.log.words import F
from cluster.system import ClusterView
from cluster.systems._shared.link import Malformed
from cluster.systems.kafka import outcomes, requests
from cluster.systems.kafka.members import NOBODY, Member, Place
from cluster.systems.kafka.servers import Brokers, Way, barrier_of

GROUP_OPERATIONS: Final = (F.COMMIT, F.COMMITTED_READ)
_GROUP: Final = 0
_NOT_FOUND: Final = 69


class Group:
    """One client's way to the group.

    Args:
        view: the cluster.
        source: the ways to its brokers.
        number: the client's, which decides whom it asks first who coordinates.
    """

    def __init__(self, view: ClusterView, source: Brokers, number: int) -> None:
        self._source = source
        self._topic = view.mark
        self._barrier = barrier_of(view)
        self._name = f"{view.mark}-group"
        self._next = number
        self._coordinator: str | None = None
        joins = view.settings["client.members"] == "on"
        self._member = Member(self._name, self._topic, view.keys) if joins else None

    async def coordinator(self, deadline_ns: int) -> str:
        """Who coordinates the group, as some broker says; asked again after anything went wrong.

        Raises:
            Definite: the broker does not say.
        """
        if self._coordinator is None:
            names = [*self._source.brokers]
            asked = names[self._next % len(names)]
            self._next += 1
            request = requests.find_coordinator(self._name, _GROUP)
            try:
                reader = await self._source.brokers[asked].way("route").ask(request, deadline_ns)
                error, number = requests.coordinator_of(reader)
            except (Indefinite, Malformed) as problem:
                raise Definite(f"no coordinator: {asked}: {problem}") from None
            if error or number not in self._source.names:
                raise Definite(f"no coordinator: {outcomes.name_of(error)}")
            self._coordinator = self._source.names[number]
        return self._coordinator

    def forget(self) -> None:
        """Ask again who coordinates."""
        self._coordinator = None

    async def perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Commit, or ask where the group goes on. Raises Definite or Indefinite."""
        way = self._source.brokers[node].way("group", op.key)
        try:
            place = NOBODY
            if self._member is not None:
                place = await self._member.place(self._source.brokers[node], deadline_ns)
            if op.f is F.COMMIT:
                asked: Commit = op.argument
                await self._commit(way, place, self._topic, op.key, asked.offset, deadline_ns)
            else:
                received.result = await self._goes_on(way, place, op.key, deadline_ns)
        except (Definite, Indefinite):
            self._coordinator = None
            raise

    async def _commit(self, way: Way, place: Place, topic: str, key: int, offset: int, deadline_ns: int) -> None:
        request = requests.commit_offset(self._name, topic, key, offset, member=place.name, generation=place.generation)
        reader = await way.ask(request, deadline_ns)
        try:
            error = requests.read_committed(reader)
        except Malformed as problem:
            raise Indefinite(f"malformed answer: {problem}") from None
        if error:
            raise outcomes.of_commit(error)

    async def _goes_on(self, way: Way, place: Place, key: int, deadline_ns: int) -> GoesOn:
        reader = await way.ask(requests.fetch_offset(self._name, self._topic, key), deadline_ns)
        try:
            error, offset = requests.committed_offset(reader)
        except Malformed as problem:
            raise Definite(f"malformed answer: {problem}") from None
        if error:
            raise Definite(outcomes.name_of(error))
        try:
            await self._commit(way, place, self._barrier, 0, 0, deadline_ns)
        except (Definite, Indefinite) as problem:
            raise Definite(f"not the coordinator any more, maybe: {problem}") from None
        return GoesOn(offset if offset >= 0 else None)

    async def delete(self, deadline_ns: int) -> str | None:
        """Have the coordinator forget the group; why it is left."""
        try:
            node = await self.coordinator(deadline_ns)
            reader = await self._source.brokers[node].way("group").ask(requests.delete_group(self._name), deadline_ns)
            error = requests.read_deleted(reader)
        except (Definite, Indefinite, Malformed) as problem:
            return f"group: {problem}"
        return None if error in (0, _NOT_FOUND) else f"group: {outcomes.name_of(error)}"
