"""The program that shows which sizes of datagrams pass between hosts: answers some, or sends some and counts answers.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.links.mtu``; its one argument is JSON::

    {"do": "answer", "port": 25000, "hold_s": 60}                   -> {"pid": 71}, and goes on in the background
    {"do": "ask", "to": [["198.18.0.11", 25000], …], "bytes": 1280, "whole": true, "count": 3, "wait_s": 1.0}
                                                                         -> [3, …], answers of each peer

``bytes``: how long a packet is with its headers. ``whole``: nobody may cut it into fragments (the DF bit); a sender
whose own interface is too narrow gets EMSGSIZE then, and nothing leaves. Answers are short.
"""

import json
import os
import select
import signal
import socket
import sys
import time

_HEADERS_BYTES = 28
_MTU_DISCOVER, _NEVER, _ALWAYS = 10, 0, 2
_LONGEST_BYTES = 1 << 16


def answer(port: int, hold_s: int) -> None:
    """Say to each sender how long its datagram was, ``hold_s`` at most."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("0.0.0.0", port))  # noqa: S104 - a namespace or host in a test network
    if (pid := os.fork()) > 0:
        print(json.dumps({"pid": pid}), flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    signal.alarm(hold_s)
    while True:
        data, sender = bound.recvfrom(_LONGEST_BYTES)
        try:
            bound.sendto(str(len(data)).encode(), sender)
        except OSError:  # it is out of reach, and will count no answer
            continue


def ask(to: list[tuple[str, int]], size: int, whole: bool, count: int, wait_s: float) -> list[int]:
    """Send to all at once; the answers of each that speak of this size."""
    length = size - _HEADERS_BYTES
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _ALWAYS if whole else _NEVER)
    found = dict.fromkeys((address for address, _ in to), 0)
    for _ in range(count):
        for address, port in to:
            try:
                asking.sendto(bytes(length), (address, port))
            except OSError:  # EMSGSIZE: it does not fit
                continue
    end_s = time.monotonic() + wait_s
    while min(found.values(), default=count) < count and (left_s := end_s - time.monotonic()) > 0:
        if select.select([asking], [], [], left_s)[0]:
            try:
                data, (address, _) = asking.recvfrom(64)
            except OSError:
                continue
            found[address] += data == str(length).encode()
    return [found[address] for address, _ in to]


def main() -> None:
    """Do as ordered."""
    orders = json.loads(sys.argv[1])
    try:
        if orders["do"] == "answer":
            answer(orders["port"], orders["hold_s"])
        else:
            to = [(address, port) for address, port in orders["to"]]
            print(json.dumps(ask(to, orders["bytes"], orders["whole"], orders["count"], orders["wait_s"])))
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
