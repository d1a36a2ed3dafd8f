"""A client's end of the protocol: ``wire``'s frames as a codec of ``_shared.link``, and a link to one node."""

from typing import Final, Protocol

from cluster.systems._shared import link
from cluster.systems.minimq.protocol.broker_messages import BrokerAnswer, BrokerRequest
from cluster.systems.minimq.protocol.messages import ControllerAnswer, ControllerRequest, GetSettings, Settings
from cluster.systems.minimq.protocol.wire import PORT, Back, Call, Frames, Hello, WireError, frame

Request = ControllerRequest | BrokerRequest | GetSettings
Answer = ControllerAnswer | BrokerAnswer | Settings


class Calls:
    """Implements ``cluster.systems._shared.link.Codec``."""

    greeting: Final = frame(Hello())

    def __init__(self) -> None:
        self._frames: Frames[Back] = Frames(Back)

    def encode(self, number: int, request: Request) -> bytes:
        """The frame of a call."""
        try:
            return frame(Call(number, request))
        except WireError as error:
            raise link.Malformed(str(error)) from None

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answers that are whole now."""
        try:
            return [(back.number, back.body) for back in self._frames.feed(data)]
        except WireError as error:
            raise link.Malformed(str(error)) from None


class Asked(Protocol):
    """What clients need of the way to one node."""

    async def ask(self, request: Request, deadline_ns: int) -> Answer:
        """One request, one answer. Raises Definite if it was not sent, Indefinite without an answer."""
        ...

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        ...


class Link(link.Link[Request, Answer]):
    """The way to one node."""

    def __init__(self, host: str, port: int = PORT) -> None:
        super().__init__(host, port, Calls)
