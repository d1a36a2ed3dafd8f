"""The watchdog on a host: heals it when the harness has gone silent.

Namespaces and containers end with their harness; a machine reached by SSH does not, and a partition must not
outlive the one who would have healed it. Started before the first fault, fed to ``python3 -I -S -`` like the
probe program, it goes into the background and looks at a file that the harness keeps changing. Plain standard
library; its one argument is JSON with the fields of ``Orders`` in ``cluster/hosts/ssh/heartbeat.py``.

Silence is measured by this machine's monotonic clock, so neither a skewed clock nor one that jumps matters. After
``heal_after_s`` the run's chain goes, the programs of faults are asked to end, and then stopped processes of the run go
on; if the harness comes back, the watch goes on too. After ``end_after_s`` what the run started is killed, and the
watchdog ends. It also ends when the file is gone: the harness has cleaned up itself. It does not touch processes that
do not carry the run's mark, but for letting the node's own process go on.
"""

import json
import os
import signal
import subprocess
import sys
import time

_ATTEMPTS = 5
_PATIENCE_S = 10.0
_MARK = "CHAOS_RUN"


class Watchdog:
    """Watches one run on this machine."""

    def __init__(self, orders: dict[str, str | float]) -> None:
        self.orders = orders
        self.home = str(orders["home"])
        self.heal_after_s = float(orders["heal_after_s"])
        self.end_after_s = float(orders["end_after_s"])

    def watch(self) -> None:
        """Until the file is gone, or the silence was long enough to end everything."""
        last, since, healed = self._beat(), time.monotonic(), False
        while last is not None:
            time.sleep(min(1.0, self.heal_after_s / 20))
            beat = self._beat()
            now = time.monotonic()
            if beat != last:
                if healed:
                    self._log("the harness is back")
                last, since, healed = beat, now, False
            elif now - since >= self.end_after_s:
                self._end()
                return
            elif now - since >= self.heal_after_s and not healed:
                self._log(f"no sign of the harness for {now - since:.1f} s: healing")
                self._heal()
                healed = True

    def _beat(self) -> bytes | None:
        try:
            with open(self.home + "/heartbeat", "rb") as file:  # noqa: PTH123 - pathlib would double the start-up
                return file.read(100)
        except FileNotFoundError:
            return None

    def _log(self, text: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with open(self.home + "/logs/watchdog.log", "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{stamp} {text}\n")

    def _heal(self) -> None:
        variant, chain = str(self.orders["iptables"]), str(self.orders["chain"])
        clear = ["sh", "-c", str(self.orders["clear"]), "sh", variant, chain]
        for _ in range(_ATTEMPTS if variant else 0):
            done = subprocess.run(clear, capture_output=True, check=False)
            if done.returncode == 0:
                self._log(f"packet filter chain {chain} is gone")
                break
            self._log(f"clearing the packet filter: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        self._end_programs()
        for pid in {*self._processes(), *self._adopted()}:
            send(pid, signal.SIGCONT)
        self._log("stopped processes go on")

    def _end_programs(self) -> None:
        """Ask the programs of faults to end, and wait: one of them may be what stops a process."""
        left = self._programs()
        for pid in left:
            send(pid, signal.SIGTERM)
        until = time.monotonic() + _PATIENCE_S
        while left and time.monotonic() < until:
            time.sleep(0.05)
            left = [pid for pid in self._programs() if pid in left]
        if left:
            self._log(f"programs of faults did not end: {' '.join(map(str, left))}")

    def _end(self) -> None:
        self._heal()
        found = self._processes()
        while found:
            for pid in found:
                send(pid, signal.SIGKILL)
            time.sleep(0.1)
            found = [pid for pid in self._processes() if pid in found]
        for pid in self._adopted():  # only now is nothing left that could stop it again
            send(pid, signal.SIGCONT)
        self._log("the run's processes are killed; the watch ends")

    def _adopted(self) -> list[int]:
        """The node's process and its session, if it is one that was there before the run and so carries no mark."""
        try:
            with open(self.home + "/process.pid", encoding="ascii") as file:  # noqa: PTH123
                pid, start = file.read().split()[:2]
        except (OSError, ValueError):
            return []
        if stat(pid)[19:20] != [start]:
            return []
        own = [entry for entry in os.listdir("/proc") if entry.isdigit() and pid in stat(entry)[2:4]]  # noqa: PTH208
        return [int(entry) for entry in {pid, *own}]

    def _programs(self) -> list[int]:
        """The programs of faults that go on here: what a pid file says whose name is in the program's command line."""
        marked, found = self._processes(), []
        for name in os.listdir(self.home):  # noqa: PTH208
            if name.startswith(".") and name.endswith(".pid"):
                path = f"{self.home}/{name}"
                try:
                    with open(path, encoding="ascii") as file:  # noqa: PTH123
                        pid = int(file.read())
                    with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
                        ours = path.encode() in file.read()
                except (OSError, ValueError):
                    continue
                if ours and pid in marked:
                    found.append(pid)
        return found

    def _processes(self) -> list[int]:
        """Every process that the run started here, ourselves left out; zombies show no environment."""
        mark = f"{_MARK}={self.orders['run_id']}".encode()
        found = []
        for entry in os.listdir("/proc"):  # noqa: PTH208
            if entry.isdigit() and int(entry) != os.getpid():
                try:
                    with open(f"/proc/{entry}/environ", "rb") as file:  # noqa: PTH123
                        marked = mark in file.read().split(b"\0")
                except OSError:
                    continue
                if marked:
                    found.append(int(entry))
        return found


def stat(pid: str) -> list[str]:
    """The state of a process and what follows it in /proc; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process; gone already is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def main(orders: dict[str, str | float]) -> None:
    """Go into the background, say who we are, watch."""
    if os.fork():
        os._exit(0)
    os.setsid()
    home = str(orders["home"])
    with open(home + "/watchdog.pid.partial", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(f"{os.getpid()}\n")
    os.rename(home + "/watchdog.pid.partial", home + "/watchdog.pid")  # noqa: PTH104
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.chdir("/")
    Watchdog(orders).watch()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
