"""An object store on loopback: a folder served by the part of S3's protocol that reading needs, every request noted.

pyarrow's own S3 client speaks with it, in this process and in others, so what is counted is what a real one would be
asked for. It holds no credentials and changes nothing.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_EC2_METADATA_DISABLED": "true"}
"""What pyarrow's client wants to find before it asks; the store does not look at it."""


class Asked(NamedTuple):
    """A request: GET or HEAD of an object, or LIST of a folder; ``size``: bytes of the object that were given."""

    method: str
    path: str
    size: int


class Store:
    """What is served, and what was asked for so far."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._port = port
        self.asked: list[Asked] = []

    def uri(self, path: str) -> str:
        """The URI of what lies in the folder under this path."""
        return f"s3://bucket/{path}?endpoint_override=127.0.0.1:{self._port}&scheme=http&region=us-east-1"

    def given(self, ending: str = "") -> int:
        """Bytes of the objects whose paths end so."""
        return sum(one.size for one in self.asked if one.path.endswith(ending))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _listing(folder: Path, prefix: str, delimiter: str, most: int) -> bytes:
    """The answer to ListObjectsV2; what lies deeper than the delimiter is told by its folder alone."""
    keys = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    keys = [key for key in keys if key.startswith(prefix)]
    names = {key: key.removeprefix(prefix) for key in keys}
    deeper = {key: name.split(delimiter)[0] for key, name in names.items() if delimiter and delimiter in name}
    rows = "".join(
        f"<Contents><Key>{escape(key)}</Key><Size>{(folder / key).stat().st_size}</Size><ETag>1</ETag>"
        f"<LastModified>{_iso((folder / key).stat().st_mtime)}</LastModified></Contents>"
        for key in [key for key in keys if key not in deeper][:most]
    )
    folders = "".join(
        f"<CommonPrefixes><Prefix>{escape(prefix + name + delimiter)}</Prefix></CommonPrefixes>"
        for name in sorted(set(deeper.values()))
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>bucket</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(keys)}</KeyCount>"
        f"<IsTruncated>false</IsTruncated>{rows}{folders}</ListBucketResult>"
    ).encode()


def _handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # heads and bodies in one piece

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, code: int, body: bytes, **headers: str) -> None:
            self.send_response(code)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            key = unquote(parts.path).removeprefix("/bucket").strip("/")
            said = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            if "list-type" in said:
                prefix = said.get("prefix", "")
                store.asked.append(Asked("LIST", prefix, 0))
                most = int(said.get("max-keys", "1000"))
                self._answer(
                    200, _listing(store.folder, prefix, said.get("delimiter", ""), most), Content_Type="application/xml"
                )
                return
            path = store.folder / key
            if not path.is_file():
                store.asked.append(Asked(self.command, key, 0))
                missing = f"<Error><Code>NoSuchKey</Code><Message>no {quote(key)}</Message></Error>".encode()
                self._answer(404, missing, Content_Type="application/xml")
                return
            told = {"Last_Modified": formatdate(path.stat().st_mtime, usegmt=True), "ETag": '"1"'}
            size = path.stat().st_size
            asked = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
            first = int(asked[0] or 0)
            last = min(int(asked[2]) if asked[2] else size - 1, size - 1)
            store.asked.append(Asked(self.command, key, last - first + 1 if self.command == "GET" else 0))
            if self.command == "HEAD":
                self._head(size, told)
                return
            with path.open("rb") as file:
                file.seek(first)
                body = file.read(last - first + 1)
            if asked[1]:
                self._answer(206, body, Content_Range=f"bytes {first}-{last}/{size}", **told)
            else:
                self._answer(200, body, **told)

        def do_HEAD(self) -> None:
            self.do_GET()

        def _head(self, size: int, told: dict[str, str]) -> None:
            self.send_response(200)
            for name, value in {"Content-Length": str(size), **told}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()

    return Handler


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # a client opens many connections at once


@contextmanager
def served(folder: Path) -> Iterator[Store]:
    """A folder as the bucket of a store, until the block ends."""
    server = _Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    store = Store(folder, server.server_port)
    server.RequestHandlerClass = _handler(store)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        with patch.dict(os.environ, ENVIRONMENT):
            yield store
    finally:
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()
