"""The way to a member: its JSON gateway, over HTTP/1.1 connections that carry one request at a time."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.link import Link, Malformed
from cluster.systems.etcd.config import CLIENT_PORT
from cluster.systems.etcd.outcomes import outcome

_OK: Final = 200
_END: Final = b"\r\n"
_HEX: Final = 16

AnswerT = TypeVar("AnswerT")


class Request(NamedTuple):
    """A path, and the JSON to send there; without any it is fetched."""

    path: str
    body: bytes = b""


class Answer(NamedTuple):
    """The HTTP status, and what came with it."""

    status: int
    body: bytes


class Http:
    """One connection's HTTP; implements ``cluster.systems._shared.link.Codec``."""

    greeting = b""

    def __init__(self, host: str) -> None:
        self._host = host
        self._number = 0
        self._data = bytearray()

    def encode(self, number: int, request: Request) -> bytes:
        """The request; its answer is the next one."""
        self._number = number
        head = f"{'POST' if request.body else 'GET'} {request.path} HTTP/1.1\r\nHost: {self._host}\r\n"
        return f"{head}Content-Length: {len(request.body)}\r\n\r\n".encode() + request.body

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answer if it is whole now."""
        self._data += data
        head, blank, rest = bytes(self._data).partition(2 * _END)
        if not blank:
            return []
        try:
            status, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = rest[: int(headers["content-length"])] if "content-length" in headers else _joined(rest)
            whole = body is not None and len(body) >= int(headers.get("content-length", 0))
            if not whole or body is None:
                return []
            self._data.clear()
            return [(self._number, Answer(int(status.split()[1]), body))]
        except (ValueError, LookupError) as error:
            raise Malformed(f"no HTTP: {error}") from None


def _joined(rest: bytes) -> bytes | None:
    """The body in chunks; None if there is more to come."""
    body = bytearray()
    while _END in rest:
        size, _, rest = rest.partition(_END)
        length = int(size, _HEX)
        if length == 0:  # behind the last chunk: trailers, if any, and an empty line
            return bytes(body) if (_END + rest).endswith(2 * _END) else None
        body += rest[:length]
        rest = rest[length + len(_END) :]
    return None


class Gateway:
    """A member's gateway: each request has a connection of its own while it runs, and leaves it to the next one."""

    def __init__(self, host: str, port: int = CLIENT_PORT) -> None:
        self._new = partial(Link[Request, Answer], host, port, partial(Http, host))
        self._idle: list[Link[Request, Answer]] = []

    async def call(
        self, path: str, body: Mapping[str, Any] | None, kind: type[AnswerT], deadline_ns: int, *, write: bool = False
    ) -> AnswerT:
        """One request, one answer. ``body``: bytes in it go as base64; None: fetch. ``write``: it changes something.

        Raises:
            Definite: nothing was changed. Indefinite: nobody knows.
        """
        link = self._idle.pop() if self._idle else self._new()
        try:
            answer = await link.ask(Request(path, b"" if body is None else msgspec.json.encode(body)), deadline_ns)
        except BaseException:  # an answer may still come, and must not be taken for that of another request
            link.close()
            raise
        self._idle.append(link)
        if answer.status != _OK:
            raise outcome(answer.body, write=write)
        try:
            return msgspec.json.decode(answer.body, type=kind, strict=False)  # int64 come as strings
        except msgspec.DecodeError as error:
            raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        while self._idle:
            self._idle.pop().close()
