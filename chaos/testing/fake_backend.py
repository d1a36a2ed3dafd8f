"""Hosts for tests: folders of this machine with addresses of its loopback, up in a moment and without any rights.

Commands on a host are real ones, so whatever a node or a fault does with processes and files happens. There is one
network, which cannot be cut: faults of links need ``--backend netns`` or another. Load and observer are threads of this
process, so that a fake system can keep its state in memory.
"""

import asyncio
import importlib
import ipaddress
import os
import secrets
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

from chaos.core.errors import DeadlineError, UsageError
from chaos.core.events import Note
from chaos.worker.pipe import Child, speak
from cluster.cleanup import run_records
from cluster.host import Capability, ClientProcess, Host, NodeSpec
from cluster.hosts.addressing import addresses, names_of
from cluster.hosts.local import LocalHost

ABLE: Final = frozenset(
    {Capability.SIGNALS, Capability.RESTART, Capability.PROGRAMS, Capability.FILES, Capability.CLOCK}
)
_ONE_NETWORK: Final = "hosts of tests share one network; --backend netns has hosts with networks of their own"
_END_TIMEOUT_S: Final = 10.0

# A line comes when the harness is done, the end of input when it died: a command may then still be on its way to exec.
# $1: what the environment of every process of the run holds.
_KEEPER: Final = """\
read -r _ || sleep 0.3
while found=$(grep -lszxF -e "$1" /proc/[0-9]*/environ); [ -n "$found" ]; do
  for path in $found; do
    path=${path#/proc/}
    kill -s KILL "${path%/environ}" 2> /dev/null
  done
  sleep 0.02
done
"""


class FakeBackend:
    """Hosts on the loopback of this machine; implements ``cluster.host.Backend``."""

    name = "fake"
    help = "hosts on the loopback of this machine, for tests"
    options: Mapping[str, str] = MappingProxyType({})
    lacks: Mapping[Capability, str] = MappingProxyType({one: _ONE_NETWORK for one in Capability if one not in ABLE})
    on_this_machine = True

    def __init__(self) -> None:
        self._keeper: subprocess.Popen[bytes] | None = None
        self._record: Path | None = None

    def prepare(self, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:
        """Nothing has to be made."""

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:
        """A folder and an address for each host."""
        if self._keeper is not None:
            raise UsageError("this backend is up already; make another one")
        network = ipaddress.IPv4Network(f"127.{secrets.randbelow(253) + 1}.{secrets.randbelow(256)}.0/24")
        by_name = addresses(names_of(run_id, specs), network)
        homes = {name: work.resolve() / name for name in by_name}
        self._record = run_records.write(run_id, work, tuple(map(str, homes.values())))
        marker = run_records.marker(run_id)
        self._keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "sh", f"{run_records.RUN}={run_id}"],
            stdin=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C at the terminal is the harness' to answer
        )
        hosts: dict[str, Host] = {}
        for name, home in homes.items():
            home.mkdir(parents=True, exist_ok=True)
            hosts[name] = LocalHost(by_name[name], home, name, ABLE, marker)
        return hosts

    def provide(self, source: Path) -> str:
        """Hosts see what this machine sees."""
        return str(source.resolve())

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> ClientProcess:  # noqa: ARG002 - it is this process
        """Start ``python -m MODULE`` of ours as a thread of this process.

        Raises:
            UsageError: it is something else.
        """
        if tuple(argv[:2]) != (sys.executable, "-m"):
            raise UsageError(f"{' '.join(argv)}: on hosts of tests only modules of ours run inside")
        return _Thread(importlib.import_module(argv[2]).CHILD, argv[2])

    def check(self) -> None:
        """Nothing goes away by itself."""

    def down(self) -> None:
        """End every process of the run; homes stay for who looks at them."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.communicate(b"\n", timeout=_END_TIMEOUT_S)
        if self._record is not None:
            self._record.unlink(missing_ok=True)

    def notes(self) -> Sequence[Note]:
        """Nothing happens to such hosts."""
        return ()


class _Thread:
    """A child of ours in a thread, as ``cluster.host.ClientProcess`` has it."""

    def __init__(self, child: Child, name: str) -> None:
        from_us, to_child = os.pipe()
        from_child, self._to_us = os.pipe()
        self.stdin: IO[bytes] | None = os.fdopen(to_child, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(from_child, "rb")
        self._child = child
        self._log: Path | None = None
        self._status = 0
        self._thread = threading.Thread(target=self._run, args=(from_us,), name=name, daemon=True)
        self._thread.start()

    def _run(self, from_us: int) -> None:
        try:
            asyncio.run(speak(self._child, os.fdopen(from_us, "rb"), self._to_us, self._log_to))
        except Exception:  # noqa: BLE001 - a process would have left its traceback there
            self._status = 1
            if self._log is not None:
                self._log.write_text(traceback.format_exc())
        finally:
            os.close(self._to_us)

    def _log_to(self, path: Path) -> None:
        path.touch()
        self._log = path

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises DeadlineError if it goes on."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise DeadlineError(f"waited {timeout:g} s for the thread {self._thread.name} to end")
        return self._status

    def kill(self) -> None:
        """Close its input: a thread ends when it looks there."""
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.close()
