"""Where clients go: the route they follow, the poller that keeps it, and who stays on one broker instead.

Shared by all systems. A client looks at the route every ``client.routePollInterval`` seconds and never in between,
whatever errors it meets: the interval is printed beside every recovery time. An old route stays until a new one
arrives.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from chaos.core.client import Definite
from chaos.core.clock import ns_from_now
from chaos.core.errors import UsageError
from chaos.core.time_limit import until

ROUTINGS: Final = ("follow", "pinned", "mixed")

CLIENT_HELP: Final[Mapping[str, str]] = {
    "client.routePollInterval": "seconds between two looks of a client at the route (default 1)",
    "client.routing": "follow: all clients follow the route; pinned: each stays on one broker; "
    "mixed (default): three eighths of them are pinned, one per broker in turn",
}
"""Settings that every system's clients have; a system says itself what ``client.slaveReads`` means to it."""

_ASK_TIMEOUT_S: Final = 1.0


class Served(msgspec.Struct, frozen=True):
    """Who serves a subject, by name. ``leader`` is None while whoever was asked knows none."""

    leader: str | None
    followers: tuple[str, ...]


class Route(msgspec.Struct, frozen=True):
    """Who serves which key: the subjects in order; a key belongs to the one at key mod their number."""

    subjects: tuple[Served, ...]

    def leader(self, key: int) -> str | None:
        """The leader of the subject that serves a key."""
        return self.subjects[key % len(self.subjects)].leader

    def followers(self, key: int) -> tuple[str, ...]:
        """Its followers."""
        return self.subjects[key % len(self.subjects)].followers


def route_over(groups: Iterable[tuple[str | None, Iterable[str]]]) -> Route:
    """Pure: a route from one pair for each subject: its leader, None if it has none, and all nodes that keep it."""
    return Route(tuple(Served(leader, tuple(name for name in own if name != leader)) for leader, own in groups))


class RouteSource(Protocol):
    """Asks a system for the route."""

    async def ask(self, deadline_ns: int) -> Route | None:
        """Ask once; None if there is no answer or no route."""
        ...

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        ...


class RoutePoller:
    """Keeps one client's route. Starts with the first question and looks again every ``interval_s``.

    ``whom``: who is asked, for the error of a route that never came.
    """

    def __init__(self, source: RouteSource, whom: str, interval_s: float) -> None:
        self._source = source
        self._whom = whom
        self._interval_s = interval_s
        self._route: Route | None = None
        self._first = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def route(self, deadline_ns: int) -> Route:
        """The route as last seen; waits only for the very first one.

        Raises:
            Definite: there was none before the deadline.
        """
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._poll())
        if self._route is None:
            try:
                with until(deadline_ns):
                    await self._first.wait()
            except TimeoutError:
                raise Definite(f"no route: {self._whom} did not answer") from None
        if self._route is None:
            raise Definite("no route: the client was told to begin anew")
        return self._route

    async def _poll(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            found = await self._source.ask(ns_from_now(_ASK_TIMEOUT_S))
            if found is not None:
                self._route = found
                self._first.set()
            due = max(due + self._interval_s, loop.time())
            await asyncio.sleep(due - loop.time())

    async def stop(self) -> None:
        """Forget the route and stop looking; safe to call twice. The next question starts anew."""
        task, self._task = self._task, None
        self._route = None
        self._first.clear()
        self._source.close()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def is_pinned(routing: str, clients: int) -> list[bool]:
    """For each client number, whether it stays on one broker. Mixed: the last three eighths, rounded."""
    pinned = {"follow": 0, "pinned": clients, "mixed": (clients * 3 + 4) // 8}[routing]
    return [number >= clients - pinned for number in range(clients)]


def pinned_node(routing: str, number: int, clients: int, brokers: Sequence[str]) -> str | None:
    """The broker that client ``number`` stays on (one per broker in turn), or None if it follows the route.

    A number that is none of the clients' (the drain has one) always follows.
    """
    pinned = is_pinned(routing, clients)
    if not 0 <= number < clients:
        return None
    return brokers[sum(pinned[:number]) % len(brokers)] if pinned[number] else None


def check_client(name: str, value: str) -> None:
    """Check the value of a ``client.…`` setting.

    Raises:
        UsageError: it is not one.
    """
    if name == "client.routing" and value not in ROUTINGS:
        raise UsageError(f"--set {name}={value}: one of {', '.join(ROUTINGS)}")
    if name == "client.slaveReads" and value not in ("on", "off"):
        raise UsageError(f"--set {name}={value}: on or off")
    if name == "client.routePollInterval" and not is_positive(value):
        raise UsageError(f"--set {name}={value}: a number of seconds above 0")


def is_number(text: str) -> bool:
    """Whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_positive(text: str) -> bool:
    """Whether the text is a finite number above 0."""
    return is_number(text) and 0 < float(text) < float("inf")
