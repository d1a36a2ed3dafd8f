"""The server: a thread for each of a bounded number of connections, and nothing kept of any."""

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from chaos.core.errors import ChaosError, UsageError
from chaos.serve.files import open_inside, pieces, write_archive
from chaos.serve.follower import Follower
from chaos.serve.following import Told
from chaos.serve.rules import headers, is_loopback, kind_of, parts_of, refusal
from chaos.serve.site import Site

CONNECTIONS: Final = 32
"""Answered at a time; more are told to come again."""
WATCHERS: Final = 8
"""Of those, pages that watch a run."""
PATIENCE_S: Final = 30.0
"""So long a reader may take to ask, and to take a part of the answer."""
LOOK_EVERY_S: Final = 1.0
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"


class Server(ThreadingHTTPServer):
    """Serves one store.

    Args:
        store: a store, or the folder of one matrix.
        bound: the address or name to listen on.
        port: of TCP; 0: any that is free.
        told: what an event of a run is to who looks on.

    Raises:
        UsageError: it cannot listen there.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, store: Path, bound: str, port: int, told: Told) -> None:
        self.site, self.bound, self.told = Site(store), bound, told
        self.address_family = socket.AF_INET6 if ":" in bound else socket.AF_INET
        self.over = threading.Event()
        self.watchers = threading.BoundedSemaphore(WATCHERS)
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        try:
            super().__init__((bound, port), _Handler)
        except OSError as error:
            raise UsageError(f"{bound}:{port}: {error.strerror or error}; give another --bind or --port") from None

    @property
    def url(self) -> str:
        """Where it answers."""
        host = f"[{self.bound}]" if ":" in self.bound else self.bound
        return f"http://{host}:{self.server_port}/"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.bound)

    def server_bind(self) -> None:
        """Bind without asking a name server what we are called."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.bound, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own while there are not too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        try:
            request.settimeout(1.0)
            request.sendall(_BUSY)
        except OSError:
            pass  # it went away; there is nothing to tell it
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and let the next one come."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that went away is no news; anything else is a fault of ours and is printed."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Stop listening and let those that watch go."""
        self.over.set()
        self.server_close()


class _Chunks:
    """A body whose length nobody knows before: chunks, so that who reads notices when it is cut off."""

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self._write = write

    def write(self, data: bytes) -> None:
        if data:
            self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        self._write(b"0\r\n\r\n")


class _Handler(BaseHTTPRequestHandler):
    """One request; the connection ends with it."""

    protocol_version = "HTTP/1.1"
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"
    timeout = PATIENCE_S
    server: Server
    _begun = False

    def version_string(self) -> str:
        """No versions are told."""
        return "chaos"

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""

    def __getattr__(self, name: str) -> Any:
        """Every method is heard, so that every one that is not known is refused alike."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        self.close_connection = True
        hosts = self.headers.get_all("Host") or []
        refused = refusal(self.command, hosts, dict(self.headers.items()), self.server.bound)
        if refused is not None:
            self._text(refused.status, refused.why + "\n")
            return
        parts = parts_of(self.path)
        if parts is None:
            self._missing()
            return
        try:
            self._show(parts)
        except ChaosError:
            if not self._begun:  # else the answer ends too early, and who reads notices
                self._text(HTTPStatus.NOT_FOUND, "it cannot be read just now\n")

    def _show(self, parts: tuple[str, ...]) -> None:
        site = self.server.site
        kind, run = site.target(parts)
        if kind == "index":
            self._text(HTTPStatus.OK, site.index(), "text/html; charset=utf-8")
        elif kind == "live" and run is not None:
            self._text(HTTPStatus.OK, site.live(run), "text/html; charset=utf-8", live=True)
        elif kind == "news" and run is not None:
            self._news(run.folder)
        elif kind == "archive" and run is not None:
            self._archive(run.folder)
        else:
            self._file(parts, is_page=kind == "page")

    def _begin(self, status: int, kind: str, *, live: bool = False, **more: str) -> None:
        self._begun = True
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Connection": "close", **headers(live=live)}.items():
            self.send_header(name, value)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _text(self, status: int, text: str, kind: str = "text/plain; charset=utf-8", *, live: bool = False) -> None:
        body = text.encode()
        more = {"Allow": "GET, HEAD"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
        self._begin(status, kind, live=live, Content_Length=str(len(body)), **more)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _missing(self) -> None:
        self._text(HTTPStatus.NOT_FOUND, "there is nothing here\n")

    def _file(self, parts: tuple[str, ...], *, is_page: bool) -> None:
        found = open_inside(self.server.site.top, self.server.site.base, parts)
        if found is None:
            self._missing()
            return
        with found[0] as file:
            length = os.fstat(file.fileno()).st_size
            self._begin(HTTPStatus.OK, kind_of(parts[-1], is_page=is_page), Content_Length=str(length))
            if self.command != "HEAD":
                for data in pieces(file, length):
                    self.wfile.write(data)

    def _archive(self, folder: Path) -> None:
        name = f"attachment; filename*=UTF-8''{quote(folder.name)}.zip"
        self._begin(HTTPStatus.OK, "application/zip", Transfer_Encoding="chunked", Content_Disposition=name)
        if self.command != "HEAD":
            body = _Chunks(self.wfile.write)
            write_archive(folder, body)
            body.end()

    def _news(self, folder: Path) -> None:
        """Server-sent events: what is new of a run, each second until it is over."""
        with self._watching() as free:
            if not free:
                self._text(HTTPStatus.SERVICE_UNAVAILABLE, f"{WATCHERS} pages watch already; close one\n")
                return
            follower = Follower(folder, self.server.told)
            self._begin(HTTPStatus.OK, "text/event-stream; charset=utf-8")
            if self.command == "HEAD":
                return
            over = False
            while not over and not self.server.over.is_set():
                for one in follower.step():
                    self.wfile.write(b"data: %b\n\n" % msgspec.json.encode(one))
                    over = over or one["type"] == "end"
                self.wfile.flush()
                if not over:
                    self.server.over.wait(LOOK_EVERY_S)

    @contextmanager
    def _watching(self) -> Iterator[bool]:
        free = self.server.watchers.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self.server.watchers.release()
