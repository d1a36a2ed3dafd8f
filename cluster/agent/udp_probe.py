"""The probe program that is put on hosts: sends and counts datagrams, one way per direction.

Why datagrams of our own: idle nodes leave packet counters at 0, and the kernel of a suspended node still
completes TCP handshakes (SEMANTICS 26). Plain standard library, fed to ``python3 -I -S -`` by
``cluster.network.probe_matrix``; it binds a socket per source, prints their ports and goes on in the background::

    arguments   folder hold_s nonce own-address source-address...
    stdout      {"198.18.0.11": 40123, ...}                     source -> port that counts it

Then it obeys lines that are written to ``folder/in`` and answers on ``folder/out`` (two FIFOs)::

    {"send": [["198.18.0.11", 41877], ...], "count": 20, "pause_s": 0.0005}   -> {"sent": 20}
    {"report": 20}    -> {"198.18.0.11": 20, ...}  once 20 came from each, or nothing came for a while; then it ends
    {"report": 20, "streams": true, "settle_s": 0.5}
              -> {"198.18.0.11": {"arrived": 22, "distinct": 20, "late": 3, "altered": 0, "gaps": 0, "took_s": 0.1}}

With ``"size": 1000`` probes are so long and carry no checksum, so that altered ones arrive. ``late``: came after one
that was sent later; ``gaps``: how many times some in a row are missing; ``took_s``: from the first arrival to the last.

Each source has a socket, hence a receive buffer, of its own, so that no probe is lost to another's burst. Probes leave
from the host's own address where it has several, because they are counted by where they come from. Does not answer
datagrams, and ends after ``hold_s``.
"""

import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import time

_PROBE = struct.Struct("!QI")
_BUFFER_BYTES = 1 << 20
_SETTLE_S = 0.05
_LONGEST_BYTES = 2_000
_NO_CHECKSUM = 11


class Echo:
    """The counting end of all links into this host and the sending end of all links out of it."""

    def __init__(self, nonce: int, own: str, sources: list[str]) -> None:
        self._nonce = nonce
        self._sockets = {source: self._bound() for source in sources}
        self._seen: dict[str, set[int]] = {source: set() for source in sources}
        self._streams = {source: Stream() for source in sources}
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:  # noqa: SIM105 - contextlib would slow the start down
            self._out.bind((own, 0))
        except OSError:  # a translation lies between: others know it by an address that it does not have
            pass

    @staticmethod
    def _bound() -> socket.socket:
        bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        bound.setblocking(False)
        bound.bind(("0.0.0.0", 0))  # noqa: S104 - a namespace or host in a test network
        return bound

    def ports(self) -> dict[str, int]:
        """Where each source has to send."""
        return {source: bound.getsockname()[1] for source, bound in self._sockets.items()}

    def take(self) -> bool:
        """Count what has arrived; whether there was anything."""
        before = sum(map(len, self._seen.values()))
        for source, bound in self._sockets.items():
            while True:
                try:
                    data, (address, _) = bound.recvfrom(_LONGEST_BYTES)
                except BlockingIOError:
                    break
                if address == source and len(data) >= _PROBE.size:
                    nonce, sequence = _PROBE.unpack_from(data)
                    if nonce == self._nonce and not any(data[_PROBE.size :]):
                        self._streams[source].add(sequence, new=sequence not in self._seen[source])
                        self._seen[source].add(sequence)
                    else:
                        self._streams[source].altered += 1
        return sum(map(len, self._seen.values())) > before

    def send(self, targets: list[tuple[str, int]], count: int, pause_s: float, size: int = 0) -> None:
        """Send ``count`` probes to each target, round by round; a refused one was sent and is lost."""
        if size:
            self._out.setsockopt(socket.SOL_SOCKET, _NO_CHECKSUM, 1)
        padding = bytes(max(0, size - _PROBE.size))
        for sequence in range(count):
            for address, port in targets:
                try:
                    self._out.sendto(_PROBE.pack(self._nonce, sequence) + padding, (address, port))
                except OSError:  # an OUTPUT rule
                    continue
            self.take()
            time.sleep(pause_s)

    def report(self, expected: int, settle_s: float = _SETTLE_S) -> dict[str, int]:
        """How many distinct probes came from each source, when the last ones had time to arrive."""
        while self.take() or any(len(seen) < expected for seen in self._seen.values()):
            if not select.select(list(self._sockets.values()), [], [], settle_s)[0]:
                break
        return {source: len(seen) for source, seen in self._seen.items()}

    def streams(self, expected: int, settle_s: float) -> dict[str, dict[str, float]]:
        """What became of the probes of each source."""
        self.report(expected, settle_s)
        while select.select(list(self._sockets.values()), [], [], settle_s)[0]:  # copies come behind the last one
            self.take()
        return {source: stream.figures(self._seen[source], expected) for source, stream in self._streams.items()}


class Stream:
    """What came from one source beside its distinct probes."""

    def __init__(self) -> None:
        self.arrived = self.late = self.altered = 0
        self._highest = -1
        self._first_s = self._last_s = 0.0

    def add(self, sequence: int, *, new: bool) -> None:
        """One has come; a copy is not late."""
        now_s = time.monotonic()
        if not self.arrived:
            self._first_s = now_s
        self._last_s = now_s
        self.arrived += 1
        self.late += new and sequence < self._highest
        self._highest = max(self._highest, sequence)

    def figures(self, seen: set[int], expected: int) -> dict[str, float]:
        """In the words of the module."""
        gaps = sum(place not in seen and (place == 0 or place - 1 in seen) for place in range(expected))
        return {
            "arrived": self.arrived,
            "distinct": len(seen),
            "late": self.late,
            "altered": self.altered,
            "gaps": gaps,
            "took_s": self._last_s - self._first_s,
        }


def _serve(echo: Echo, folder: str) -> None:
    """Obey lines until the report was given."""
    commands = os.fdopen(os.open(f"{folder}/in", os.O_RDWR), buffering=1, encoding="ascii")
    while True:
        command = json.loads(commands.readline())
        answer = {"sent": command.get("count", 0)}
        if "send" in command:
            targets = [(address, port) for address, port in command["send"]]
            echo.send(targets, command["count"], command["pause_s"], command.get("size", 0))
        elif command.get("streams"):
            answer = echo.streams(command["report"], command["settle_s"])
        else:
            answer = echo.report(command["report"])
        with open(f"{folder}/out", "w", encoding="ascii") as out:  # noqa: PTH123 - pathlib would double the start-up
            json.dump(answer, out)
        if "report" in command:
            return


def main(folder: str, hold_s: int, nonce: int, own: str, sources: list[str]) -> None:
    """Bind, say where, go into the background, serve."""
    os.mkdir(folder, 0o700)  # noqa: PTH102
    os.mkfifo(f"{folder}/in")
    os.mkfifo(f"{folder}/out")
    echo = Echo(nonce, own, sources)
    print(json.dumps(echo.ports()), flush=True)
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)

    def give_up(_number: int, _frame: object) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(hold_s)
    try:
        _serve(echo, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
