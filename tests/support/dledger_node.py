"""A node on the loopback that speaks DLedger's requests, and its observer: they answer what a test says."""

from urllib.parse import parse_qs, urlsplit

import msgspec
from loopback_server import LoopbackServer
from rocketmq_wire import encode_answer

from cluster.systems.dledger.ledger import APPEND, GET, SUCCESS, Ledger
from cluster.systems.dledger.observers import Observer
from cluster.systems.rocketmq.protocol import Answer, FrameBuffer

KINDS = {APPEND: "append", GET: "get"}


class Busy(Exception):  # noqa: N818 - an answer
    """The remoting itself answers, by a code of its own."""


def entry(index, body, magic=1):
    """An entry as a node of 0.4.3 tells it."""
    return {"index": index, "magic": magic, "body": [*body], "term": 1, "bodyCrc": 7, "pos": 0}


class FakeNode(LoopbackServer):
    """``answer``: a function of the kind of a request (append, get) and its fields.

    It gives JSON, ``Busy``, None for silence, or StopIteration, which ends the connection. ``asked``: the requests as
    they came. One that is ``paused`` reads nothing until ``resumed`` is set.
    """

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def linked(self, port):
        self.ledger = Ledger("n2", "127.0.0.1", port)
        return self.ledger

    async def answer_on(self, reader, writer):
        frames = FrameBuffer()
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


class FakeObserver(LoopbackServer):
    """``tell``: a function of the path and what is asked there, which gives JSON, or a text for the status 500."""

    def __init__(self, tell):
        self.tell = tell
        self.asked = []

    def linked(self, port):
        self.observer = Observer("127.0.0.1", port)
        if self.tell is None:
            self.away()
        return self.observer

    async def answer_on(self, reader, writer):
        while True:
            where = urlsplit((await reader.readuntil(b"\r\n\r\n")).split()[1].decode())
            self.asked.append(where.path)
            said = self.tell(where.path, {name: values[0] for name, values in parse_qs(where.query).items()})
            status, body = (500, said.encode()) if isinstance(said, str) else (200, msgspec.json.encode(said))
            writer.write(f"HTTP/1.1 {status} X\r\nContent-length: {len(body)}\r\n\r\n".encode() + body)
