"""RocketMQ's remoting as a codec of ``cluster.systems.link``, and a link that speaks it.

A request of the server's own (it may ask a client something) is nobody's answer and is left out.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cluster.systems import link
from cluster.systems.rocketmq.protocol import Answer, FrameBuffer, ProtocolError, encode_request


class Call(NamedTuple):
    """One request: its code, its header's fields, its body."""

    code: int
    fields: Mapping[str, object]
    body: bytes


class Remoting:
    """Implements ``cluster.systems.link.Codec``; nobody greets."""

    greeting: Final = b""

    def __init__(self) -> None:
        self._buffer = FrameBuffer()

    def encode(self, number: int, request: Call) -> bytes:
        """A request frame; ``number`` is its opaque number."""
        return encode_request(request.code, number, request.fields, request.body)

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answers that are whole now."""
        try:
            return [(answer.opaque, answer) for answer in self._buffer.feed(data) if answer.response]
        except ProtocolError as error:
            raise link.Malformed(str(error)) from None


class Link(link.Link[Call, Answer]):
    """The way to one RocketMQ server."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port, Remoting)

    async def request(self, code: int, fields: Mapping[str, object], deadline_ns: int, body: bytes = b"") -> Answer:
        """One request, one answer. Raises as ``ask``."""
        return await self.ask(Call(code, fields, body), deadline_ns)
