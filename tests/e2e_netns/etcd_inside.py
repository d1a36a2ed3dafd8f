"""What a test does inside the cluster's network: one command a line in, one JSON answer a line out.

First line: the ClusterView. Then ``readiness``, ``confirm``, ``observe`` or ``remove``.
"""

import asyncio
import sys

import msgspec

from cluster.leaders import leads_of
from cluster.system import ClusterView
from cluster.systems.etcd.system import GROUP, Etcd


async def observe(probe, view):
    seen = {node.name: await probe.observe(node, 0.8) for node in view.nodes}
    return {"seen": seen, "lead": leads_of(seen, Etcd().subjects({}, 1))[GROUP]}


async def main():
    view = msgspec.json.decode(sys.stdin.buffer.readline(), type=ClusterView)
    probe = Etcd().probe(view)
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.buffer.readline)).decode().strip():
        answer = await (observe(probe, view) if line == "observe" else getattr(probe, line)())
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    await probe.close()


if __name__ == "__main__":
    asyncio.run(main())
