"""A server on the loopback that speaks AMQP 0-9-1 as far as clients here do: it answers what a test says."""

import asyncio
import contextlib
import struct

from cluster.systems.rabbitmq.amqp import frame, method, short
from cluster.systems.rabbitmq.channels import Channels

PUBLISH, GET, DECLARE, SELECT, SETTLE = (60, 40), (60, 70), (50, 10), (85, 10), (60, 80)
HANDSHAKE = method(0, (10, 10), b"") + method(0, (10, 30), b"") + method(0, (10, 41), b"") + method(1, (20, 11), b"")


def ack(tag=1):
    return method(1, (60, 80), struct.pack(">QB", tag, 0))


def nack(tag=1):
    return method(1, (60, 120), struct.pack(">QB", tag, 0))


def _content(body):
    return frame(2, 1, struct.pack(">HHQH", 60, 0, len(body), 0)) + (frame(3, 1, body) if body else b"")


def delivered(body, tag=1, *, again=False):
    head = struct.pack(">QB", tag, again) + short("") + short("q") + struct.pack(">I", 0)
    return method(1, (60, 71), head) + _content(body)


def returned(code, text):
    return method(1, (60, 50), struct.pack(">H", code) + short(text) + short("") + short("q")) + _content(b"1") + ack()


def closed(code, text, *, connection=False):
    which = (10, 50) if connection else (20, 40)
    return method(0 if connection else 1, which, struct.pack(">H", code) + short(text) + struct.pack(">HH", 60, 40))


EMPTY = method(1, (60, 72), short(""))
SELECTED = method(1, (85, 11), b"")
DECLARED = method(1, (50, 11), short("q") + struct.pack(">II", 0, 0))


class FakeRabbit:
    """``answers``: by method, the bytes that come back; None for silence, StopIteration to end the connection.

    ``asked``: the methods as they came, without those of the handshake, each with the bytes behind it. One that is
    ``paused`` reads nothing until ``resumed`` is set; ``heard``: something was asked.
    """

    def __init__(self, answers):
        self.answers = answers
        self.asked = []
        self.connections = 0
        self.paused = False
        self.resumed, self.heard = asyncio.Event(), asyncio.Event()
        self._tasks = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.link = Channels("127.0.0.1", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_):
        self.link.close()
        self.resumed.set()
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self.connections += 1
        self._tasks.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            if self.paused:
                await self.resumed.wait()
            assert await reader.readexactly(8) == b"AMQP\x00\x00\x09\x01"
            writer.write(HANDSHAKE)
            selected = 0
            while True:
                kind, _, size = struct.unpack(">BHI", await reader.readexactly(7))
                payload = (await reader.readexactly(size + 1))[:-1]
                if kind != 1:
                    continue
                which = struct.unpack_from(">HH", payload)
                selected += which == SELECT
                if which[0] in (10, 20) or (which == SELECT and selected == 1):
                    continue
                self.asked.append((which, payload[4:]))
                self.heard.set()
                answer = self.answers.get(which)
                if answer is StopIteration:
                    break
                if answer is not None:
                    writer.write(answer)
        writer.close()
