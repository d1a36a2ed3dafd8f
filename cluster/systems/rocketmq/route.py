"""Who is master and who is slave, as the name server says it: parsing (pure) and the poller.

A client looks at the route every ``client.routePollInterval`` seconds and never in between, whatever
errors it meets: the interval is printed beside every recovery time. An old route stays until a new
one arrives.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems.rocketmq.connection import Link, seconds_until
from cluster.systems.rocketmq.protocol import Answer, Code, Request

MASTER_ID: Final = 0
_ASK_TIMEOUT_S: Final = 1.0


class Route(msgspec.Struct, frozen=True):
    """Node names. ``master`` is None while the name server knows none."""

    master: str | None
    slaves: tuple[str, ...]


class _Broker(msgspec.Struct):
    brokerName: str  # noqa: N815 - the protocol's spelling
    brokerAddrs: dict[int, str]  # noqa: N815


class _Table(msgspec.Struct):
    brokerDatas: list[_Broker]  # noqa: N815


_decode = msgspec.json.Decoder(_Table).decode


def parse(answer: Answer, names: Mapping[str, str]) -> Route | None:
    """The route in an answer to GET_ROUTEINFO_BY_TOPIC, None if it holds none. ``names``: address:port → node."""
    if answer.code != Code.SUCCESS:
        return None
    try:
        brokers = _decode(answer.body).brokerDatas
    except msgspec.DecodeError:
        return None
    known = [
        (identity, names[address])
        for broker in brokers
        for identity, address in sorted(broker.brokerAddrs.items())
        if address in names
    ]
    masters = [name for identity, name in known if identity == MASTER_ID]
    return Route(masters[0] if masters else None, tuple(name for identity, name in known if identity != MASTER_ID))


async def ask(link: Link, topic: str, names: Mapping[str, str], deadline_ns: int) -> Route | None:
    """Ask a name server once; None if it does not answer or knows no route."""
    try:
        answer = await link.request(
            Request.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": True}, deadline_ns
        )
    except (Definite, Indefinite):
        return None
    return parse(answer, names)


class RoutePoller:
    """Keeps one client's route. Starts with the first question and looks again every ``interval_s``."""

    def __init__(self, link: Link, topic: str, names: Mapping[str, str], interval_s: float) -> None:
        self._link = link
        self._topic = topic
        self._names = names
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
                async with asyncio.timeout(seconds_until(deadline_ns)):
                    await self._first.wait()
            except TimeoutError:
                raise Definite("no route: the name server did not answer") from None
        assert self._route is not None
        return self._route

    async def _poll(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            found = await ask(self._link, self._topic, self._names, now_ns() + int(_ASK_TIMEOUT_S * NS_PER_S))
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
        self._link.close()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
