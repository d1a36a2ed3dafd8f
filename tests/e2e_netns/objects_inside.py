"""What a test does inside the cluster's network: one command a line in, one JSON answer a line out.

Its argument is the system. First line: the ClusterView. Then ``readiness``, ``confirm``, ``observe``, ``remove``,
``use`` or ``replicas``.
"""

import asyncio
import sys

import msgspec

from chaos import plugins
from chaos.core.client import invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.core.replica_data import data_in, notes_of
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from cluster.leaders import leads_of
from cluster.system import ClusterView

OPERATIONS = (
    (register.F.READ, None),
    (register.F.WRITE, register.Write(value=3)),
    (register.F.CAS, register.Cas(expected=2, value=4)),
    (register.F.CAS, register.Cas(expected=3, value=5)),
    (register.F.READ, None),
    (sets.F.READ, None),
    *((sets.F.ADD, sets.Add(element=number)) for number in range(120)),
    (sets.F.READ, None),
    (counter.F.READ, None),
    *((counter.F.ADD, counter.Add(amount=amount)) for amount in (5, -7, 4)),
    (counter.F.READ, None),
)


async def use(system, view):
    """Each operation by the next of eight clients, three of which are pinned; the node, the type and the result."""
    clients = [system.client(view, number, 8, seed=1) for number in range(8)]
    said = []
    for number, (f, argument) in enumerate(OPERATIONS):
        deadline_ns = now_ns() + 10 * NS_PER_S
        op = Invocation(process=number % 8, client=number % 8, f=f, key=1, deadline_ns=deadline_ns, argument=argument)
        done = await invoke_in_time(clients[number % 8], op)
        said.append((done.node, done.type.word, done.error, done.result))
    for client in clients:
        await client.close()
    return said


async def observe(system, probe, view):
    seen = {node.name: await probe.observe(node, 0.8) for node in view.nodes}
    subjects = system.subjects(view.settings, 1)
    return {"seen": seen, "lead": leads_of(seen, subjects)[subjects[0].name]}


async def replicas(system, view):
    """What each replica holds, those that differ with what differs."""
    reader = system.replica_reader(view)
    try:
        return [data_in(note) for note in notes_of(await reader.read(20), now_ns())]
    finally:
        await reader.close()


async def main():
    view = msgspec.json.decode(sys.stdin.buffer.readline(), type=ClusterView)
    system = plugins.load("systems", sys.argv[1])()
    probe = system.probe(view)
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.buffer.readline)).decode().strip():
        ours = {
            "observe": lambda: observe(system, probe, view),
            "use": lambda: use(system, view),
            "replicas": lambda: replicas(system, view),
        }
        answer = await (ours[line] if line in ours else getattr(probe, line))()
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    await probe.close()


if __name__ == "__main__":
    asyncio.run(main())
