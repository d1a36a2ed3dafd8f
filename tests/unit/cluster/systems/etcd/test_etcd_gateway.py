"""Calls to servers on the loopback that answer, refuse, reset or stay silent."""

import asyncio
import contextlib
import socket

import msgspec
import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems.etcd.gateway import Gateway

PLAIN = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"count": "12"}'


class Counted(msgspec.Struct):
    count: int = 0


class Server:
    """Does with each connection's requests what its script says: bytes are sent, None ends the connection."""

    def __init__(self, *script):
        self.script = [*script]
        self.connections = 0
        self._taken = asyncio.Condition()
        self._count = len(script)

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._writers = []
        return self, Gateway("127.0.0.1", self._server.sockets[0].getsockname()[1])

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def taken(self, count):
        """Return once so many requests have come."""
        async with self._taken:
            await self._taken.wait_for(lambda: self._count - len(self.script) >= count)

    async def _serve(self, reader, writer):
        self.connections += 1
        self._writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                await reader.readuntil(b"{}")
                async with self._taken:
                    answer = self.script.pop(0)
                    self._taken.notify_all()
                if answer is None:
                    writer.transport.abort()
                    return
                writer.write(answer)


def call(gateway, timeout_s=5.0, *, write=True):
    return gateway.call("/", {}, Counted, now_ns() + int(timeout_s * NS_PER_S), write=write)


def test_an_answered_connection_is_used_again_and_one_at_work_is_not():
    async def scenario():
        async with Server(PLAIN, PLAIN, b"", PLAIN) as (server, gateway):
            assert [(await call(gateway)).count for _ in range(2)] == [12, 12]
            assert server.connections == 1
            silent = asyncio.ensure_future(call(gateway))
            await server.taken(3)
            assert (await call(gateway)).count == 12
            assert server.connections == 2
            silent.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await silent
            gateway.close()

    asyncio.run(scenario())


def test_a_refused_connection_has_changed_nothing():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and not listened on
        with pytest.raises(Definite, match="connect: refused"):
            asyncio.run(call(Gateway("127.0.0.1", taken.getsockname()[1])))


@pytest.mark.parametrize(
    ("script", "error", "after"),
    [
        (None, "connection", Indefinite),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{]}", "malformed answer", Indefinite),
        (b"no http\r\n\r\n", "malformed answer", Indefinite),
    ],
)
def test_what_was_sent_and_not_answered_is_in_doubt_and_the_next_request_dials_anew(script, error, after):
    async def scenario():
        async with Server(script, PLAIN) as (_, gateway):
            with pytest.raises(after, match=error):
                await call(gateway)
            assert (await call(gateway)).count == 12
            gateway.close()

    asyncio.run(scenario())


def test_a_late_answer_is_not_taken_for_that_of_the_next_request():
    async def scenario():
        async with Server(PLAIN[:-1], PLAIN.replace(b"12", b"34")) as (server, gateway):
            with pytest.raises(Indefinite, match=NO_ANSWER):
                await call(gateway, 0.1)
            assert (await call(gateway)).count == 34
            assert server.connections == 2
            gateway.close()

    asyncio.run(scenario())


def test_errors_are_judged_by_the_table():
    refused = b'HTTP/1.1 500 X\r\nContent-Length: 36\r\n\r\n{"message": "raft proposal dropped"}'
    late = b'HTTP/1.1 503 X\r\nContent-Length: 43\r\n\r\n{"message": "etcdserver: request timed out"}'.replace(
        b"43", b"44"
    )

    async def scenario():
        async with Server(refused, late, late, PLAIN) as (server, gateway):
            with pytest.raises(Definite, match="raft proposal dropped"):
                await call(gateway)
            with pytest.raises(Indefinite, match="etcdserver: request timed out"):
                await call(gateway)
            with pytest.raises(Definite, match="etcdserver: request timed out"):
                await call(gateway, write=False)
            assert (await call(gateway)).count == 12
            assert server.connections == 1, "an error is an answer"
            gateway.close()

    asyncio.run(scenario())
