"""A broker on the loopback that speaks Pulsar's protocol as far as clients and probes here ask."""

import struct

import msgspec
from loopback_server import LoopbackServer

from cluster.systems.pulsar import wire
from cluster.systems.pulsar.brokers import Way
from cluster.systems.pulsar.protobuf import message, number_in
from cluster.systems.pulsar.web import Web
from cluster.systems.pulsar.wire import commands_in

NAMES = {
    wire.CONNECT: "connect",
    wire.PRODUCER: "producer",
    wire.SEND: "send",
    wire.LOOKUP: "lookup",
    wire.SUBSCRIBE: "subscribe",
    wire.LAST_ID: "last",
    wire.FLOW: "flow",
    wire.ACK: "ack",
    wire.PONG: "pong",
}


def command(kind, *fields, payload=b""):
    """The frame of a command that a broker says."""
    own = message([(1, kind), (kind, message(fields))])
    return struct.pack(">II", 4 + len(own) + len(payload), len(own)) + own + payload


def message_id(ledger, entry):
    return message([(1, ledger), (2, entry)])


def given(ledger, entry, body, checksum=False, before=0):
    """A message that a reader or consumer is sent; ``before``: how often it was given to consumers."""
    described = message([(1, "p"), (2, 0), (3, 9)])
    content = struct.pack(">I", len(described)) + described + body
    head = b"\x0e\x01" + bytes(4) if checksum else b""
    again = [(3, before)] if before else []
    return command(wire.MESSAGE, (1, 0), (2, message_id(ledger, entry)), *again, payload=head + content)


class FakeBroker(LoopbackServer):
    """A broker.

    ``answer``: a function of the name of a request and its number that gives the frames of the answer; None: the usual
    one; b"": silence; StopIteration: the connection ends. ``asked``: the names of requests as they came, ``commands``
    the commands. One that is ``paused`` reads nothing until ``resumed`` is set. ``heard`` gets the way back of each
    connection.
    """

    def __init__(self, answer=lambda *_: None, heard=lambda _: None):
        self.answer = answer
        self.heard = heard
        self.asked = []
        self.commands = []

    def linked(self, port):
        self.way = Way("127.0.0.1", port, topic="t-3")
        return self.way

    async def answer_on(self, reader, writer):
        self.heard(writer)
        data = bytearray()
        while came := await reader.read(1 << 16):
            data += came
            for one in commands_in(data):
                name, number = NAMES[one.kind], number_in(one.fields, wire._ASKED.get(one.kind, 99))
                self.asked.append(name)
                self.commands.append(one)
                said = self.answer(name, number)
                if said is StopIteration:
                    writer.transport.abort()
                    return
                writer.write(usual(name, number) if said is None else said)


def usual(name, number):
    """What a broker answers to whom it serves."""
    return {
        "connect": command(wire.CONNECTED, (1, "Pulsar")),
        "producer": command(wire.PRODUCER_SUCCESS, (1, number), (2, "chaos-1")),
        "send": command(wire.SEND_RECEIPT, (1, 0), (2, number), (3, message_id(7, 12))),
        "lookup": command(wire.LOOKUP_RESPONSE, (1, "pulsar://198.18.0.11:6650"), (3, 1), (4, number)),
        "subscribe": command(wire.SUCCESS, (1, number)),
        "ack": command(wire.ACK_RESPONSE, (1, 0), (6, number)),
    }.get(name, b"")


class FakeWeb(LoopbackServer):
    """What a node tells over HTTP.

    ``pages``: path → JSON, bytes, the number of a status, or a text: the address to ask instead; others are 404.
    """

    def __init__(self, pages, kind=Web):
        self.pages = pages
        self.kind = kind
        self.asked = []

    def linked(self, port):
        if self.pages is None:
            self.away()
        return self.kind("127.0.0.1", port)

    async def answer_on(self, reader, writer):
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            self.asked.append(path)
            said = self.pages.get(path, 404)
            status, body = (said, b"") if isinstance(said, int) else (200, said)
            head = ""
            if isinstance(said, str):
                status, body, head = 307, b"", f"Location: {said}\r\n"
            content = body if isinstance(body, bytes) else msgspec.json.encode(body)
            head = f"HTTP/1.1 {status} X\r\n{head}Content-length: {len(content)}\r\n\r\n"
            writer.write(head.encode() + content)
