"""A server on the loopback that speaks NATS, and one that shows its state over HTTP: they answer what a test says."""

from typing import NamedTuple

import msgspec
from loopback_server import LoopbackServer

from cluster.systems.nats.jetstream import JetStream
from cluster.systems.nats.servers import Monitor

INFO = b'INFO {"server_id":"X","version":"2.9.10","headers":true,"max_payload":1048576}\r\n'


def held(seq, data=b""):
    """The answer to who asks for a message."""
    return {"type": "io.nats.jetstream.api.v1.stream_msg_get_response", "message": {"seq": seq, "data": data}}


def stored(seq):
    """The answer to a message that a stream has taken."""
    return {"stream": "KV_x", "seq": seq}


def refused(err_code, description="why", code=400, **more):
    """An error of the API, or of a stream that did not take a message."""
    return {"error": {"code": code, "err_code": err_code, "description": description}, **more}


def info(last_seq, *subjects):
    """The answer to who asks for a stream."""
    return {"config": {"name": "KV_x"}, "state": {"last_seq": last_seq, "subjects": dict.fromkeys(subjects, 1)}}


class Status(Exception):  # noqa: N818 - an answer
    """A server's own answer: a status and headers, and no JSON. ``body``: behind them."""

    def __init__(self, first, headers=(), body=b""):
        super().__init__(first)
        self.head = "\r\n".join([f"NATS/1.0{first}", *headers, "", ""]).encode()
        self.body = body


NOBODY = Status(" 503")


class Delivery(NamedTuple):
    """A message of a stream: it comes under the stream's subject, and says where its acknowledgement goes."""

    subject: str
    body: bytes
    reply: str


class FakeNats(LoopbackServer):
    """``answer``: a function of the subject, the body and the headers of a request.

    It gives JSON, a ``Status``, a ``Delivery``, None for silence, or StopIteration, which ends the connection. To who
    subscribed for one answer it comes by that subscription. ``asked``: the requests as they came. One that is
    ``paused`` reads nothing until ``resumed`` is set. ``pings``: it says PING before it answers.
    """

    def __init__(self, answer, *, pings=False):
        self.answer = answer
        self.asked = []
        self.said = []
        self.pings = pings
        self._names = {}

    def linked(self, port):
        return JetStream("127.0.0.1", port)

    async def answer_on(self, reader, writer):
        writer.write(INFO)
        while True:
            line = (await reader.readuntil(b"\r\n")).decode().strip()
            self.said.append(line.split()[0])
            if line.startswith("SUB"):
                _, subject, name = line.split()
                self._names[subject] = name
            if line.startswith(("PUB", "HPUB")) and not await self._request(line.split(), reader, writer):
                writer.transport.abort()
                return

    async def _request(self, words, reader, writer):
        """Read a request and answer it; whether the connection stays."""
        payload = (await reader.readexactly(int(words[-1]) + 2))[:-2]
        head = int(words[3]) if words[0] == "HPUB" else 0
        lines = payload[:head].decode().split("\r\n")[1:]
        headers = dict(line.split(": ", 1) for line in lines if line)
        self.asked.append((words[1], payload[head:], headers))
        answer = self.answer(*self.asked[-1])
        if answer is StopIteration:
            return False
        if answer is not None:
            name = self._names.pop(words[2], "1")
            writer.write((b"PING\r\n" if self.pings else b"") + framed(words[2], answer, name))
        return True


def framed(subject, answer, name):
    """An answer on the wire. ``name``: of the subscription by which it comes."""
    if isinstance(answer, Status):
        total = len(answer.head) + len(answer.body)
        head = f"HMSG {subject} {name} {len(answer.head)} {total}\r\n".encode()
        return head + answer.head + answer.body + b"\r\n"
    if isinstance(answer, Delivery):
        return f"MSG {answer.subject} {name} {answer.reply} {len(answer.body)}\r\n".encode() + answer.body + b"\r\n"
    body = msgspec.json.encode(answer)
    return f"MSG {subject} {name} {len(body)}\r\n".encode() + body + b"\r\n"


class FakeMonitor(LoopbackServer):
    """``shown``: by path what is shown, JSON; a path that is not there has the status 404."""

    def __init__(self, shown):
        self.shown = shown

    def linked(self, port):
        self.monitor = Monitor("127.0.0.1", port)
        if self.shown is None:
            self.away()
        return self.monitor

    async def answer_on(self, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split()[1].decode().partition("?")[0].strip("/")
            body = msgspec.json.encode(self.shown.get(path, "none"))
            status = 200 if path in self.shown else 404
            writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
