"""Connections of one request at a time: who drops all of them meets none of them again."""

import asyncio

from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems._shared.http import Http, Request
from cluster.systems._shared.pool import Pool


async def asked_of_a_server(drop_while_asking):
    """Two requests after each other, and by which connections of the server's count they came."""
    came, seen, go_on = [], asyncio.Event(), asyncio.Event()

    async def serve(reader, writer):
        number = len(came)
        came.append(0)
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            came[number] += 1
            seen.set()
            await go_on.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    pool = Pool("127.0.0.1", server.sockets[0].getsockname()[1], lambda: Http("server"))
    deadline_ns = now_ns() + 20 * NS_PER_S
    first = asyncio.ensure_future(pool.ask(Request("/"), deadline_ns))
    await seen.wait()
    if drop_while_asking:
        pool.close()
    go_on.set()
    assert (await first).status == 200, "whoever asks is answered all the same"
    assert (await pool.ask(Request("/"), deadline_ns)).status == 200
    pool.close()
    server.close()
    return came


def test_a_connection_is_left_to_the_next_request():
    assert asyncio.run(asked_of_a_server(drop_while_asking=False)) == [2]


def test_one_that_is_in_use_when_all_are_dropped_is_not_used_again():
    assert asyncio.run(asked_of_a_server(drop_while_asking=True)) == [1, 1]
