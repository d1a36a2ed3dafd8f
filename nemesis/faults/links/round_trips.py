"""The program that measures round trips among hosts, each of all the others at the same time.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.links.delay``; its one argument is JSON::

    {"port": 40000, "nonce": 5, "peers": ["198.18.0.11"], "count": 20, "limit_s": 5}
                                                                   -> {"198.18.0.11": [0.2, …]}, round trips in ms
"""

import json
import select
import socket
import struct
import sys
import time

_ANSWER, _DONE = 1, 2
_PING = struct.Struct("!QBd")
_PING_S = 0.02


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


if __name__ == "__main__":
    try:
        measure(**json.loads(sys.argv[1]))
    except OSError as error:
        sys.exit(str(error))
