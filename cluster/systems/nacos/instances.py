"""Leases of Nacos: each an ephemeral instance, of a service for each place, that lives as long as somebody sends beats.

Each server answers for some of the instances: it takes their beats, also those that came to other servers, ends the
instances that it hears nothing of, and tells the others a while later (Distro). So an entry may be missing from other
servers for a moment, and a look waits before it asks (``client.lookAfter``): what it misses then is missing for longer
than servers that reach each other need.
"""

import asyncio
from typing import Final

import msgspec

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from cluster.systems._shared.link import seconds_until
from cluster.systems.nacos.servers import Server

PATH: Final = "/v3/client/ns/instance"
SERVICE_GROUP: Final = "chaos"
NOT_OURS: Final = "this client does not hold the lease"
_BEAT_EVERY_MS: Final = 500
"""What Nacos is told of how often beats come; it asks that no time-out is shorter."""
_BITS: Final = 24
_TEN: Final = 10 << _BITS


class _Host(msgspec.Struct):
    ip: str
    port: int


class Instances:
    """What a client does with leases.

    Args:
        mark: what the run's services begin with.
        look_after_ms: how long a look waits before it asks.
    """

    def __init__(self, mark: str, look_after_ms: int) -> None:
        self._mark = mark
        self._wait_s = look_after_ms / 1000
        self._held: dict[int, lease.Term] = {}

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> lease.Alive | lease.Living | None:
        """Do one operation. Raises Definite or Indefinite."""
        service = {"serviceName": f"{self._mark}.{op.key}", "groupName": SERVICE_GROUP}
        if op.f is lease.F.READ:
            return await self._look(server, service, deadline_ns)
        which = {**service, **address_of(op.argument.lease), "ephemeral": "true"}
        if op.f is lease.F.GRANT:
            await server.change(PATH, {**which, "metadata": _lives_for(op.argument.ttl_ms)}, str, deadline_ns)
            self._held[op.key] = op.argument
            return lease.Alive(op.argument.ttl_ms)
        if op.f is lease.F.REVOKE:
            await server.change(PATH, which, str, deadline_ns, method="DELETE")
            return None
        held = self._held.get(op.key)
        if held is None or held.lease != op.argument.lease:
            raise Definite(NOT_OURS)
        await server.change(PATH, {**which, "heartBeat": "true"}, str, deadline_ns)
        return lease.Alive(held.ttl_ms)

    async def _look(self, server: Server, service: dict[str, str], deadline_ns: int) -> lease.Living:
        """Every instance that the server has, healthy or not, some time after it was asked for."""
        if self._wait_s > seconds_until(deadline_ns):
            raise Definite("the look would wait beyond its deadline")
        await asyncio.sleep(self._wait_s)
        hosts = await server.get(f"{PATH}/list", service, list[_Host], deadline_ns)
        try:
            return lease.Living(sorted(number_at(host.ip, host.port) for host in hosts))
        except ValueError as error:
            raise Definite(f"malformed answer: {error}") from None


def address_of(number: int) -> dict[str, str]:
    """The address that stands for a lease: nobody is there, and nobody calls it. Pure."""
    port, low = divmod(number, 1 << _BITS)
    return {"ip": ".".join(map(str, (_TEN + low).to_bytes(4))), "port": str(port + 1)}


def number_at(ip: str, port: int) -> int:
    """The lease for which an address stands. Pure. Raises ValueError: for none."""
    number = int.from_bytes(bytes(map(int, ip.split(".")))) - _TEN
    if not 0 <= number < 1 << _BITS or port < 1:
        raise ValueError(f"an instance that nobody registered, {ip}:{port}")
    return (port - 1 << _BITS) + number


def _lives_for(ttl_ms: int) -> str:
    """The metadata of an instance that is to end so long after its last beat."""
    return msgspec.json.encode(
        {
            "preserved.heart.beat.interval": str(_BEAT_EVERY_MS),
            "preserved.heart.beat.timeout": str(ttl_ms),
            "preserved.ip.delete.timeout": str(ttl_ms),
        }
    ).decode()
