"""Connections to one server that carry one request at a time, each request once."""

from collections.abc import Callable
from functools import partial
from typing import Generic

from cluster.systems._shared.link import AnswerT, Codec, Link, RequestT


class Pool(Generic[RequestT, AnswerT]):
    """The way to a server. A request has a connection of its own, and leaves it to the next one if it was answered."""

    def __init__(self, host: str, port: int, codec: Callable[[], Codec[RequestT, AnswerT]]) -> None:
        self._new = partial(Link[RequestT, AnswerT], host, port, codec)
        self._idle: list[Link[RequestT, AnswerT]] = []
        self._dropped = 0

    async def ask(self, request: RequestT, deadline_ns: int) -> AnswerT:
        """One request, one answer.

        Raises:
            Definite: it was not sent. Indefinite: nobody knows what became of it.
        """
        link, before = self._idle.pop() if self._idle else self._new(), self._dropped
        try:
            answer = await link.ask(request, deadline_ns)
        except BaseException:  # its answer may still come, and must not be taken for another's
            link.close()
            raise
        if self._dropped == before:
            self._idle.append(link)
        else:
            link.close()
        return answer

    def close(self) -> None:
        """Drop every connection, those in use as soon as they have their answer; safe to call twice."""
        self._dropped += 1
        while self._idle:
            self._idle.pop().close()
