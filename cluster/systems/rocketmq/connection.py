"""RocketMQ's remoting as a codec of ``cluster.systems._shared.link``, and a link that speaks it.

A request of the server's own (it may ask a client something) is nobody's answer; whoever listens is given it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from cluster.systems._shared import link
from cluster.systems.rocketmq.protocol import Answer, FrameBuffer, ProtocolError, encode_request


class Call(NamedTuple):
    """One request: its code, its header's fields, its body."""

    code: int
    fields: Mapping[str, object]
    body: bytes


class Remoting:
    """Implements ``cluster.systems._shared.link.Codec``; nobody greets."""

    greeting: Final = b""

    def __init__(self, asked: Callable[[Answer], None] | None = None) -> None:
        """``asked`` hears the server's own requests; it must not block."""
        self._buffer = FrameBuffer()
        self._asked = asked

    def encode(self, number: int, request: Call) -> bytes:
        """A request frame; ``number`` is its opaque number."""
        return encode_request(request.code, number, request.fields, request.body)

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answers that are whole now."""
        try:
            frames = self._buffer.feed(data)
        except ProtocolError as error:
            raise link.Malformed(str(error)) from None
        if self._asked is not None:
            for question in frames:
                if not question.response:
                    self._asked(question)
        return [(answer.opaque, answer) for answer in frames if answer.response]


class Link(link.Link[Call, Answer]):
    """The way to one RocketMQ server."""

    def __init__(self, host: str, port: int, asked: Callable[[Answer], None] | None = None) -> None:
        """``asked``: as for ``Remoting``, for every connection of this link."""
        super().__init__(host, port, partial(Remoting, asked))

    async def request(self, code: int, fields: Mapping[str, object], deadline_ns: int, body: bytes = b"") -> Answer:
        """One request, one answer. Raises as ``ask``."""
        return await self.ask(Call(code, fields, body), deadline_ns)
