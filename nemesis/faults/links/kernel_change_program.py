"""The program that changes something in a host's kernel, and takes it back when it is asked to or its harness is gone.

Plain standard library, fed to ``python3 -I -S -`` by ``nemesis.faults.links.kernel_change``; its one argument is JSON::

    {"put": [["ip", "link", "set", …], …], "back": [[…], …], "home": "…", "pid_file": "…", "hold_ports": 0}
                                                                          -> "ready", and goes on in the background

``put`` are commands, ``back`` those that undo them. If one of ``put`` fails, ``back`` is run and the program ends with
what the command said. It runs ``back`` on SIGTERM, and by itself on a machine that has a watchdog
(``cluster/agent/watchdog.py``) once the heartbeats have been silent for as long as that one waits, or are gone.
``hold_ports``: narrow the range of ephemeral TCP ports to so many that follow each other, and hold them all.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
_HEAL_AFTER_S = 30.0
_POLL_S = 0.25
_TRIES = 200


def run(argv: list[str]) -> str:
    """Run a command; what it said if it failed, else nothing."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{' '.join(argv)}: {' '.join((done.stderr or done.stdout).split())}"


def run_undo(commands: list[list[str]]) -> None:
    """Undo; what is undone already is fine."""
    for argv in commands:
        run(argv)


def held_ports(count: int) -> list[socket.socket]:
    """Sockets that hold so many ephemeral ports in a row, which are all that the kernel gives from now on."""
    with open(PORT_RANGE, encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the start-up
        low, high = map(int, file.read().split())
    for _ in range(_TRIES):
        first = random.randint(low, max(low, high - count + 1))
        held: list[socket.socket] = []
        try:
            for port in range(first, first + count):
                held.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                held[-1].bind(("0.0.0.0", port))  # noqa: S104 - a namespace or host in a test network
        except OSError:
            for one in held:
                one.close()
            continue
        with open(PORT_RANGE, "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(f"{first} {first + count - 1}\n")
        return held
    raise OSError(f"no {count} ports in a row are free")


def beat(home: str) -> bytes | None:
    """What the harness wrote last; None if there are no heartbeats."""
    try:
        with open(f"{home}/heartbeat", "rb") as file:  # noqa: PTH123
            return file.read(100)
    except OSError:
        return None


def patience_s(home: str) -> float:
    """How long the watchdog of this machine waits before it heals."""
    with suppress(OSError, ValueError, KeyError):
        with open(f"{home}/watchdog.pid", encoding="ascii") as file:  # noqa: PTH123
            pid = int(file.read())
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return float(json.loads(file.read().rstrip(b"\0").rpartition(b"\0")[2])["heal_after_s"])
    return _HEAL_AFTER_S


class Watch:
    """What ends the change: SIGTERM, or heartbeats that are silent or gone. It begins when it is made, before the fork.

    In the child it would begin a moment too late: SIGTERM that comes at once would kill it before it has put back what
    it changed, and heartbeats that go at once would never have been there.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._ended = False
        self._last, self._since_s = beat(home), time.monotonic()
        self._limit_s = patience_s(home)
        self._watched = self._last is not None
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, _number: int, _frame: object) -> None:
        self._ended = True

    def wait(self) -> None:
        """Until it is time to undo."""
        while not self._ended and not (self._watched and self._silent()):
            time.sleep(_POLL_S)

    def _silent(self) -> bool:
        now = beat(self._home)
        if now != self._last:
            self._last, self._since_s = now, time.monotonic()
        return now is None or time.monotonic() - self._since_s >= self._limit_s


def main(put: list[list[str]], undo: list[list[str]], home: str, pid_file: str, hold_ports: int) -> None:
    """Change, say so, and keep it in the background."""
    for argv in put:
        if said := run(argv):
            run_undo(undo)
            sys.exit(said)
    held = held_ports(hold_ports) if hold_ports else []
    watch = Watch(home)
    if (child := os.fork()) > 0:
        with open(pid_file, "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(f"{child}\n")
        print("ready", flush=True)
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    watch.wait()
    run_undo(undo)
    for one in held:
        one.close()


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    try:
        main(orders["put"], orders["back"], orders["home"], orders["pid_file"], orders.get("hold_ports", 0))
    except OSError as error:
        sys.exit(str(error))
