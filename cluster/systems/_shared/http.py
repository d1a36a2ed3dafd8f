"""HTTP/1.1 over links: connections that carry one request at a time, each request once."""

from functools import partial
from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed
from cluster.systems._shared.pool import Pool

OK: Final = 200
_LINE: Final = b"\r\n"
_HEX: Final = 16


class Request(NamedTuple):
    """A path, and the JSON to post there; without any it is fetched. ``method``: of HTTP, if it is another."""

    path: str
    body: bytes = b""
    method: str = ""


class Answer(NamedTuple):
    """The HTTP status, and what came with it. ``location``: where to ask instead, in small letters; often empty."""

    status: int
    body: bytes
    location: str = ""


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
        method = request.method or ("POST" if request.body else "GET")
        head = f"{method} {request.path} HTTP/1.1\r\nHost: {self._host}\r\n"
        return f"{head}Content-Length: {len(request.body)}\r\n\r\n".encode() + request.body

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answer if it is whole now."""
        self._data += data
        head, blank, rest = bytes(self._data).partition(2 * _LINE)
        if not blank:
            return []
        try:
            first, *lines = head.decode().lower().split("\r\n")
            status = int(first.split()[1])
            headers = dict(line.split(": ", 1) for line in lines)
            length = headers.get("content-length")
            body = _joined(rest) if length is None else rest if len(rest) >= int(length) else None
        except (ValueError, LookupError) as error:
            raise Malformed(f"no HTTP: {error}") from None
        if body is None:
            return []
        self._data.clear()
        return [(self._number, Answer(status, body, headers.get("location", "")))]


def _joined(rest: bytes) -> bytes | None:
    """The body that came in chunks; None if there is more to come."""
    body = b""
    while _LINE in rest:
        size, _, rest = rest.partition(_LINE)
        length = int(size, _HEX)
        if length == 0:  # behind the last chunk: trailers, if any, and an empty line
            return body if (_LINE + rest).endswith(2 * _LINE) else None
        body, rest = body + rest[:length], rest[length + len(_LINE) :]
    return None


class HttpLinks(Pool[Request, Answer]):
    """The way to a server."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port, partial(Http, host))
