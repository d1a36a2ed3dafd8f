"""A host's own link to its network: down and up again, as if somebody pulled the plug.

Everybody loses the host and the host loses everybody, clients too; its address stays. For hosts whose commands come by
another way. Does not trust what the link says: ``cluster.network.probe_matrix`` proves it.
"""

from typing import Final

from cluster.host import Host

_TIMEOUT_S: Final = 15.0

# $1: the host's address, $2: what is wanted. Leaves what is wanted in $1 and the device in $3.
_DEVICE: Final = """\
set -- "$2" $(ip -o -4 addr show to "$1")
[ -n "$3" ] || { echo "no device has the address" >&2; exit 1; }
"""
SET: Final = (
    _DEVICE
    + """\
exec ip link set dev "$3" "$1"
"""
)
FLAGS: Final = (
    _DEVICE
    + """\
exec ip -o link show dev "$3"
"""
)


def take_down(host: Host) -> None:
    """Take the link down; fine if it is."""
    _run(host, SET, "down")


def put_up(host: Host) -> None:
    """Put the link up; fine if it is."""
    _run(host, SET, "up")


def is_up(host: Host) -> bool:
    """What the host's kernel says of the link."""
    flags = _run(host, FLAGS, "-").partition("<")[2].partition(">")[0]
    return "UP" in flags.split(",")


def _run(host: Host, script: str, what: str) -> str:
    done = host.run("sh", "-c", script, "sh", host.address, what, timeout_s=_TIMEOUT_S)
    return done.check(f"{host.name}: its network link").text
