"""The program that the fault backlog puts on hosts: connections that fill the queue of a port, and stay half-open.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.connections.backlog``; its one argument is
JSON::

    {"do": "find", "pid": 71}                                       -> [7000], the TCP ports on which it listens
    {"do": "look", "pid": 71, "ports": [7000]}                      -> {"half": 129, "options": [0]}
    {"do": "back", "pid": 71, "ports": [7000], "option": 0}         -> nothing: the option is set
    {"do": "fill", "pid": 71, "ports": [7000], "option": 600, "address": "…", "most": 10000, "pid_file": "…"}
                                                                    -> nothing, once the queues are full
    {"do": "try"}                                    -> nothing, if the option of another's socket can be set

``option`` is TCP_DEFER_ACCEPT of the listening sockets: with it the kernel keeps a connection half-open until its
client sends something, and ours never do. ``half``: how many half-open connections these ports have by the kernel's
table. The connections are kept in the background until SIGTERM, or until the process ends, and then reset, which
empties the queues at once. A place that another connection had and left is filled again.
"""

import ctypes
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

_PIDFD_GETFD = 438
_LISTENS, _HALF_OPEN = "0A", "03"
_BATCH = 64
_WAIT_S = 0.3
_POLL_S = 0.5
_SPARE_FILES = 100
_LOOPBACK = "0100007F"


def rows(state: str) -> list[list[str]]:
    """The rows of the kernel's tables of TCP sockets in that state."""
    found: list[list[str]] = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/self/net/{table}", encoding="ascii") as file:  # noqa: PTH123 - quicker
            found += [row for row in map(str.split, file.read().splitlines()[1:]) if row[3] == state]
    return found


def port_of(row: list[str]) -> int:
    """The local port of a row."""
    return int(row[1].rpartition(":")[2], 16)


def listeners(pid: int) -> list[tuple[int, int]]:
    """The port and the descriptor of each TCP socket on which the process listens for others."""
    own: dict[str, int] = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - quicker
        with suppress(OSError):
            own[os.readlink(f"/proc/{pid}/fd/{fd}")] = int(fd)  # noqa: PTH115
    inodes = [(port_of(row), f"socket:[{row[9]}]") for row in rows(_LISTENS) if not row[1].startswith(_LOOPBACK)]
    return sorted((port, own[inode]) for port, inode in inodes if inode in own)


def socket_of(pid: int, fd: int) -> socket.socket:
    """A socket of another process; to be closed soon, or it outlives that one.

    Raises:
        OSError: the kernel refuses.
    """
    handle = os.pidfd_open(pid)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        got = libc.syscall(_PIDFD_GETFD, handle, fd, 0)
        if got < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"pidfd_getfd: {os.strerror(number)}")
        return socket.socket(fileno=got)
    finally:
        os.close(handle)


def options(pid: int, ports: list[int], new: int | None = None) -> list[int]:
    """The option of each listening socket of these ports; ``new``: what to set then.

    Raises:
        OSError: the kernel refuses, or the process is gone.
    """
    found = []
    for port, fd in listeners(pid):
        if port in ports:
            with socket_of(pid, fd) as listener:
                found.append(listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT))
                if new is not None:
                    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, new)
    return found


def look(pid: int, ports: list[int]) -> dict[str, Any]:
    """How many half-open connections there are, and the options; none of a process that is gone."""
    half = sum(port_of(row) in ports for row in rows(_HALF_OPEN))
    try:
        return {"half": half, "options": options(pid, ports)}
    except (FileNotFoundError, ProcessLookupError):
        return {"half": half, "options": []}


def open_connections(address: str, port: int, count: int) -> tuple[list[socket.socket], bool]:
    """Connections to a port, each to be reset when it is closed; whether the port took all of them."""
    tried = []
    for _ in range(count):
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.setblocking(False)
        one.connect_ex((address, port))
        tried.append(one)
    poll = select.poll()
    waiting = {one.fileno(): one for one in tried}
    for fd in waiting:
        poll.register(fd, select.POLLOUT)
    while waiting and (ready := poll.poll(_WAIT_S * 1000)):
        for fd, _ in ready:
            poll.unregister(fd)
            del waiting[fd]
    kept = [one for one in tried if one.fileno() not in waiting]
    for one in waiting.values():
        one.close()
    failed = [code for one in kept if (code := one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))]
    if failed:
        raise OSError(failed[0], f"port {port}: {os.strerror(failed[0])}")
    return kept, not waiting


def fill_ports(address: str, ports: list[int], most: int) -> list[socket.socket]:
    """Connections that fill the queues of all ports.

    Raises:
        OSError: ``most`` are not enough, or the host cannot make so many.
    """
    held: list[socket.socket] = []
    for port in ports:
        more = True
        while more:
            if len(held) + _BATCH > most:
                raise OSError(f"{len(held)} connections do not fill the queue of port {port}; give a larger most")
            new, more = open_connections(address, port, _BATCH)
            held += new
    return held


def _allow(files: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files + _SPARE_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


def fill(pid: int, ports: list[int], option: int, address: str, most: int, pid_file: str) -> None:
    """Fill the queues, and keep them full in the background until SIGTERM or the process' end."""
    _allow(most)
    options(pid, ports, option)
    held = fill_ports(address, ports, most)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if (child := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(f"{child}\n")
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    with suppress(OSError):
        while signal.sigtimedwait({signal.SIGTERM}, _POLL_S) is None and len(options(pid, ports)) >= len(ports):
            for port in ports:
                held += open_connections(address, port, 1)[0]
    for one in held:
        one.close()


def attempt() -> None:
    """Set the option of a socket of a process of ours.

    Raises:
        OSError: the kernel refuses.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            signal.pause()
        try:
            with socket_of(child, server.fileno()) as listener:
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def main(orders: dict[str, Any]) -> None:
    """Do what is asked."""
    do = orders.pop("do")
    if do == "find":
        print(json.dumps(sorted({port for port, _ in listeners(orders["pid"])})))
    elif do == "look":
        print(json.dumps(look(**orders)))
    elif do == "back":
        with suppress(FileNotFoundError, ProcessLookupError):
            options(orders["pid"], orders["ports"], orders["option"])
    elif do == "fill":
        fill(**orders)
    else:
        attempt()


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except OSError as error:
        sys.exit(str(error))
