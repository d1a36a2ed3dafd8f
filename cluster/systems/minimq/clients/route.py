"""Who is master and who follows, as the controllers say it.

Every controller is asked at once and the first that answers as leader counts: it has shown that a quorum still
follows it, so no hint has to be trusted and a controller that is down costs no time.
"""

import asyncio
from collections.abc import Mapping, Sequence

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.minimq.clients.rpc import Answer, Asked, Request
from cluster.systems.minimq.protocol.groups import ONE
from cluster.systems.minimq.protocol.messages import Accepted, GetMetadata, Metadata


def route_of(groups: Sequence[Metadata]) -> Route | None:
    """Pure: the route in the controllers' metadata of all groups; None before a broker of each has registered."""
    if not all(metadata.group.brokers for metadata in groups):
        return None
    return route_over((one.group.master, [each.broker for each in one.group.brokers]) for one in groups)


class Controllers:
    """All controllers, asked as one. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, links: Mapping[str, Asked], groups: Sequence[str] = (ONE,)) -> None:
        """``links``: the way to each; ``groups``: those whose masters a route is made of, in its order."""
        self._links = links
        self._groups = tuple(groups)

    async def ask(self, deadline_ns: int) -> Route | None:
        """The route as the leader knows it; None if no controller answers as leader, or a group has no broker yet."""
        asked = [self.first(GetMetadata(group=name), deadline_ns) for name in self._groups]
        answers = [await asked[0]] if len(asked) == 1 else await asyncio.gather(*asked)
        known = [answer.metadata for answer in answers if isinstance(answer, Accepted)]
        return route_of(known) if len(known) == len(answers) else None

    async def first(self, request: Request, deadline_ns: int) -> Answer | None:
        """Put a request to every controller: the first acceptance, else any answer, else None.

        Only for requests that may be carried out twice.
        """
        loop = asyncio.get_running_loop()
        asked = [loop.create_task(link.ask(request, deadline_ns)) for link in self._links.values()]
        other: Answer | None = None
        try:
            for answered in asyncio.as_completed(asked):
                try:
                    answer = await answered
                except (Definite, Indefinite):
                    continue
                if isinstance(answer, Accepted):
                    return answer
                other = answer
        finally:
            late = [task for task in asked if not task.done() or task.cancelled() or task.exception() is not None]
            for task in late:
                task.cancel()
            if late:
                await asyncio.gather(*late, return_exceptions=True)
        return other

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for link in self._links.values():
            link.close()
