"""The ways to a broker and to a controller, and the route that brokers tell.

A broker treats the requests of one connection one after the other, and waits with an answer to a send until replicas
have it. So sends to each partition and reads of each have a connection of their own, as those of Kafka's own producers
and consumers have.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems._shared.link import Link, Malformed
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.kafka import requests
from cluster.systems.kafka.requests import Partition
from cluster.systems.kafka.settings import BROKER, CONTROLLER
from cluster.systems.kafka.wire import Reader, Request, Wire

BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
_FIRST_CONTROLLER: Final = 101

Way = Link[Request, Reader]
"""One connection to a node, made again when it broke."""


def number_of(name: str) -> int:
    """The number of a node by which Kafka knows it: b2 is 2, c2 is 102. Pure."""
    return int(name[1:]) + (_FIRST_CONTROLLER - 1 if name.startswith("c") else 0)


def controllers_of(view: ClusterView) -> tuple[NodeInfo, ...]:
    """The nodes that are controllers: the brokers themselves where they are combined. Pure."""
    return view.of_role(CONTROLLER) or view.of_role(BROKER)


def replicas_of(brokers: Sequence[str], key: int) -> tuple[str, ...]:
    """The brokers of a partition, the preferred leader first: partitions take turns. Pure."""
    first = key % len(brokers)
    return (*brokers[first:], *brokers[:first])


def barrier_of(view: ClusterView) -> str:
    """The topic at whose only partition no message is, and the group's commits prove who coordinates it. Pure."""
    return f"{view.mark}-barrier"


class Broker:
    """The connections to one broker."""

    def __init__(self, host: str, port: int = BROKER_PORT) -> None:
        self._dial = partial(Link, host, port, Wire)
        self._ways: dict[tuple[str, int], Way] = {}

    def way(self, use: str, key: int = -1) -> Way:
        """The connection for a use of a partition, -1: of none."""
        found = self._ways.get((use, key))
        if found is None:
            found = self._ways[use, key] = self._dial()
        return found

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for way in self._ways.values():
            way.close()


class Brokers:
    """Every broker, by name. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.brokers = {node.name: Broker(node.address) for node in view.of_role(BROKER)}
        self.names = {number_of(name): name for name in self.brokers}
        self._topic = view.mark
        self._keys = view.keys

    async def ask(self, deadline_ns: int) -> Route | None:
        """Ask all; the newest leader of each partition. None if nobody knows all partitions."""
        asked = [self.partitions(name, deadline_ns) for name in self.brokers]
        heard = await asyncio.gather(*asked, return_exceptions=True)
        for one in heard:
            if isinstance(one, BaseException) and not isinstance(one, Definite | Indefinite):
                raise one
        return route([one for one in heard if isinstance(one, dict)], self._keys, self.names)

    async def partitions(self, name: str, deadline_ns: int) -> dict[int, Partition]:
        """What a broker knows of the topic's partitions; nothing before it knows the topic.

        Raises:
            Definite, Indefinite: it does not say.
        """
        reader = await self.brokers[name].way("route").ask(requests.metadata(self._topic), deadline_ns)
        try:
            _, found = requests.partitions_of(reader)
        except Malformed as error:
            raise Indefinite(f"malformed answer: {error}") from None
        return found

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for broker in self.brokers.values():
            broker.close()


def route(heard: Sequence[Mapping[int, Partition]], keys: int, names: Mapping[int, str]) -> Route | None:
    """Who leads each partition in its newest epoch, as brokers say it. Pure."""
    subjects = []
    for key in range(keys):
        known = [said[key] for said in heard if key in said]
        if not known:
            return None
        newest = max(known, key=lambda one: one.epoch)
        leader = names.get(newest.leader) if newest.leader is not None else None
        subjects.append((leader, [names[number] for number in newest.replicas if number in names]))
    return route_over(subjects)
