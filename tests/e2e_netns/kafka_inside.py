"""What the test of Kafka does inside the cluster's network: one command a line in, one JSON answer a line out.

Its argument is the system. First line: the ClusterView. Then ``readiness``, ``prepare``, ``confirm``, ``remove``;
``observe`` (what nodes say, and who leads); ``send K`` (a new value to each partition by a client that follows the
route, K times, each within ten seconds), ``once`` (one more to the first partition, within half a second); ``poll``,
``read``, ``drain`` and ``copies`` (of each partition; the offsets of the values); ``group`` (where it goes on in the
second partition); ``transact`` (a transaction of each decision there).
"""

import asyncio
import sys

import msgspec

from chaos.core.client import invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.log.operations import Commit, ReadCopy, ReadFrom, Send, Transact
from chaos.models.log.transaction import Decision
from chaos.models.log.words import F, Value
from cluster.leaders import leads_of
from cluster.system import ClusterView
from cluster.systems.kafka.system import Kafka


class Inside:
    """A client that follows the route, and what it has sent."""

    def __init__(self, view):
        self.view = view
        self.probe = Kafka().probe(view)
        self.client = Kafka().client(view, -1, 8, seed=1)
        self.sequence = 0

    async def _do(self, f, key, argument=None, within_s=10.0):
        deadline_ns = now_ns() + int(within_s * NS_PER_S)
        op = Invocation(process=1, client=1, f=f, key=key, deadline_ns=deadline_ns, argument=argument)
        return await invoke_in_time(self.client, op)

    async def _send(self, key, within_s):
        self.sequence += 1
        done = await self._do(F.SEND, key, Send(value=Value(1, self.sequence)), within_s)
        return key, self.sequence, done.type.word, done.error, done.node, getattr(done.result, "offset", None)

    async def send(self, times):
        return [await self._send(key, 10) for _ in range(int(times)) for key in range(self.view.keys)]

    async def once(self):
        return await self._send(0, 0.5)

    async def _values(self, f, argument=None):
        out = []
        for key in range(self.view.keys):
            done = await self._do(f, key, argument)
            assert done.type.word == "ok", done
            out.append([(record.offset, record.value.sequence) for record in done.result.records])
        return out

    async def poll(self):
        return await self._values(F.POLL, ReadFrom(offset=0))

    async def read(self):
        return await self._values(F.READ, ReadFrom(offset=0))

    async def drain(self):
        return await self._values(F.DRAIN)

    async def copies(self):
        return [await self._values(F.REPLICA, ReadCopy(node=number)) for number in range(3)]

    async def group(self):
        """A question, a commit of 2, a question, and one behind a commit of 3."""
        out = []
        for f, argument in (
            (F.COMMITTED_READ, None),
            (F.COMMIT, Commit(offset=2)),
            (F.COMMITTED_READ, None),
            (F.COMMIT, Commit(offset=3)),
            (F.COMMITTED_READ, None),
        ):
            done = await self._do(f, 1, argument)
            while done.type.word == "fail":  # its coordinator is still to be made
                done = await self._do(f, 1, argument)
            out.append((done.type.word, getattr(done.result, "offset", None)))
        return [out[0], out[1], out[2], out[4]]

    async def transact(self):
        """A transaction of each decision in the second partition, and the values of those that are then shown."""
        settings = {**self.view.settings, "client.isolation": "read_committed"}
        client = Kafka().client(msgspec.structs.replace(self.view, settings=settings), -1, 8, seed=1)
        out, kept = [], {}
        for decision in Decision:
            self.sequence += 1
            kept[self.sequence] = decision.word
            argument = Transact(value=Value(1, self.sequence), decision=decision)
            deadline_ns = now_ns() + 10 * NS_PER_S
            op = Invocation(process=1, client=1, f=F.TRANSACT, key=1, deadline_ns=deadline_ns, argument=argument)
            done = await invoke_in_time(client, op)
            while done.type.word == "fail":  # its coordinator is still to be made
                done = await invoke_in_time(client, msgspec.structs.replace(op, deadline_ns=now_ns() + 10 * NS_PER_S))
            out.append((decision.word, done.type.word, done.error))
        op = Invocation(process=1, client=1, f=F.DRAIN, key=1, deadline_ns=now_ns() + 10 * NS_PER_S)
        done = await invoke_in_time(client, op)
        await client.close()
        shown = [kept[record.value.sequence] for record in done.result.records if record.value.sequence in kept]
        return out, shown

    async def observe(self):
        seen = {node.name: await self.probe.observe(node, 0.8) for node in self.view.nodes}
        return {"seen": seen, "leads": leads_of(seen, Kafka().subjects(self.view.settings, self.view.keys))}


async def main():
    view = msgspec.json.decode(sys.stdin.buffer.readline(), type=ClusterView)
    inside = Inside(view)
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.buffer.readline)).decode().strip():
        word, *arguments = line.split()
        answer = await getattr(inside if hasattr(inside, word) else inside.probe, word)(*arguments)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    await inside.client.close()
    await inside.probe.close()


if __name__ == "__main__":
    asyncio.run(main())
