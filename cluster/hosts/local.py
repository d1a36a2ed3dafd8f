"""The machine of the harness as a host: where load and observers run if the nodes are machines of their own.

It reaches the nodes over whatever network there is; nothing is made and nothing is cut here: no packet filter rules, no
rights of root. A test may have hosts of the same kind as nodes (``chaos.testing``).
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from chaos.core.clock import Deadline
from chaos.core.errors import DeployError
from cluster.agent import linux
from cluster.host import Capability, Completed, ControlLink, Machine
from cluster.hosts.addressing import CLIENT
from cluster.hosts.file_copy import atomic_file
from cluster.hosts.pipes import OUTPUT_LIMIT_BYTES


def address_towards(address: str) -> str:
    """The address of this machine on the way to another one; sends nothing.

    Raises:
        DeployError: there is no way.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError as error:
            raise DeployError(f"no route from here to {address}: {error.strerror}") from None
        return str(probe.getsockname()[0])


class LocalHost:
    """See the module; safe to use from several threads at once."""

    control: ControlLink | None = None
    machine: Machine | None = None

    def __init__(
        self,
        address: str,
        home: Path,
        name: str = CLIENT,
        capabilities: frozenset[Capability] = frozenset(),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """A host. ``environment``: what its commands see beside PATH, LANG and HOME."""
        self.address = address
        self.home = str(home)
        self.name = name
        self.capabilities = capabilities
        self._environment = dict(environment or {})

    def run(self, *argv: str, stdin: bytes = b"", timeout_s: float) -> Completed:
        """See ``Host.run``. The command has ended when its process has, whatever it left in the background."""
        deadline = Deadline(f"`{' '.join(' '.join(argv).split())[:100]}` on {self.name}", timeout_s)
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            source.write(stdin)
            source.seek(0)
            path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
            env = {**self._environment, "PATH": path, "LANG": "C.UTF-8", "HOME": self.home}
            try:
                process = subprocess.Popen(
                    argv, stdin=source, stdout=out, stderr=errors, cwd=self.home, env=env, start_new_session=True
                )
            except OSError as error:
                said = f"{argv[0]}: {error.strerror}".encode()
                return Completed(argv=argv, returncode=127, stdout=b"", stderr=said)
            try:
                process.wait(deadline.remaining_s())
            except BaseException:
                self._kill(process)
                deadline.check()
                raise
            found = []
            for file in (out, errors):
                if file.seek(0, os.SEEK_END) > OUTPUT_LIMIT_BYTES:
                    raise DeployError(f"a command wrote more than {OUTPUT_LIMIT_BYTES >> 20} MiB on {self.name}")
                file.seek(0)
                found.append(file.read())
        return Completed(argv=argv, returncode=process.returncode, stdout=found[0], stderr=found[1])

    @staticmethod
    def _kill(process: "subprocess.Popen[bytes]") -> None:
        """End a command with all its descendants."""
        for pid in linux.descendants(process.pid):
            linux.kill(pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def put(self, source: bytes | Path, target: str, *, mode: int = 0o644) -> None:
        """See ``Host.put``."""
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(source if isinstance(source, bytes) else source.read_bytes())
            os.fchmod(file.fileno(), mode)

    def get(self, source: str, target: Path) -> None:
        """See ``Host.get``."""
        try:
            content = Path(source).read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.name}:{source}") from None
        with atomic_file(target) as file:
            file.write(content)
