"""The program that the fault delay puts on hosts: holds packets and gives them back later, or measures round trips.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.delay``; its one argument is JSON::

    {"do": "hold", "queue": 7, "delay_ms": 100, "jitter_ms": 20, "most": 20000, "pid_file": "…"}    -> "ready"
    {"do": "try", "queue": 7, "port": 40000, "delay_ms": 20}       -> {"took_ms": 20.4}, over the loopback
    {"do": "measure", "port": 40000, "nonce": 5, "peers": ["198.18.0.11"], "count": 20, "limit_s": 5}
                                                                   -> {"198.18.0.11": [0.2, …]}, round trips in ms

``hold`` goes on in the background until SIGTERM, and then lets everything go. Packets come through an NFQUEUE, without
their bytes, and stay in the kernel until this program says by number that they may go on. They keep their order: a
delay is drawn anew 20 times a second, and who comes later never leaves earlier. The kernel drops what exceeds
``most``, as a full link does. If the program dies the kernel drops what it held, and what comes then passes
(``--queue-bypass``).
"""

import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable

_NETLINK_NETFILTER = 12
_SOL_NETLINK, _NETLINK_NO_ENOBUFS = 270, 5
_QUEUE_SUBSYSTEM = 3 << 8
_PACKET, _CONFIG, _BATCH = 0, 2, 3
_ERROR = 2
_BIND, _COPY_META = 1, 1
_GSO = 4
_ACCEPT = 1
_REQUEST, _ACK = 1, 4
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_BUFFER_BYTES = 8 << 20
_FORCED_BUFFER = 33
_DRAWN_S = 0.05
_ANSWER, _DONE = 1, 2
_PING = struct.Struct("!QBd")
_PING_S = 0.02


def _attribute(kind: int, data: bytes) -> bytes:
    return _ATTRIBUTE.pack(len(data) + 4, kind) + data + bytes(-len(data) % 4)


class Queue:
    """One NFQUEUE of this network namespace."""

    def __init__(self, number: int, most: int) -> None:
        """Listen to it; raises OSError if that cannot be done here, or if somebody else does."""
        self._number = number
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
        self.socket.bind((0, 0))
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, _BUFFER_BYTES)
        except OSError:  # only root outside of a user namespace may
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        self.socket.setsockopt(_SOL_NETLINK, _NETLINK_NO_ENOBUFS, 1)
        self._configure(_attribute(1, struct.pack("=BBH", _BIND, 0, 0)))
        self._configure(_attribute(2, struct.pack(">IB", 0, _COPY_META)))
        self._configure(_attribute(3, struct.pack(">I", most)))
        self._configure(_attribute(4, struct.pack(">I", _GSO)) + _attribute(5, struct.pack(">I", _GSO)))

    def _send(self, kind: int, attributes: bytes, flags: int) -> None:
        body = struct.pack("=BBH", 0, 0, socket.htons(self._number)) + attributes
        self.socket.send(_HEADER.pack(len(body) + _HEADER.size, _QUEUE_SUBSYSTEM | kind, flags, 0, 0) + body)

    def _configure(self, attributes: bytes) -> None:
        """Send a setting and wait for its acknowledgement."""
        self._send(_CONFIG, attributes, _REQUEST | _ACK)
        answer = self.socket.recv(1 << 16)
        _, kind, *_ = _HEADER.unpack_from(answer)
        if kind == _ERROR and (code := struct.unpack_from("=i", answer, _HEADER.size)[0]):
            raise OSError(-code, os.strerror(-code))

    def arrived(self) -> list[int]:
        """The numbers of the packets that have come, in their order."""
        found: list[int] = []
        while True:
            try:
                data = self.socket.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return found
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, *_ = _HEADER.unpack_from(data, at)
                if kind == _QUEUE_SUBSYSTEM | _PACKET:  # the first attribute holds the number
                    found.append(struct.unpack_from(">I", data, at + _HEADER.size + 4 + _ATTRIBUTE.size)[0])
                at += (length + 3) & ~3 or len(data)

    def let_go(self, last: int) -> None:
        """Let this packet and all before it go on."""
        self._send(_BATCH, _attribute(2, struct.pack(">II", _ACCEPT, last)), _REQUEST)


class Line:
    """The packets that wait, in their order."""

    def __init__(self, delay_ms: float, jitter_ms: float) -> None:
        self._delay_s, self._jitter_s = delay_ms / 1e3, jitter_ms / 1e3
        self._waiting: deque[tuple[float, int]] = deque()
        self._drawn_s = self._last_due_s = 0.0
        self._drawn_at_s = -_DRAWN_S

    def add(self, numbers: list[int], now_s: float) -> None:
        """These packets have come now."""
        if not numbers:
            return
        if now_s - self._drawn_at_s >= _DRAWN_S:
            self._drawn_at_s = now_s
            self._drawn_s = self._delay_s + random.uniform(-self._jitter_s, self._jitter_s)
        self._last_due_s = max(self._last_due_s, now_s + self._drawn_s)
        self._waiting.extend((self._last_due_s, number) for number in numbers)

    def due(self, now_s: float) -> int | None:
        """The last packet whose time has come; None if there is none."""
        last = None
        while self._waiting and self._waiting[0][0] <= now_s:
            last = self._waiting.popleft()[1]
        return last

    def last(self) -> int | None:
        """The packet that came last, None if none waits."""
        return self._waiting[-1][1] if self._waiting else None

    def wait_s(self, now_s: float) -> float:
        """How long until the next one is due; a second if none waits."""
        return max(0.0, self._waiting[0][0] - now_s) if self._waiting else 1.0


def hold(queue: int, delay_ms: float, jitter_ms: float, most: int, pid_file: str) -> None:
    """Hold packets in the background until SIGTERM."""
    source = Queue(queue, most)
    ended, ending = os.pipe()
    if (pid := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(f"{pid}\n")
        print("ready", flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)

    def end(_number: int, _frame: object) -> None:
        os.write(ending, b"x")

    signal.signal(signal.SIGTERM, end)
    line = Line(delay_ms, jitter_ms)
    watched: list[socket.socket | int] = [source.socket, ended]
    while True:
        ready, _, _ = select.select(watched, [], [], line.wait_s(time.monotonic()))
        line.add(source.arrived(), time.monotonic())
        last = line.last() if ended in ready else line.due(time.monotonic())
        if last is not None:
            source.let_go(last)
        if ended in ready:
            return


def attempt(queue: int, port: int, delay_ms: float) -> None:
    """Hold one datagram to ourselves; a rule already leads those to this port into the queue."""
    source = Queue(queue, 10)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", port))
        own.settimeout(2.0)
        began_s = time.monotonic()
        own.sendto(b"?", own.getsockname())
        if not select.select([source.socket], [], [], 2.0)[0]:
            raise OSError("no packet came into the queue")
        time.sleep(delay_ms / 1e3)
        source.let_go(source.arrived()[-1])
        own.recv(1)
        print(json.dumps({"took_ms": (time.monotonic() - began_s) * 1e3}))


class Meter:
    """Sends datagrams to every peer, answers theirs, and keeps the times that answers take."""

    def __init__(self, port: int, nonce: int, peers: list[str], count: int) -> None:
        self.took_ms: dict[str, list[float]] = {peer: [] for peer in peers}
        self._count, self._nonce = count, nonce
        self._done: set[str] = set()
        self._at = port
        self._port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._port.bind(("0.0.0.0", self._at))  # noqa: S104 - a namespace or host in a test network

    def run(self, limit_s: float) -> None:
        """Until we have enough answers, and have heard of every peer that it has too, or the time is over."""
        end_s, next_s = time.monotonic() + limit_s, 0.0
        while (now_s := time.monotonic()) < end_s and not (self._enough() and self._done >= self.took_ms.keys()):
            if now_s >= next_s:
                self._ping(now_s)
                next_s = now_s + _PING_S
            if select.select([self._port], [], [], max(0.0, next_s - time.monotonic()))[0]:
                self._take()
        for _ in range(3):  # whoever waits for our word hears it once more
            self._ping(time.monotonic())

    def _enough(self) -> bool:
        return all(len(took) >= self._count for took in self.took_ms.values())

    def _ping(self, now_s: float) -> None:
        for peer in self.took_ms:
            self._say(peer, _DONE if self._enough() else 0, now_s)

    def _say(self, peer: str, flags: int, sent_s: float) -> None:
        try:
            self._port.sendto(_PING.pack(self._nonce, flags, sent_s), (peer, self._at))
        except OSError:  # nobody listens there yet, or no more
            return

    def _take(self) -> None:
        while True:
            try:
                data, (peer, _) = self._port.recvfrom(64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                continue
            if len(data) != _PING.size or peer not in self.took_ms:
                continue
            nonce, flags, sent_s = _PING.unpack(data)
            if nonce != self._nonce:
                continue
            if flags & _DONE:
                self._done.add(peer)
            if not flags & _ANSWER:
                self._say(peer, _ANSWER, sent_s)
            elif len(self.took_ms[peer]) < self._count:
                self.took_ms[peer].append((time.monotonic() - sent_s) * 1e3)


def measure(port: int, nonce: int, peers: list[str], count: int, limit_s: float) -> None:
    """Measure round trips to all peers, which do the same."""
    meter = Meter(port, nonce, peers, count)
    meter.run(limit_s)
    print(json.dumps(meter.took_ms))


def main() -> None:
    """Do as ordered."""
    orders = json.loads(sys.argv[1])
    acts: dict[str, Callable[..., None]] = {"hold": hold, "try": attempt, "measure": measure}
    try:
        acts[orders.pop("do")](**orders)
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
