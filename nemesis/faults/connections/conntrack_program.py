"""The program that the fault conntrack puts on hosts: entries that fill the kernel's table of connections.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.connections.conntrack``; its one argument is
JSON::

    {"do": "fill", "mark": 123456, "most": 300000, "pid_file": "…"}    -> nothing, once the table is full
    {"do": "back", "mark": 123456}                                     -> nothing: all entries of that mark are removed
    {"do": "try"}                                                      -> nothing, if an entry can be made and removed

Entries are made by netlink, of datagrams between addresses that nobody has. They look as if both ends had talked, so
that the kernel does not drop one of them to have room for another. It goes on in the background until SIGTERM: a place
that another connection had and left is filled again.
"""

import errno
import json
import os
import secrets
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

_NETFILTER = 12
_NEW, _DELETE = 0x100, 0x102
_REQUEST, _ACK, _CREATE = 1, 4, 0x400 | 0x200
_ORIG, _REPLY, _STATUS, _TIMEOUT, _MARK, _MARK_MASK = 1, 2, 3, 7, 8, 21
_NESTED = 0x8000
_TALKED = 0x2 | 0x4 | 0x8
_LIVES_S = 86_400
_UDP = 17
_FIRST = 0xF0000000
"""240.0.0.0: from here on are addresses that are in no network."""

_BATCH = 200
_POLL_S = 0.05


def attribute(kind: int, data: bytes) -> bytes:
    """One attribute of a netlink message."""
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def flow(kind: int, source: bytes, target: bytes, port: int, to: int) -> bytes:
    """The addresses and ports of datagrams one way."""
    addresses = attribute(1 | _NESTED, attribute(1, source) + attribute(2, target))
    words = attribute(1, bytes([_UDP])) + attribute(2, struct.pack("!H", port)) + attribute(3, struct.pack("!H", to))
    return attribute(kind | _NESTED, addresses + attribute(2 | _NESTED, words))


def message(kind: int, flags: int, body: bytes) -> bytes:
    """A whole message about IPv4 entries; of an order to remove: about all."""
    family = socket.AF_INET if kind == _NEW else 0
    body = struct.pack("=BBH", family, 0, 0) + body
    return struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, 0, 0) + body


def entry(number: int, mark: int, flags: int = 0) -> bytes:
    """The order to make the entry with that number."""
    source, target = struct.pack("!I", _FIRST + (number >> 15)), struct.pack("!I", _FIRST + 0x01000000)
    port = 1024 + (number & 0x7FFF)
    return message(
        _NEW,
        _CREATE | flags,
        flow(_ORIG, source, target, port, 9)
        + flow(_REPLY, target, source, 9, port)
        + attribute(_STATUS, struct.pack("!I", _TALKED))
        + attribute(_TIMEOUT, struct.pack("!I", _LIVES_S))
        + attribute(_MARK, struct.pack("!I", mark)),
    )


def failure(link: socket.socket) -> int:
    """The first error that the kernel has told since, 0 for none."""
    found = 0
    with suppress(BlockingIOError):
        while True:
            said, at = link.recv(1 << 16, socket.MSG_DONTWAIT), 0
            while at + 20 <= len(said):
                length, kind = struct.unpack_from("=IH", said, at)
                if kind == 2:  # noqa: PLR2004 - NLMSG_ERROR
                    found = found or -struct.unpack_from("=i", said, at + 16)[0]
                at += (length + 3) & ~3
    return found


def open_netlink() -> socket.socket:
    """A socket to the kernel's table.

    Raises:
        OSError: there is none.
    """
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER)
    link.bind((0, 0))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return link


def check(number: int) -> None:
    """Raise what the kernel told."""
    if number:
        raise OSError(number, f"entries of the table of connections: {os.strerror(number)}")


def make_entries(link: socket.socket, first: int, count: int, mark: int) -> bool:
    """Make entries; whether the table took all of them.

    Raises:
        OSError: the kernel refuses for another reason than a full table.
    """
    link.send(b"".join(entry(number, mark) for number in range(first, first + count)))
    number = failure(link)
    if number == errno.ENOMEM:
        return False
    check(0 if number == errno.EEXIST else number)
    return True


def remove_entries(mark: int) -> None:
    """Remove all entries of that mark.

    Raises:
        OSError: the kernel refuses.
    """
    with open_netlink() as link:
        words = attribute(_MARK, struct.pack("!I", mark)) + attribute(_MARK_MASK, struct.pack("!I", 0xFFFFFFFF))
        link.send(message(_DELETE, _ACK, words))
        said = link.recv(1 << 16)
        check(-struct.unpack_from("=i", said, 16)[0])


def fill(mark: int, most: int, pid_file: str) -> None:
    """Fill the table, and keep it full in the background until SIGTERM."""
    with open_netlink() as link:
        number = 0
        while make_entries(link, number, _BATCH, mark):
            number += _BATCH
            if number + _BATCH > most:
                remove_entries(mark)
                raise OSError(f"{number} entries do not fill the table of connections; give a larger most")
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        if (child := os.fork()) > 0:
            with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
                file.write(f"{child}\n")
            os._exit(0)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        number += _BATCH
        with suppress(OSError):
            while signal.sigtimedwait({signal.SIGTERM}, _POLL_S) is None:
                while make_entries(link, number, 1, mark):
                    number += 1


def attempt() -> None:
    """Make one entry and remove it.

    Raises:
        OSError: the kernel refuses.
    """
    mark = secrets.randbits(31) + 1
    with open_netlink() as link:
        if not make_entries(link, 0, 1, mark):
            raise OSError("the table of connections is full already")
    remove_entries(mark)


def main(orders: dict[str, Any]) -> None:
    """Do what is asked."""
    do = orders.pop("do")
    if do == "fill":
        fill(**orders)
    elif do == "back":
        remove_entries(**orders)
    else:
        attempt()


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except OSError as error:
        sys.exit(str(error))
