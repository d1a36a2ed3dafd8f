"""What the test of a paused server does inside the cluster's network: a command a line in, a JSON answer a line out.

Its argument is the system. First line: the ClusterView. Then ``readiness``, ``prepare``, ``add`` (the client that
stays on z2 adds the next element, within a second), ``received`` (how many requests z2 has had) or ``read``.
"""

import asyncio
import sys

import msgspec

from chaos.core.client import invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.objects import set as sets
from cluster.system import ClusterView
from cluster.systems.zookeeper.servers import Server
from cluster.systems.zookeeper.system import ZooKeeper


class Inside:
    """The client that stays on z2, and its first element."""

    def __init__(self, view):
        self.client = ZooKeeper().client(view, 1, 8, seed=1)
        assert self.client.pinned_to == "z2"
        self.server = Server(next(node.address for node in view.nodes if node.name == "z2"))
        self.element = 0
        self.words = 0

    async def _do(self, f, argument, within_s):
        deadline_ns = now_ns() + int(within_s * NS_PER_S)
        op = Invocation(process=1, client=1, f=f, key=0, deadline_ns=deadline_ns, argument=argument)
        done = await invoke_in_time(self.client, op)
        return done.type.word, done.error, done.result

    async def add(self):
        self.element += 1
        return await self._do(sets.F.ADD, sets.Add(element=self.element), 1)

    async def read(self):
        return await self._do(sets.F.READ, None, 10)

    async def received(self):
        """The server counts the question too."""
        self.words += 1
        return int((await self.server.word("srvr", now_ns() + 10 * NS_PER_S))["Received"]) - self.words


async def main():
    view = msgspec.json.decode(sys.stdin.buffer.readline(), type=ClusterView)
    probe, inside = ZooKeeper().probe(view), Inside(view)
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.buffer.readline)).decode().strip():
        answer = await getattr(inside if hasattr(inside, line) else probe, line)()
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    await inside.client.close()
    await probe.close()


if __name__ == "__main__":
    asyncio.run(main())
