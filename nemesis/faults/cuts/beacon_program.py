"""The program that tells for how long nothing came over a link: sends a datagram to each peer, many times a second.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.cuts.beacons``; its one argument is JSON::

    {"do": "start", "own": "198.18.0.10", "peers": ["198.18.0.11"], "port": 25000, "nonce": 5, "every_s": 0.02,
     "least_s": 0.5, "pid_file": "…"}                                    -> "ready", and goes on in the background
    {"do": "report", "port": 25000, "nonce": 5}
                      -> {"198.18.0.11": {"arrived": 210, "silences_s": [1.02, 0.98], "silent_s": 0.01}}, by peer

``silences_s``: how long nothing came between two arrivals, where that was ``least_s`` or more. ``silent_s``: how long
nothing has come until now. All of it by this machine's own clock, so clocks need not agree. It ends on SIGTERM.
"""

import json
import os
import select
import signal
import socket
import struct
import sys
import time

_BEACON = struct.Struct("!QB")
_BEAT, _ASK = 0, 1
_ANSWER_S = 5.0
_MOST_SILENCES = 2_000
_HOLD_S = 86_400


class Beacon:
    """Both ends of all links of this host."""

    def __init__(self, own: str, peers: list[str], port: int, nonce: int, least_s: float) -> None:
        self._nonce, self._least_s = nonce, least_s
        self._peers = [(peer, port) for peer in peers]
        self._arrived = dict.fromkeys(peers, 0)
        self._silences: dict[str, list[float]] = {peer: [] for peer in peers}
        self._last = dict.fromkeys(peers, time.monotonic())
        self._port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._port.bind(("0.0.0.0", port))  # noqa: S104 - a namespace or host in a test network
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:  # noqa: SIM105 - contextlib would slow the start down
            self._out.bind((own, 0))
        except OSError:  # a translation lies between: others know it by an address that it does not have
            pass

    def run(self, every_s: float) -> None:
        """Until the process ends."""
        next_s = time.monotonic()
        while True:
            now_s = time.monotonic()
            if now_s >= next_s:
                self._beat()
                next_s = max(next_s + every_s, now_s)
            if select.select([self._port], [], [], max(0.0, next_s - time.monotonic()))[0]:
                self._take()

    def _beat(self) -> None:
        for peer in self._peers:
            try:
                self._out.sendto(_BEACON.pack(self._nonce, _BEAT), peer)
            except OSError:  # nobody listens there yet, or a route or rule forbids it: it was sent and is lost
                continue

    def _take(self) -> None:
        while True:
            try:
                data, sender = self._port.recvfrom(64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                continue
            if len(data) != _BEACON.size or _BEACON.unpack(data)[0] != self._nonce:
                continue
            if _BEACON.unpack(data)[1] == _ASK:
                self._port.sendto(json.dumps(self._told()).encode(), sender)
            elif sender[0] in self._last:
                self._came(sender[0])

    def _came(self, peer: str) -> None:
        now_s = time.monotonic()
        silent_s = now_s - self._last[peer]
        known = self._arrived[peer] > 0 and len(self._silences[peer]) < _MOST_SILENCES
        if known and silent_s >= self._least_s:
            self._silences[peer].append(round(silent_s, 3))
        self._last[peer] = now_s
        self._arrived[peer] += 1

    def _told(self) -> dict[str, dict[str, object]]:
        now_s = time.monotonic()
        return {
            peer: {"arrived": count, "silences_s": self._silences[peer], "silent_s": round(now_s - self._last[peer], 3)}
            for peer, count in self._arrived.items()
        }


def start(orders: dict[str, object], every_s: float, pid_file: str) -> None:
    """Bind, say so, go on in the background."""
    beacon = Beacon(**orders)  # type: ignore[arg-type]
    if (child := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(f"{child}\n")
        print("ready", flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    signal.alarm(_HOLD_S)
    beacon.run(every_s)


def report(port: int, nonce: int) -> None:
    """Ask the program in the background, over the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(_ANSWER_S)
        asking.sendto(_BEACON.pack(nonce, _ASK), ("127.0.0.1", port))
        print(asking.recv(1 << 16).decode())


def main(do: str, port: int, nonce: int, every_s: float = 0.0, pid_file: str = "", **orders: object) -> None:
    """Do as ordered."""
    if do == "report":
        report(port, nonce)
    else:
        start({"port": port, "nonce": nonce, **orders}, every_s, pid_file)


if __name__ == "__main__":
    try:
        main(**json.loads(sys.argv[1]))
    except OSError as error:
        sys.exit(str(error) or type(error).__name__)
