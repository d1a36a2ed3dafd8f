"""Instances of services: a lease is an ephemeral one, which lives as long as somebody sends beats.

A place is a service. Each server answers for some of the instances: it takes their beats, ends the instances that it
hears nothing of, and tells the others a while later (Distro). So an entry may be missing from other servers for a
moment, and a look waits before it asks (``client.lookAfter``): what it misses then is missing for longer than servers
that reach each other need. Requests of Nacos 1's API are forwarded to the server that answers for the instance; Nacos
3.1 forgets to do so with those of Nacos 3 (its issue 14992).
"""

import asyncio
from collections.abc import Mapping
from itertools import cycle
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import ns_from_now
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from cluster.systems._shared.http import OK
from cluster.systems.nacos.outcomes import outcome
from cluster.systems.nacos.servers import Server
from cluster.systems.nacos.settings import V3

PATH: Final = "/v3/client/ns/instance"
OLD_PATH: Final = "/v1/ns/instance"
SERVICE_GROUP: Final = "chaos"
NOT_OURS: Final = "this client does not hold the lease"
_BEAT_EVERY_MS: Final = 500
"""What Nacos is told of how often beats come; it asks that no time-out is shorter."""
_DONE: Final = b"ok"
_BEAT_TAKEN: Final = 10200
_FIRST: Final = 24
"""So many instances are told before the load: each server answers for some of them."""
_FROM: Final = 1 << 30
"""Numbers that no lease of a run has."""
_AGAIN_S: Final = 0.2
_BITS: Final = 24
_TEN: Final = 10 << _BITS


class _Beat(msgspec.Struct):
    code: int


class _Host(msgspec.Struct):
    ip: str
    port: int


class Instances:
    """What a client does with leases.

    Args:
        mark: what the run's services begin with.
        look_after_ms: how long a look waits before it asks.
        api: by which API instances are registered, kept alive and removed.
    """

    def __init__(self, mark: str, look_after_ms: int, api: str) -> None:
        self._mark = mark
        self._change, self._beat = (_change, _beat) if api == V3 else (_change_v1, _beat_v1)
        self._wait_s = look_after_ms / 1000
        self._held: dict[int, lease.Term] = {}

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> lease.Alive | lease.Living | None:
        """Do one operation. Raises Definite or Indefinite."""
        service = service_at(self._mark, op.key)
        if op.f is lease.F.READ:
            return lease.Living(await listed(server, service, self._wait_s, deadline_ns))
        which = {**service, **address_of(op.argument.lease), "ephemeral": "true"}
        if op.f is lease.F.GRANT:
            await self._change(server, "POST", {**which, "metadata": _lives_for(op.argument.ttl_ms)}, deadline_ns)
            self._held[op.key] = op.argument
            return lease.Alive(op.argument.ttl_ms)
        if op.f is lease.F.REVOKE:
            await self._change(server, "DELETE", which, deadline_ns)
            return None
        held = self._held.get(op.key)
        if held is None or held.lease != op.argument.lease:
            raise Definite(NOT_OURS)
        await self._beat(server, which, deadline_ns)
        return lease.Alive(held.ttl_ms)


async def _change(server: Server, method: str, which: dict[str, str], deadline_ns: int) -> None:
    await server.change(PATH, which, str, deadline_ns, method=method)


async def _beat(server: Server, which: dict[str, str], deadline_ns: int) -> None:
    await server.change(PATH, {**which, "heartBeat": "true"}, str, deadline_ns)


async def _change_v1(server: Server, method: str, which: dict[str, str], deadline_ns: int) -> None:
    said = await server.change_v1(OLD_PATH, which, deadline_ns, method=method)
    if said != _DONE:
        raise Indefinite(f"malformed answer: {said[:40]!r}")


async def _beat_v1(server: Server, which: dict[str, str], deadline_ns: int) -> None:
    said = await server.change_v1(f"{OLD_PATH}/beat", which, deadline_ns, method="PUT")
    try:
        code = msgspec.json.decode(said, type=_Beat).code
    except msgspec.DecodeError as error:
        raise Indefinite(f"malformed answer: {error}") from None
    if code != _BEAT_TAKEN:
        raise outcome(OK, said, write=True)


def service_at(mark: str, key: int | str) -> dict[str, str]:
    """The service that is a place of a run. Pure."""
    return {"serviceName": f"{mark}.{key}", "groupName": SERVICE_GROUP}


async def listed(server: Server, service: dict[str, str], wait_s: float, deadline_ns: int) -> list[int]:
    """The numbers of all instances that a server has, healthy or not, asked for after a wait. Raises Definite."""
    if ns_from_now(wait_s) > deadline_ns:
        raise Definite("the look would wait beyond its deadline")
    await asyncio.sleep(wait_s)
    hosts = await server.get(f"{PATH}/list", service, list[_Host], deadline_ns)
    try:
        return sorted(number_at(host.ip, host.port) for host in hosts)
    except ValueError as error:
        raise Definite(f"malformed answer: {error}") from None


async def not_hearing(servers: Mapping[str, Server], mark: str, deadline_ns: int) -> str | None:
    """Which server does not hear of instances that came to others; None once all do. It leaves no instance.

    The first ones take servers seconds, which looks do not wait. Raises Definite or Indefinite.
    """
    service = service_at(mark, "first")
    which = [{**service, **address_of(number), "ephemeral": "true"} for number in range(_FROM, _FROM + _FIRST)]
    for one, server in zip(which, cycle(servers.values()), strict=False):
        await _change_v1(server, "POST", one, deadline_ns)
    for name, server in servers.items():
        while len(await listed(server, service, 0, deadline_ns)) < _FIRST:
            if ns_from_now(2 * _AGAIN_S) >= deadline_ns:
                return name
            await asyncio.sleep(_AGAIN_S)
    for one, server in zip(which, cycle(servers.values()), strict=False):
        await _change_v1(server, "DELETE", one, deadline_ns)
    return None


def address_of(number: int) -> dict[str, str]:
    """The address that stands for a number. No machine has it, and no request goes there. Pure."""
    port, low = divmod(number, 1 << _BITS)
    return {"ip": ".".join(map(str, (_TEN + low).to_bytes(4))), "port": str(port + 1)}


def number_at(ip: str, port: int) -> int:
    """The number for which an address stands. Pure. Raises ValueError: for none."""
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
