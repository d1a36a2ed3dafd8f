"""What asks tinykv: the client of a load, and the probe that observes the servers."""

import asyncio
import json
from typing import Any

from chaos.core.client import Client, Definite, Indefinite, Received
from chaos.core.clock import now_ns
from chaos.core.events import Observation
from chaos.core.op import Invocation
from chaos.models.objects.answers import Found
from chaos.models.objects.register import F
from chaos.storage.runinfo import NodeInfo
from cluster.leaders import not_ready
from cluster.system import ClusterView, Probe

PORT = 7070


async def ask(address: str, request: dict[str, Any]) -> dict[str, Any]:
    """One request on a connection of its own.

    Raises:
        Definite: it was not sent, or it was refused. Indefinite: it may have been done.
    """
    try:
        reader, writer = await asyncio.open_connection(address, PORT)
    except OSError as error:
        raise Definite(f"connect: {type(error).__name__}") from None
    try:
        writer.write(json.dumps(request).encode() + b"\n")
        line = await reader.readline()
    except OSError as error:
        raise Indefinite(type(error).__name__) from None
    finally:
        writer.close()
    if not line:
        raise Indefinite("the server closed the connection")
    answer: dict[str, Any] = json.loads(line)
    if "refused" in answer:
        raise Definite(answer["refused"])
    return answer


class TinyClient(Client):
    """Asks the server that has the key: each has every third one."""

    def __init__(self, view: ClusterView) -> None:
        self._nodes = view.nodes

    async def invoke(self, op: Invocation, received: Received) -> None:
        """Try the operation once; returning means ok."""
        node = self._nodes[op.key % len(self._nodes)]
        received.node = node.name
        request: dict[str, Any] = {"do": op.f.word, "key": str(op.key)}
        if op.f is not F.READ:
            request["value"] = op.argument.value
        if op.f is F.CAS:
            request["expected"] = op.argument.expected
        answer = await ask(node.address, request)
        if op.f is F.READ:
            received.result = Found(answer["value"])


class TinyProbe(Probe):
    """Asks each server for a key that nobody writes."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    async def readiness(self) -> str | None:
        """None when every server answers; else one line saying what is missing."""
        return not_ready({node.name: await self.observe(node, 1.0) for node in self._view.nodes}, ())

    async def observe(self, node: NodeInfo, timeout_s: float) -> Observation:
        """Ask one server; never raises for a silent one."""
        asked_ns, error = now_ns(), None
        try:
            async with asyncio.timeout(timeout_s):
                await ask(node.address, {"do": "read", "key": "nobody's"})
        except (Definite, Indefinite, TimeoutError) as raised:
            error = str(raised) or "no answer"
        return Observation(time_ns=now_ns(), asked_ns=asked_ns, node=node.name, alive=error is None, error=error)
