"""The names and addresses of a run's hosts, on whichever backend: pure.

Does not make anything.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Final

from chaos.core.errors import UsageError
from cluster.host import NodeSpec

CLIENT: Final = "client"
"""The host on which load and observers run."""

NETWORK: Final = ipaddress.IPv4Network("198.18.0.0/15")
"""What is reserved for tests between hosts (RFC 2544), so that no address of ours is anybody's."""

FIRST: Final = 10
"""Low numbers stay free for whoever watches a wire, and for an engine's own end of it."""

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


def names_of(run_id: str, specs: Sequence[NodeSpec]) -> list[str]:
    """The names of a run's hosts, the client's last.

    Raises:
        UsageError: a name or the run's id is impossible.
    """
    names = [spec.name for spec in specs]
    for name in names:
        if not _NAME.fullmatch(name) or name == CLIENT or names.count(name) > 1:
            raise UsageError(f"{name!r} cannot name a host: use distinct lower-case names other than {CLIENT!r}")
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id!r} cannot be a run's id: use letters, digits, dots and dashes")
    return [*names, CLIENT]


def addresses(names: Sequence[str], within: ipaddress.IPv4Network = NETWORK) -> dict[str, str]:
    """An address for each name, in order, in a network of ours.

    Raises:
        UsageError: there are more names than addresses.
    """
    if len(names) > within.num_addresses - FIRST - 1:
        raise UsageError(f"{len(names)} hosts do not fit into {within}; use fewer nodes")
    return {name: str(within[FIRST + position]) for position, name in enumerate(names)}


def hosts_text(by_name: Mapping[str, str]) -> str:
    """The hosts file that every host sees."""
    return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in by_name.items())
