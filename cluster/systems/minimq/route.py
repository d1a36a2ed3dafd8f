"""Who is master and who follows, as the controllers say it.

Every controller is asked at once and the first that answers as leader counts: it has shown that a quorum still
follows it, so no hint has to be trusted and a controller that is down costs no time.
"""

import asyncio
from collections.abc import Mapping

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.routing import Route
from cluster.systems.minimq.messages import Accepted, GetMetadata, Metadata
from cluster.systems.minimq.rpc import Answer, Link, Request


def route_of(metadata: Metadata) -> Route | None:
    """Pure: the route in the controllers' metadata; None before any broker has registered."""
    group = metadata.group
    if not group.brokers:
        return None
    return Route(group.master, tuple(each.broker for each in group.brokers if each.broker != group.master))


class Controllers:
    """All controllers, asked as one. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, links: Mapping[str, Link]) -> None:
        self._links = links

    async def ask(self, deadline_ns: int) -> Route | None:
        """The route as the leader knows it; None if no controller answers as leader, or no broker has registered."""
        answer = await self.first(GetMetadata(), deadline_ns)
        return route_of(answer.metadata) if isinstance(answer, Accepted) else None

    async def first(self, request: Request, deadline_ns: int) -> Answer | None:
        """Put a request to every controller: the first acceptance, else any answer, else None.

        Only for requests that may be carried out twice.
        """
        asked = [asyncio.ensure_future(link.ask(request, deadline_ns)) for link in self._links.values()]
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
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return other

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for link in self._links.values():
            link.close()
