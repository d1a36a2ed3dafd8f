"""A machine reached by SSH as a host like any other."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from cluster.host import Capability, Completed, ControlLink, Machine
from cluster.hosts.file_copy import COPY_TIMEOUT_S, GET, MISSING, PUT, atomic_file
from cluster.hosts.ssh.connection import Connection
from cluster.hosts.ssh.streams import Bounded

FOLDER: Final = ".chaos"
"""Below the login's home: everything of ours on a machine."""

_MAKE_HOME: Final = 'umask 077; mkdir -p "$1/logs" "$1/tmp"'
_REMOVE_HOME: Final = 'rm -rf -- "$1" && rmdir --ignore-fail-on-non-empty -- "${1%/*}"'
_TIMEOUT_S: Final = 60.0


class SshHost:
    """One machine; safe to use from several threads at once."""

    def __init__(self, name: str, address: str, run_id: str, connection: Connection, home: str) -> None:
        self.name = name
        self.address = address
        self.home = home
        self.capabilities: frozenset[Capability] = frozenset()
        self.machine: Machine | None = None  # whoever hosts it may end it; we cannot
        self.connection = connection
        self._run_id = run_id

    @property
    def control(self) -> ControlLink | None:
        """See ``Host.control``: the connection that is up now, as the machine sees it."""
        return self.connection.control

    def make_home(self) -> None:
        """Make ``home`` and what is always in it."""
        self._run(("sh", "-c", _MAKE_HOME, "sh", self.home), b"", "/").check(f"{self.name}: making {self.home}")

    def remove_home(self) -> None:
        """Remove ``home`` with all in it."""
        self._run(("sh", "-c", _REMOVE_HOME, "sh", self.home), b"", "/").check(f"{self.name}: removing {self.home}")

    def run(self, *argv: str, stdin: bytes = b"", timeout_s: float) -> Completed:
        """See ``Host.run``. The command has ended when its process has, whatever it left in the background."""
        return self._run(argv, stdin, self.home, timeout_s)

    def _run(self, argv: tuple[str, ...], stdin: bytes, folder: str, timeout_s: float = _TIMEOUT_S) -> Completed:
        out = Bounded()
        code, errors = self.connection.run(argv, folder, self._run_id, stdin, out, timeout_s)
        return Completed(argv=argv, returncode=code, stdout=bytes(out.data), stderr=errors)

    def put(self, source: bytes | Path, target: str, *, mode: int = 0o644) -> None:
        """See ``Host.put``."""
        self.feed(source, ("sh", "-c", PUT, "sh", target, f"{mode:o}")).check(f"{self.name}: writing {target}")

    def feed(self, source: bytes | Path, argv: tuple[str, ...]) -> Completed:
        """Run a command with a file of any size, or bytes, as its standard input."""
        if isinstance(source, bytes):
            return self.run(*argv, stdin=source, timeout_s=COPY_TIMEOUT_S)
        out = Bounded()
        with source.open("rb") as file:
            code, errors = self.connection.run(argv, self.home, self._run_id, file, out, COPY_TIMEOUT_S)
        return Completed(argv=argv, returncode=code, stdout=bytes(out.data), stderr=errors)

    def get(self, source: str, target: Path) -> None:
        """See ``Host.get``."""
        with atomic_file(target) as file:
            done = self.take(("sh", "-c", GET, "sh", source), file.write)
            if done.returncode == MISSING:
                raise FileNotFoundError(f"{self.name}:{source}")
            done.check(f"{self.name}: reading {source}")

    def take(self, argv: tuple[str, ...], write: Callable[[bytes], object]) -> Completed:
        """Run a command whose standard output may be of any size."""
        code, errors = self.connection.run(argv, self.home, self._run_id, b"", write, COPY_TIMEOUT_S)
        return Completed(argv=argv, returncode=code, stdout=b"", stderr=errors)
