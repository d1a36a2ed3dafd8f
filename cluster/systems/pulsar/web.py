"""What nodes tell over HTTP: whether they serve, their settings in effect, a topic's ledgers and its backlog."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from chaos.core.client import Definite
from cluster.systems._shared.http import OK, HttpLinks, Request
from cluster.systems.pulsar.settings import BOOKIE_WEB_PORT, NAMESPACE, WEB_PORT

_TOPICS: Final = f"/admin/v2/persistent/{NAMESPACE}"

FoundT = TypeVar("FoundT")


class LedgerOf(msgspec.Struct, frozen=True, rename="camel"):
    """A ledger of a topic. ``metadata``: BookKeeper's description of it, where that was asked for.

    ``entries``: how many are in it, counted when it is closed: 0 while it is open. An empty one leaves the list.
    """

    ledger_id: int
    entries: int = 0
    metadata: str = ""


class Ledgers(msgspec.Struct, frozen=True, rename="camel"):
    """A topic's ledgers in order, as its owner says."""

    ledgers: tuple[LedgerOf, ...] = ()

    @property
    def current(self) -> int | None:
        """The ledger that the owner writes to; None between two of them."""
        return self.ledgers[-1].ledger_id if self.ledgers and not self.ledgers[-1].entries else None


class Subscription(msgspec.Struct, frozen=True, rename="camel"):
    """A subscription of a topic. ``msg_backlog``: the messages that it has not acknowledged."""

    msg_backlog: int


class Stats(msgspec.Struct, frozen=True):
    """What a topic's owner says of it."""

    subscriptions: dict[str, Subscription] = {}


class Web:
    """The way to what a node tells over HTTP. ``alive_at``, ``configuration_at``: where it says these."""

    alive_at = "/admin/v2/brokers/ready"
    configuration_at = "/admin/v2/brokers/configuration/runtime"

    def __init__(self, host: str, port: int = WEB_PORT) -> None:
        self._links = HttpLinks(host, port)

    async def ledgers(self, topic: str, deadline_ns: int, *, described: bool = False) -> Ledgers | str | None:
        """A topic's ledgers, if the broker owns it and has it open; else the address of whom it names, None: nobody.

        ``described``: with BookKeeper's description of each.

        Raises:
            Definite, Indefinite: it does not say.
        """
        query = "?metadata=true" if described else ""
        answer = await self._links.ask(Request(f"{_TOPICS}/{topic}/internalStats{query}"), deadline_ns)
        if answer.status == HTTPStatus.TEMPORARY_REDIRECT:
            return _host_in(answer.location)
        return _decoded(answer.body, Ledgers) if answer.status == OK else None

    async def backlog(self, topic: str, subscription: str, deadline_ns: int) -> int:
        """How many messages a subscription has not acknowledged, exactly, as the topic's owner says.

        Raises:
            Definite, Indefinite: it does not say, or does not own the topic.
        """
        answer = await self._links.ask(Request(f"{_TOPICS}/{topic}/stats?getPreciseBacklog=true"), deadline_ns)
        if answer.status != OK:
            raise Definite(f"backlog: status {answer.status}")
        found = _decoded(answer.body, Stats).subscriptions.get(subscription)
        if found is None:
            raise Definite("backlog: no such subscription")
        return found.msg_backlog

    async def alive(self, deadline_ns: int) -> None:
        """Ask whether the node serves. Raises Definite or Indefinite: it does not say so."""
        answer = await self._links.ask(Request(self.alive_at), deadline_ns)
        if answer.status != OK:
            raise Definite(f"status {answer.status}")

    async def configuration(self, deadline_ns: int) -> Mapping[str, object]:
        """The keys of the node's file with the values in effect. Raises Definite or Indefinite: it does not say."""
        answer = await self._links.ask(Request(self.configuration_at), deadline_ns)
        if answer.status != OK:
            raise Definite(f"status {answer.status}")
        return _decoded(answer.body, dict[str, object])

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._links.close()


class Bookie(Web):
    """The way to what a bookie tells over HTTP."""

    alive_at = "/heartbeat"
    configuration_at = "/api/v1/config/server_config"

    def __init__(self, host: str, port: int = BOOKIE_WEB_PORT) -> None:
        super().__init__(host, port)


def _host_in(location: str) -> str | None:
    """The host of an address on the web; None if it is none."""
    try:
        return urlsplit(location).hostname
    except ValueError:
        return None


def _decoded(body: bytes, kind: type[FoundT]) -> FoundT:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Definite(f"malformed answer: {error}") from None
