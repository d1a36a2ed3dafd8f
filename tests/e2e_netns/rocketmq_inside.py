"""What a test does inside the cluster's network: one JSON command a line in, one JSON answer a line out.

First line: the ClusterView. Then ``{"do": "readiness" | "prepare" | "observe" | "invoke" | "close", …}``.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from chaos.core.client import invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.log.words import F
from cluster.leaders import leads_of
from cluster.system import ClusterView
from cluster.systems.rocketmq.config import GROUP
from cluster.systems.rocketmq.launch import subjects
from cluster.systems.rocketmq.system import RocketMQ

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from log_ops import argument_of, told

SYSTEM = RocketMQ()


class Inside:
    def __init__(self, view):
        self.view = view
        self.probe = SYSTEM.probe(view)
        self.clients = {}

    def client(self, number, routing):
        view = msgspec.structs.replace(self.view, settings={**self.view.settings, "client.routing": routing})
        if (number, routing) not in self.clients:
            self.clients[number, routing] = SYSTEM.client(view, number, 8, seed=1)
        return self.clients[number, routing]

    async def invoke(self, command):
        f = F[command["f"]]
        facts = {name: command[name] for name in ("value", "offset") if name in command}
        if "node" in command:
            facts["argument"] = [node.name for node in self.view.nodes].index(command["node"])
        if f is F.SEND:
            facts["body_bytes"] = 100
        op = Invocation(
            process=0,
            client=0,
            f=f,
            key=command.get("key", 0),
            deadline_ns=now_ns() + int(command.get("timeout_s", 5) * NS_PER_S),
            argument=argument_of(f, **facts),
        )
        return told(await invoke_in_time(self.client(command.get("client", -1), command.get("routing", "follow")), op))

    async def do(self, command):
        if command["do"] == "readiness":
            return await self.probe.readiness()
        if command["do"] == "prepare":
            return await self.probe.prepare()
        if command["do"] == "observe":
            seen = [await self.probe.observe(node, 0.8) for node in self.view.nodes]
            latest = {observation.node: observation for observation in seen}
            return {"seen": latest, "leads": leads_of(latest, subjects(self.view.settings))[GROUP]}
        if command["do"] == "invoke":
            return [await self.invoke(single) for single in command["ops"]]
        raise ValueError(command["do"])

    async def close(self):
        await self.probe.close()
        for client in self.clients.values():
            await client.close()


async def main():
    inside = Inside(msgspec.json.decode(sys.stdin.buffer.readline(), type=ClusterView))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        answer = await inside.do(msgspec.json.decode(line))
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    await inside.close()


if __name__ == "__main__":
    asyncio.run(main())
