"""The program with which the fault reconnect-storm looks at connections: run on the clients' host.

Plain standard library, fed to ``python3 -I -S -``; its one argument is JSON::

    {"pids": [71, 72], "to": ["198.18.0.10"]}   -> {"71": ["40312>198.18.0.10:2379"], "72": []}

Established TCP connections of processes to these addresses, each by its own port: what the kernel shows of each, and
which process holds it.
"""

import json
import os
import socket
import struct
import sys

_ESTABLISHED = "01"
_MAPPED = b"\0" * 10 + b"\xff\xff"


def address_of(text: str) -> str:
    """An address as the kernel's table has it: words of four bytes, each in the order of this machine."""
    raw = b"".join(struct.pack("=I", int(text[at : at + 8], 16)) for at in range(0, len(text), 8))
    if len(raw) > 4 and raw.startswith(_MAPPED):  # noqa: PLR2004 - IPv4 within IPv6
        raw = raw[len(_MAPPED) :]
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)  # noqa: PLR2004 - bytes


def table(pid: int, to: set[str]) -> dict[str, str]:
    """Inode of a socket → its connection, of those in a process' network."""
    found = {}
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:  # noqa: PTH123 - quicker
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        for row in rows:
            here, there = (end.split(":") for end in row[1:3])
            peer = address_of(there[0])
            if row[3] == _ESTABLISHED and peer in to:
                found[row[9]] = f"{int(here[1], 16)}>{peer}:{int(there[1], 16)}"
    return found


def held_sockets(pid: int) -> set[str]:
    """The inodes of the sockets that a process holds; none if it has ended."""
    found: set[str] = set()
    try:
        names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - quicker
    except OSError:
        return found
    for name in names:
        try:
            link = os.readlink(f"/proc/{pid}/fd/{name}")  # noqa: PTH115 - quicker
        except OSError:
            continue
        if link.startswith("socket:["):
            found.add(link[len("socket:[") : -1])
    return found


def connections(pid: int, to: set[str]) -> list[str]:
    """The connections of one process."""
    own = held_sockets(pid)
    return sorted(said for inode, said in table(pid, to).items() if inode in own)


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    print(json.dumps({pid: connections(pid, set(orders["to"])) for pid in orders["pids"]}))
