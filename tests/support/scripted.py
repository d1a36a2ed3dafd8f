"""Operations invoked by a client whose every link leads to one scripted server, for the tests of clients."""

import asyncio

import msgspec
from log_ops import argument_of, told

from chaos.core.client import Definite, Indefinite, Received, invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation

SPARE_NS = 30 * NS_PER_S


class _OnTime:
    """A client whose own deadline comes long before that of whoever waits for it, however busy the machine is."""

    def __init__(self, client):
        self.client = client

    async def invoke(self, op, received):
        await self.client.invoke(_moved(op, -SPARE_NS), received)


def _moved(op, by_ns):
    return msgspec.structs.replace(op, deadline_ns=op.deadline_ns + by_ns)


async def performed(client, op):
    """The completion, which is the client's own word also at the deadline."""
    return told(await invoke_in_time(_OnTime(client), _moved(op, SPARE_NS)))


async def raised_and_given(client, op, timeout_ns=5 * NS_PER_S):
    """What the client's one attempt raised, and what it was given."""
    received, out = Received(), None
    try:
        await client.invoke(msgspec.structs.replace(op, deadline_ns=now_ns() + timeout_ns), received)
    except (Definite, Indefinite) as error:
        out = (type(error), str(error))
    return out, received


def invoked(serve, client_at, *ops):
    """Invoke the operations one after another; the completion, or all if there are several.

    ``serve`` is the server's handler of connections, ``client_at`` makes a client of the server on a port.
    """

    async def body():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = client_at(server.sockets[0].getsockname()[1])
        try:
            return [await performed(client, op()) for op in ops]
        finally:
            await client.close()
            await client.close()
            server.close()
            await server.wait_closed()

    done = asyncio.run(body())
    return done[0] if len(done) == 1 else done


def op(f, timeout_s=5.0, **facts):
    """Makes the invocation when its turn comes, so that its deadline counts from then."""
    return lambda: Invocation(
        process=1,
        client=0,
        f=f,
        key=0,
        deadline_ns=now_ns() + int(timeout_s * NS_PER_S),
        argument=argument_of(f, **facts),
    )
