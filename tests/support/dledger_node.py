"""A node on the loopback that speaks DLedger's requests, and its observer: they answer what a test says."""

import asyncio
import contextlib
from urllib.parse import parse_qs, urlsplit

import msgspec

from cluster.systems.dledger.ledger import APPEND, GET, SUCCESS, Ledger
from cluster.systems.dledger.observers import Observer
from cluster.systems.rocketmq.protocol import Answer, FrameBuffer, encode_answer

KINDS = {APPEND: "append", GET: "get"}


class Busy(Exception):  # noqa: N818 - an answer
    """The remoting itself answers, by a code of its own."""


def entry(index, body, magic=1):
    """An entry as a node of 0.4.3 tells it."""
    return {"index": index, "magic": magic, "body": [*body], "term": 1, "bodyCrc": 7, "pos": 0}


class FakeNode:
    """``answer``: a function of the kind of a request (append, get) and its fields.

    It gives JSON, ``Busy``, None for silence, or StopIteration, which ends the connection. ``asked``: the requests as
    they came. One that is ``paused`` reads nothing until ``resumed`` is set.
    """

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.connections = 0
        self.paused = False

    async def __aenter__(self):
        self._writers, self._serving = [], []
        self.resumed = asyncio.Event()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.ledger = Ledger("n2", "127.0.0.1", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_):
        self.ledger.close()
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def heard_out(self):
        """Wait until all that was sent on connections that have ended is read."""
        await asyncio.gather(*self._serving)

    async def _serve(self, reader, writer):
        self._writers.append(writer)
        self._serving.append(asyncio.current_task())
        self.connections += 1
        frames = FrameBuffer()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            if self.paused:
                await self.resumed.wait()
            while data := await reader.read(1 << 16):
                for request in frames.feed(data):
                    fields = msgspec.json.decode(request.body)
                    self.asked.append((KINDS[request.code], fields))
                    said = self.answer(*self.asked[-1])
                    if said is StopIteration:
                        writer.transport.abort()
                        return
                    if said is not None:
                        writer.write(framed(request.opaque, said))


def framed(opaque, said):
    """An answer on the wire."""
    if isinstance(said, Busy):
        return encode_answer(Answer(said.args[0], opaque, True, "", {}, b""))
    return encode_answer(Answer(SUCCESS, opaque, True, "", {}, said if isinstance(said, bytes) else encoded(said)))


def encoded(said):
    """JSON as DLedger writes it."""
    return msgspec.json.encode(said)


class FakeObserver:
    """``tell``: a function of the path and what is asked there, which gives JSON, or a text for the status 500."""

    def __init__(self, tell):
        self.tell = tell
        self.asked = []

    async def __aenter__(self):
        self._writers = []
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.observer = Observer("127.0.0.1", self._server.sockets[0].getsockname()[1])
        if self.tell is None:
            self._server.close()
        return self

    async def __aexit__(self, *_):
        self.observer.close()
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        self._writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                where = urlsplit((await reader.readuntil(b"\r\n\r\n")).split()[1].decode())
                self.asked.append(where.path)
                said = self.tell(where.path, {name: values[0] for name, values in parse_qs(where.query).items()})
                status, body = (500, said.encode()) if isinstance(said, str) else (200, msgspec.json.encode(said))
                writer.write(f"HTTP/1.1 {status} X\r\nContent-length: {len(body)}\r\n\r\n".encode() + body)
