"""What keeps an eye on machines reached by SSH: heartbeats to their watchdogs, clocks, and how they were before.

A heartbeat is a number that changes; what happens without it is ``cluster/agent/watchdog.py``'s business. Clocks are
compared as NTP does it, by the round trip that took least. Does not repair: what differs at the end is reported.
"""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Note
from cluster.agent import watchdog
from cluster.host import Capability
from cluster.hosts.ssh.host import SshHost
from cluster.network import packet_filter

HEAL_AFTER_S: Final = 30.0
END_AFTER: Final = 4.0
"""Silence after which the run's processes are ended, in multiples of that after which faults are healed."""

_BEATS: Final = 6
"""Heartbeats in the time after which silence counts."""

_TIMEOUT_S: Final = 15.0
_ROUNDS: Final = 8
_SKEW_CHANGED_NS: Final = NS_PER_S // 2
_CLOCK: Final = "import sys, time\nprint(sys.argv[1])\nfor line in sys.stdin: print(time.time_ns())"
_PID: Final = "watchdog.pid"
_BEAT: Final = f"""\
echo "$1" > heartbeat
read -r pid < {_PID} && [ -d "/proc/$pid" ]
"""
_STOP: Final = f"""\
rm -f heartbeat
read -r pid < {_PID} || exit 0
while [ -d "/proc/$pid" ]; do sleep 0.1; done
"""
# What carries a run's mark, and what is stopped: "stopped" or "marked", pid, start time, command line.
_LOOK: Final = """\
for stat in /proc/[0-9]*/stat; do
  { read -r line < "$stat"; } 2>/dev/null || continue
  pid=${stat#/proc/}; pid=${pid%/stat}
  set -- ${line##*) }
  kind=
  [ "$1" = T ] && kind=stopped
  grep -qsaF -e CHAOS_RUN= "/proc/$pid/environ" && ! grep -qsaF -e "$CHAOS_COMMAND" "/proc/$pid/environ" &&
    kind=marked
  [ -n "$kind" ] && printf '%s\\n' "$kind $pid ${20} $(tr '\\0\\n' '  ' < "/proc/$pid/cmdline" | head -c 80)"
done
exit 0
"""


class Skew(msgspec.Struct, frozen=True):
    """How far a machine's clock is ahead of this one's, and how wrong that may be; nanoseconds."""

    ahead_ns: int
    error_ns: int

    def __str__(self) -> str:
        """The skew for people, in milliseconds."""
        return f"{self.ahead_ns / 1e6:+.2f} ms (± {self.error_ns / 1e6:.2f} ms)"


class State(msgspec.Struct, frozen=True):
    """How a machine was: packet filter rules, processes that are stopped or of a run, its clock."""

    rules: tuple[str, ...]
    processes: frozenset[str]
    skew: Skew


def skew_of(samples: Sequence[tuple[int, int, int]]) -> Skew:
    """Pure: the skew from (sent, there, received) times: the round trip that took least knows best."""
    sent, there, received = min(samples, key=lambda each: each[2] - each[0])
    return Skew(ahead_ns=there - (sent + received) // 2, error_ns=(received - sent) // 2)


def measured_skew(host: SshHost) -> Skew:
    """Ask a machine for its time, several times."""
    samples = []
    for sent_ns, said, received_ns in host.connection.talk(_CLOCK, _ROUNDS, _TIMEOUT_S):
        if not said.isdigit():
            raise DeployError(f"{host.name}: asked for its time it said {said[:100]!r}")
        samples.append((sent_ns, int(said), received_ns))
    return skew_of(samples)


def state_of(host: SshHost) -> State:
    """Look at a machine now."""
    rules: tuple[str, ...] = ()
    if Capability.IPTABLES in host.capabilities:
        listing = host.run(packet_filter.variant(host), "-w", "5", "-S", timeout_s=_TIMEOUT_S)
        rules = tuple(listing.check(f"{host.name}: listing packet filters").text.splitlines())
    looked = host.run("sh", "-c", _LOOK, timeout_s=_TIMEOUT_S).check(f"{host.name}: listing processes")
    return State(rules=rules, processes=frozenset(looked.text.splitlines()), skew=measured_skew(host))


def differences(before: State, after: State) -> list[str]:
    """Pure: what a run left behind or took away, a phrase each; empty if the machine is as it was."""
    found = [f"rule added: {rule}" for rule in after.rules if rule not in before.rules]
    found += [f"rule gone: {rule}" for rule in before.rules if rule not in after.rules]
    found += [f"process left: {process}" for process in sorted(after.processes - before.processes)]
    moved_ns = after.skew.ahead_ns - before.skew.ahead_ns
    if abs(moved_ns) > _SKEW_CHANGED_NS + before.skew.error_ns + after.skew.error_ns:
        found.append(f"clock moved by {moved_ns / NS_PER_S:+.1f} s")
    return found


class Watch:
    """The harness' end of a machine's watchdog: starts it and keeps it quiet.

    Args:
        host: the machine.
        run_id: the run.
        heal_after_s: seconds of silence after which it heals by itself.
        note: takes what happened.
    """

    def __init__(self, host: SshHost, run_id: str, heal_after_s: float, note: Callable[[Note], None]) -> None:
        self._host = host
        self._run_id = run_id
        self._heal_after_s = heal_after_s
        self._note = note
        self._end = threading.Event()
        self._broken_since_ns = 0
        self._broken = ""
        self._thread = threading.Thread(target=self._beats, name=f"{host.name}-heartbeat", daemon=True)

    def start(self) -> None:
        """Start the watchdog and the heartbeats."""
        self._beat()
        self._start_watchdog()
        self._thread.start()

    def stop(self) -> None:
        """Let the watchdog end, and wait for that."""
        self.silence()
        self._host.run("sh", "-c", _STOP, timeout_s=_TIMEOUT_S).check(f"{self._host.name}: ending its watchdog")

    def silence(self) -> None:
        """Send no further heartbeat."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(_TIMEOUT_S)

    def check(self) -> None:
        """Raise DeployError if the machine has been out of reach for so long that it has healed itself."""
        since_ns, why = self._broken_since_ns, self._broken
        if why and now_ns() - since_ns > self._heal_after_s * NS_PER_S:
            raise DeployError(f"{why}; for {(now_ns() - since_ns) / NS_PER_S:.0f} s now")

    def _start_watchdog(self) -> None:
        orders = {
            "home": self._host.home,
            "run_id": self._run_id,
            "heal_after_s": self._heal_after_s,
            "end_after_s": self._heal_after_s * END_AFTER,
            "iptables": packet_filter.variant(self._host) if Capability.IPTABLES in self._host.capabilities else "",
            "chain": packet_filter.chain(self._run_id),
            "clear": packet_filter.CLEAR,
        }
        argv = ("python3", "-I", "-S", "-", json.dumps(orders))
        done = self._host.run(*argv, stdin=Path(watchdog.__file__).read_bytes(), timeout_s=_TIMEOUT_S)
        done.check(f"{self._host.name}: starting its watchdog")

    def _beat(self) -> bool:
        """One heartbeat; whether the watchdog lives."""
        done = self._host.run("sh", "-c", _BEAT, "sh", str(now_ns()), timeout_s=_TIMEOUT_S)
        return done.returncode == 0

    def _beats(self) -> None:
        heard_ns = now_ns()
        while not self._end.wait(self._heal_after_s / _BEATS):
            try:
                if not self._beat():
                    self._say("its watchdog had ended; it is started again")
                    self._start_watchdog()
            except ChaosError as error:
                if not self._broken:
                    self._say(f"no heartbeat reaches it: {error}; it heals itself after {self._heal_after_s:g} s")
                    self._broken_since_ns = heard_ns
                self._broken = str(error)
                continue
            silent_s = (now_ns() - heard_ns) / NS_PER_S
            if self._broken:
                healed = " and healed itself" if silent_s > self._heal_after_s else ""
                self._say(f"heartbeats reach it again; it was out of reach for {silent_s:.1f} s{healed}")
            heard_ns, self._broken = now_ns(), ""

    def _say(self, text: str) -> None:
        name = self._host.name
        data = {"warning": True}
        self._note(Note(time_ns=now_ns(), name="watchdog", node=name, text=f"{name}: {text}", data=data))
