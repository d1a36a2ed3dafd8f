"""The network of a run's containers: internal, in 198.18.0.0/15, where nobody else is.

Which part of the range is taken is found out first, from the engine's networks and from this machine's routes; the
choice among the free ones follows from the run's id. Does not take a part that overlaps with anything.
"""

import hashlib
import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from chaos.core.errors import CapabilityError, DeployError
from cluster.hosts.addressing import FIRST, NETWORK
from cluster.hosts.docker.engine import Engine, labels

_LEAST_BITS: Final = 8
_CLASHES: Final = 8
_OVERLAPS: Final = ("overlaps", "conflicts with network")

Taken = tuple[ipaddress.IPv4Network, str]
"""A part that is taken, and by what, for people."""


def free(hosts: int, run_id: str, taken: Iterable[Taken]) -> Iterator[ipaddress.IPv4Network]:
    """Pure: the parts with room for that many hosts that overlap with nothing, from a place that the run decides.

    Raises:
        CapabilityError: there is none; the message names who has them.
    """
    known = list(taken)
    bits = max(_LEAST_BITS, (hosts + FIRST + 1).bit_length())
    parts = list(NETWORK.subnets(new_prefix=32 - bits)) if bits <= 32 - NETWORK.prefixlen else []
    start = int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=4).digest()) % max(1, len(parts))
    found = [part for part in parts[start:] + parts[:start] if not any(part.overlaps(other) for other, _ in known)]
    if not found:
        owners = sorted({f"{who} ({part})" for part, who in known if part.overlaps(NETWORK)})
        raise CapabilityError(
            f"docker: no /{32 - bits} of {NETWORK} is free for {hosts} hosts; "
            f"taken by {', '.join(owners[:5]) or 'nobody'}; `chaos clean`, or `docker network rm` what is not needed"
        )
    yield from found


def routes(text: str) -> list[Taken]:
    """Pure: where this machine has routes to, from what /proc/net/route says; the default route is no claim."""
    found: list[Taken] = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        address, mask = (socket.inet_ntoa(struct.pack("<L", int(fields[n], 16))) for n in (1, 7))
        if mask != "0.0.0.0":  # noqa: S104 - a netmask
            found.append((ipaddress.IPv4Network(f"{address}/{mask}"), f"the route by {fields[0]}"))
    return found


def subnets(engine: Engine) -> list[Taken]:
    """What the engine's networks have."""
    found: list[Taken] = []
    with engine.doing("listing its networks"):
        for each in engine.api.networks():
            for config in (each.get("IPAM") or {}).get("Config") or ():
                part = ipaddress.ip_network(config.get("Subnet", "::/128"))
                if isinstance(part, ipaddress.IPv4Network):
                    found.append((part, f"network {each['Name']}"))
    return found


def make(engine: Engine, run_id: str, hosts: int) -> tuple[str, ipaddress.IPv4Network]:
    """Make a run's network; returns its id and its addresses.

    Raises:
        CapabilityError: no part of the range is free.
        DeployError: the engine refused.
    """
    from docker.types import IPAMConfig, IPAMPool

    taken = [*subnets(engine), *routes(Path("/proc/net/route").read_text())]
    clashes: list[str] = []
    for part in free(hosts, run_id, taken):
        try:
            with engine.doing(f"making network {part}"):
                made = engine.api.create_network(
                    f"chaos-{run_id}",
                    driver="bridge",
                    internal=True,
                    labels=labels(run_id),
                    ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=str(part))]),
                )
        except DeployError as error:  # somebody was faster, or has it where we cannot look
            if not any(word in str(error) for word in _OVERLAPS):
                raise
            clashes.append(str(error))
            if len(clashes) >= _CLASHES:
                break
        else:
            return str(made["Id"]), part
    raise CapabilityError(f"{clashes[-1]}; `chaos clean`, or `docker network rm` what is not needed")
