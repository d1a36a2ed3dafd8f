"""Programs of ours on hosts that go on in the background: started, looked at and ended by a pid file of their own.

Each gets JSON with its ``pid_file`` as its only argument, so that its command line tells it from a process that has its
pid by chance.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cluster.host import Host

ACTION_TIMEOUT_S: Final = 30.0
"""Within that time a host has done what a fault asks of it at once, and said so."""
IS_OURS: Final = 'read -r pid < "$1" && grep -qsaF -e "$1" "/proc/$pid/cmdline"'
STOP: Final = f"""\
[ -f "$1" ] || exit 0
if {IS_OURS}; then
  kill -TERM "$pid"; left=100
  while [ -d "/proc/$pid" ] && [ "$left" -gt 0 ]; do sleep 0.05; left=$((left - 1)); done
  [ ! -d "/proc/$pid" ] || kill -KILL "$pid"
fi
rm -f "$1"
"""


def run_program(host: Host, program: Path, orders: Mapping[str, Any]) -> bytes:
    """Run one of our programs on a host to the end of its first part; what it said."""
    source = program.read_bytes()
    done = host.run("python3", "-I", "-S", "-", json.dumps(orders), stdin=source, timeout_s=ACTION_TIMEOUT_S)
    return done.check(f"{host.name}: {program.name}").stdout


def program_lives(host: Host, pid_file: str) -> bool:
    """Whether the program of this pid file goes on."""
    return host.run("sh", "-c", IS_OURS, "sh", pid_file, timeout_s=ACTION_TIMEOUT_S).returncode == 0


def end_program(host: Host, pid_file: str) -> None:
    """Ask the program to end, and kill it if it does not; fine if it has ended or never began."""
    done = host.run("sh", "-c", STOP, "sh", pid_file, timeout_s=ACTION_TIMEOUT_S)
    done.check(f"{host.name}: ending a program of ours")


class Resident:
    """A program of ours that goes on in the background of hosts for one fault.

    Args:
        name: the fault's, for whoever looks at a host.
        program: its source.
    """

    def __init__(self, name: str, program: Path) -> None:
        self._name = f".{name}-{secrets.randbits(40):010x}.pid"
        self._program = program

    def pid_file(self, host: Host) -> str:
        """Where its pid is on a host."""
        return f"{host.home}/{self._name}"

    def run(self, host: Host, orders: Mapping[str, Any]) -> bytes:
        """Give it orders on a host, with its pid file; what it said."""
        return run_program(host, self._program, {**orders, "pid_file": self.pid_file(host)})

    def lives(self, host: Host) -> bool:
        """Whether it goes on there."""
        return program_lives(host, self.pid_file(host))

    def end(self, host: Host) -> None:
        """Ask it to end, and kill it if it does not; fine if it has ended or never began."""
        end_program(host, self.pid_file(host))
