"""Who is master and who is slave, as the name server says it: asking, and parsing (pure)."""

from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.routing import Route, Served
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.protocol import Answer, Code, Request

MASTER_ID: Final = 0


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
    slaves = tuple(name for identity, name in known if identity != MASTER_ID)
    return Route((Served(masters[0] if masters else None, slaves),))


class NameServer:
    """Implements ``_shared.routing.RouteSource`` for one name server. ``names``: address:port → node."""

    def __init__(self, link: Link, topic: str, names: Mapping[str, str]) -> None:
        self._link = link
        self._topic = topic
        self._names = names

    async def ask(self, deadline_ns: int) -> Route | None:
        """Ask once; None if it does not answer or knows no route."""
        try:
            answer = await self._link.request(
                Request.GET_ROUTEINFO_BY_TOPIC, {"topic": self._topic, "acceptStandardJsonOnly": True}, deadline_ns
            )
        except (Definite, Indefinite):
            return None
        return parse(answer, self._names)

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        self._link.close()
