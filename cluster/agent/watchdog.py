"""The watchdog on a host: heals it when the harness has gone silent.

Namespaces and containers end with their harness; a machine reached by SSH does not, and a partition must not
outlive the one who would have healed it. Started before the first fault, fed to ``python3 -I -S -`` like the
probe program, it goes into the background and looks at a file that the harness keeps changing. Plain standard
library; its one argument is JSON with the fields of ``Orders`` in ``cluster/hosts/ssh/heartbeat.py``.

Silence is measured by this machine's monotonic clock, so neither a skewed clock nor one that jumps matters.
After ``heal_after_s`` the run's chain goes and stopped processes of the run go on; if the harness comes back,
the watch goes on too. After ``end_after_s`` what the run started is killed, and the watchdog ends. It also
ends when the file is gone: the harness has cleaned up itself. It refuses to touch processes that do not carry
the run's mark, but for letting the node's own process go on.
"""

import json
import os
import signal
import subprocess
import sys
import time

_ATTEMPTS = 5
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
        for pid in {*self._processes(), *self._adopted()}:
            send(pid, signal.SIGCONT)
        self._log("stopped processes go on")

    def _end(self) -> None:
        self._heal()
        found = self._processes()
        while found:
            for pid in found:
                send(pid, signal.SIGKILL)
            time.sleep(0.1)
            found = [pid for pid in self._processes() if pid in found]
        self._log("the run's processes are killed; the watch ends")

    def _adopted(self) -> list[int]:
        """The node's process, if it is one that was there before the run and so carries no mark."""
        try:
            with open(self.home + "/process.pid", encoding="ascii") as file:  # noqa: PTH123
                pid, start = file.read().split()[:2]
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                same = file.read().rpartition(")")[2].split()[19] == start
        except (OSError, ValueError, IndexError):
            return []
        return [int(pid)] if same else []

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
