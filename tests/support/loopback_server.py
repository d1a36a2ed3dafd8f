"""A server on the loopback that answers as a test tells it, with our own client's link to it."""

import asyncio
import contextlib


class LoopbackServer:
    """Comes and goes by ``async with``. A subclass says how it answers on a connection, and makes our link to it.

    One that is ``paused`` reads nothing until ``resumed`` is set. ``connections``: how many there have been.
    """

    paused = False
    connections = 0

    def linked(self, port):
        """What is to be closed before the server: our link to it."""
        raise NotImplementedError

    async def answer_on(self, reader, writer):
        """Answer on one connection until it ends."""
        raise NotImplementedError

    async def __aenter__(self):
        self._writers, self._serving = [], []
        self.resumed = asyncio.Event()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.link = self.linked(self.port)
        return self

    async def __aexit__(self, *_):
        self.link.close()
        self.stop()
        await self._server.wait_closed()

    def away(self):
        """Refuse connections from now on."""
        self._server.close()

    def stop(self):
        """Refuse connections, and end those that there are."""
        self.away()
        self.drop()

    def drop(self):
        """End every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def heard_out(self):
        """Wait until all that was sent on connections that have ended is read."""
        await asyncio.gather(*self._serving)

    async def _serve(self, reader, writer):
        self._writers.append(writer)
        self._serving.append(asyncio.current_task())
        self.connections += 1
        if self.paused:
            await self.resumed.wait()
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self.answer_on(reader, writer)
