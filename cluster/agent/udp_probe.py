"""The probe program that is put on hosts: sends and counts datagrams, one way per direction.

Why datagrams of our own: idle nodes leave packet counters at 0, and the kernel of a suspended node still
completes TCP handshakes (SEMANTICS 26). Plain standard library, fed to ``python3 -I -S -`` by
``cluster.network.probe_matrix``; it binds a socket per source, prints their ports and goes on in the background::

    arguments   folder hold_s nonce own-address source-address...
    stdout      {"198.18.0.11": 40123, ...}                     source -> port that counts it

Then it obeys lines that are written to ``folder/in`` and answers on ``folder/out`` (two FIFOs)::

    {"send": [["198.18.0.11", 41877], ...], "count": 20, "pause_s": 0.0005}   -> {"sent": 20}
    {"report": 20}    -> {"198.18.0.11": 20, ...}  once 20 came from each, or nothing came for a while; then it ends

Each source has a socket, hence a receive buffer, of its own, so that no probe is lost to another's burst. Probes leave
from the host's own address where it has several, because they are counted by where they come from.
The module refuses to judge, to answer datagrams, and to outlive ``hold_s``.
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


class Echo:
    """The counting end of all links into this host and the sending end of all links out of it."""

    def __init__(self, nonce: int, own: str, sources: list[str]) -> None:
        self._nonce = nonce
        self._sockets = {source: self._bound() for source in sources}
        self._seen: dict[str, set[int]] = {source: set() for source in sources}
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
                    data, (address, _) = bound.recvfrom(64)
                except BlockingIOError:
                    break
                if address == source and len(data) == _PROBE.size:
                    nonce, sequence = _PROBE.unpack(data)
                    if nonce == self._nonce:
                        self._seen[source].add(sequence)
        return sum(map(len, self._seen.values())) > before

    def send(self, targets: list[tuple[str, int]], count: int, pause_s: float) -> None:
        """Send ``count`` probes to each target, round by round; a refused one was sent and is lost."""
        for sequence in range(count):
            for address, port in targets:
                try:
                    self._out.sendto(_PROBE.pack(self._nonce, sequence), (address, port))
                except OSError:  # an OUTPUT rule
                    continue
            self.take()
            time.sleep(pause_s)

    def report(self, expected: int) -> dict[str, int]:
        """How many distinct probes came from each source, when the last ones had time to arrive."""
        while self.take() or any(len(seen) < expected for seen in self._seen.values()):
            if not select.select(list(self._sockets.values()), [], [], _SETTLE_S)[0]:
                break
        return {source: len(seen) for source, seen in self._seen.items()}


def _serve(echo: Echo, folder: str) -> None:
    """Obey lines until the report was given."""
    commands = os.fdopen(os.open(f"{folder}/in", os.O_RDWR), buffering=1, encoding="ascii")
    while True:
        command = json.loads(commands.readline())
        answer = {"sent": command.get("count", 0)}
        if "send" in command:
            echo.send([(address, port) for address, port in command["send"]], command["count"], command["pause_s"])
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
