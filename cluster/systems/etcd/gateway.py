"""The way to a member: its JSON gateway."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.http import OK, HttpLinks, Request
from cluster.systems.etcd.outcomes import outcome
from cluster.systems.etcd.streams import lines_of

CLIENT_PORT: Final = 2379
PEER_PORT: Final = 2380

AnswerT = TypeVar("AnswerT")


class Gateway:
    """A member's gateway."""

    def __init__(self, host: str, port: int = CLIENT_PORT) -> None:
        self._address = host, port
        self._links = HttpLinks(host, port)

    async def call(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        kind: type[AnswerT],
        deadline_ns: int,
        *,
        write: bool = False,
        method: str = "",
    ) -> AnswerT:
        """One request, one answer.

        Args:
            path: what is asked.
            body: goes with it, bytes as base64; None: fetch.
            kind: what the answer is read as.
            deadline_ns: when there must be one.
            write: whether it changes something.
            method: of HTTP, if it is not the usual one.

        Raises:
            Definite: nothing was changed. Indefinite: nobody knows.
        """
        request = Request(path, b"" if body is None else msgspec.json.encode(body), method)
        answer = await self._links.ask(request, deadline_ns)
        if answer.status != OK:
            raise outcome(answer.body, write=write)
        try:
            return msgspec.json.decode(answer.body, type=kind, strict=False)  # int64 come as strings
        except msgspec.DecodeError as error:
            raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None

    def lines(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[bytes]:
        """One request whose answer has no end: see ``streams.lines_of``."""
        return lines_of(*self._address, path, body)

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._links.close()
