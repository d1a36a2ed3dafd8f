"""Links against servers on the loopback that answer, stay silent, refuse, reset or talk nonsense."""

import asyncio
import contextlib
import socket

import pytest
from rocketmq_wire import encode_answer

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems._shared import link as module
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.protocol import Answer, FrameBuffer

ECHO, SILENT, LATER, CLOSE, RESET, NONSENSE, ASK_FIRST = range(1, 8)  # what the request's code asks the server to do


class Server:
    """Does what each request's code says; remembers requests and connections."""

    def __init__(self):
        self.connections = []
        self.requests = []
        self.arrived = asyncio.Event()
        self._server = None

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self.connections:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        self.connections.append(writer)
        buffer, waiting = FrameBuffer(), []
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                for request in buffer.feed(data):
                    self.requests.append((request.code, request.body))
                    self.arrived.set()
                    self._act(request, writer, waiting)

    async def has_received(self, count):
        while len(self.requests) < count:
            self.arrived.clear()
            await asyncio.wait_for(self.arrived.wait(), 5)

    def _act(self, request, writer, waiting):
        reply = encode_answer(Answer(0, request.opaque, True, "", dict(request.fields), request.body))
        if request.code == ECHO:
            for held in [*waiting, reply]:
                writer.write(held)
            waiting.clear()
        elif request.code == LATER:  # answered together with the next echo, before it
            waiting.insert(0, reply)
        elif request.code == CLOSE:
            writer.close()
        elif request.code == RESET:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            writer.transport.abort()
        elif request.code == NONSENSE:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        elif request.code == ASK_FIRST:
            writer.write(encode_answer(Answer(40, request.opaque, False, "", {}, b"")) + reply)


def soon(seconds=5.0):
    return now_ns() + int(seconds * NS_PER_S)


def with_server(test):
    """Run ``test(server, link)`` with both closed at the end."""

    async def body():
        async with Server() as server:
            link = Link("127.0.0.1", server.port)
            try:
                return await test(server, link)
            finally:
                link.close()

    return asyncio.run(body())


def test_many_requests_on_one_connection_find_their_answers():
    async def test(server, link):
        codes = [LATER] * 50 + [ECHO]
        answers = await asyncio.gather(
            *(link.request(code, {"n": n}, soon(), str(n).encode()) for n, code in enumerate(codes))
        )
        assert [answer.body for answer in answers] == [str(n).encode() for n in range(51)]
        assert len(server.connections) == 1

    with_server(test)


def test_refused_is_definite():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: the port refuses
        link = Link("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(Definite, match="connect: refused"):
            asyncio.run(link.request(ECHO, {}, soon()))


@pytest.fixture
def full_backlog():
    """A listener that accepts nothing and whose queue is full: a connect to it hears nothing."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(2):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_connect_that_hears_nothing_is_definite(full_backlog):
    async def test():
        link = Link("127.0.0.1", full_backlog)
        try:
            with pytest.raises(Definite, match="connect: no answer before the deadline"):
                await link.request(ECHO, {}, soon(0.1))
            with pytest.raises(Definite, match=r"connect: no answer$"):
                await link.request(ECHO, {}, soon(30))  # the connect has a limit of its own
        finally:
            link.close()

    asyncio.run(test())


def test_a_link_closed_while_it_dials_ends_its_requests(full_backlog):
    async def test():
        link = Link("127.0.0.1", full_backlog)
        waiting = [asyncio.ensure_future(link.request(ECHO, {}, soon())) for _ in range(2)]
        await asyncio.sleep(0)  # both are waiting for the one connect now
        link.close()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert [(type(error), str(error)) for error in ended] == [(Definite, "connect: given up by the client")] * 2

    asyncio.run(test())


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (SILENT, NO_ANSWER),
        (CLOSE, "connection closed by the server"),
        (RESET, "connection reset"),
        (NONSENSE, "malformed answer: frame of impossible length"),
    ],
)
def test_whatever_happens_after_the_request_left_is_indefinite(code, error):
    async def test(server, link):
        with pytest.raises(Indefinite) as caught:
            await link.request(code, {}, soon(0.2 if code == SILENT else 5))
        assert str(caught.value) == error
        answer = await link.request(ECHO, {}, soon(), b"again")  # by a fresh connection
        assert answer.body == b"again"
        assert len(server.connections) == 2
        assert [request[0] for request in server.requests] == [code, ECHO]  # nothing was sent twice

    with_server(test)


def test_all_requests_under_way_end_when_the_connection_does():
    async def test(server, link):
        under_way = [asyncio.ensure_future(link.request(SILENT, {}, soon())) for _ in range(3)]
        await server.has_received(3)
        with pytest.raises(Indefinite):
            await link.request(CLOSE, {}, soon())
        ended = await asyncio.gather(*under_way, return_exceptions=True)
        assert [str(error) for error in ended] == ["connection closed by the server"] * 3

    with_server(test)


def test_a_silent_connection_still_answers_old_requests():
    async def test(server, link):
        old = asyncio.ensure_future(link.request(LATER, {}, soon(), b"old"))
        await server.has_received(1)
        with pytest.raises(Indefinite):
            await link.request(SILENT, {}, soon(0.1))
        fresh = await link.request(ECHO, {}, soon(), b"new")
        assert (fresh.body, len(server.connections)) == (b"new", 2)
        assert not old.done()
        first = server.connections[0]
        first.write(encode_answer(Answer(0, 1, True, "", {}, b"late")))  # its opaque number: the first
        assert (await old).body == b"late"

    with_server(test)


def test_a_connection_that_spoke_in_the_meantime_is_kept():
    async def test(server, link):
        silent = asyncio.ensure_future(link.request(SILENT, {}, soon(0.3)))
        while not silent.done():
            await link.request(ECHO, {}, soon())
            await asyncio.sleep(0.01)
        with pytest.raises(Indefinite):
            await silent
        await link.request(ECHO, {}, soon())
        assert len(server.connections) == 1

    with_server(test)


def test_a_question_of_the_server_is_not_taken_for_the_answer():
    async def test(server, link):
        assert (await link.request(ASK_FIRST, {}, soon(), b"mine")).body == b"mine"

    with_server(test)


def test_the_bound_on_requests_in_flight(monkeypatch):
    monkeypatch.setattr(module, "MAX_IN_FLIGHT", 2)

    async def test(server, link):
        first = [asyncio.ensure_future(link.request(SILENT, {}, soon())) for _ in range(2)]
        await server.has_received(2)
        with pytest.raises(Definite, match="bound"):
            await link.request(ECHO, {}, soon())
        link.close()
        ended = await asyncio.gather(*first, return_exceptions=True)
        assert [type(error) for error in ended] == [Indefinite, Indefinite]

    with_server(test)


def test_a_cancelled_request_leaves_nothing_behind():
    async def test(server, link):
        task = asyncio.ensure_future(link.request(SILENT, {}, soon()))
        await server.has_received(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert link._current.idle
        assert (await link.request(ECHO, {}, soon(), b"x")).body == b"x"

    with_server(test)


def test_closing_twice_and_dialling_anew():
    async def test(server, link):
        await link.request(ECHO, {}, soon())
        link.close()
        link.close()
        await link.request(ECHO, {}, soon())
        assert len(server.connections) == 2

    with_server(test)
