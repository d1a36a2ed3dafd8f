"""Programs of ours in C: made of their sources on this machine, once per user, kept in the cache, and put on hosts."""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.errors import CapabilityError, DeployError
from cluster.host import Host
from cluster.systems._shared.cache import cache_root
from cluster.systems._shared.fetching import cache_lock

HELP: Final = "apt-get install gcc libc6-dev"
_FLAGS: Final = ("-std=gnu17", "-O2")
_COMPILE_TIMEOUT_S: Final = 120.0
_HOST_TIMEOUT_S: Final = 30.0


class CProgram(msgspec.Struct, frozen=True, kw_only=True):
    """One program.

    ``name``: of its file here, ``on_host``: of its file in a host's home. ``what``: what it is, for people.
    ``sources``: the folder of its C files. ``flags``: for the compiler, beside those of all. ``linkings``: how it may
    be linked, the best first: statically, so that it runs on hosts with another C library, and dynamically where that
    library is not there to be linked.
    """

    name: str
    what: str
    sources: Path
    on_host: str
    flags: tuple[str, ...] = ()
    linkings: tuple[tuple[str, ...], ...] = (("-static",), ())

    def made(self, environment: Mapping[str, str] | None = None) -> Path:
        """The program's file; the first call on a machine compiles for a few seconds.

        Args:
            environment: the variables that place the cache and find the compiler (default: this process').

        Raises:
            CapabilityError: there is no C compiler, or it refuses the sources; says what helps.
            DeployError: the cache cannot be written.
        """
        variables = os.environ if environment is None else environment
        files = sorted(self.sources.glob("*.[ch]"))
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
        folder = cache_root(variables) / f"{self.name}-{digest}-{platform.machine()}"
        made = folder / self.name
        if made.exists():
            return made
        compiler = shutil.which("cc", path=variables.get("PATH")) or shutil.which("gcc", path=variables.get("PATH"))
        if compiler is None:
            raise CapabilityError(f"no C compiler to make {self.what} with; {HELP}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with cache_lock(folder / "lock", self.name, _COMPILE_TIMEOUT_S, lambda _: None):
                if not made.exists():
                    self._compile(compiler, [str(path) for path in files if path.suffix == ".c"], made)
        except OSError as error:
            raise DeployError(f"{folder}: {error.strerror}; free the disk, or place the cache by CHAOS_CACHE") from None
        return made

    def _compile(self, compiler: str, files: Sequence[str], made: Path) -> None:
        partial = made.with_suffix(".partial")
        said = ""
        for linking in self.linkings:
            argv = [compiler, *_FLAGS, *self.flags, *linking, *files, "-o", str(partial)]
            try:
                done = subprocess.run(argv, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False)
            except subprocess.TimeoutExpired:
                raise CapabilityError(f"{compiler} took longer than {_COMPILE_TIMEOUT_S:g} s; {HELP}") from None
            if done.returncode == 0:
                partial.rename(made)
                return
            said = " ".join(done.stderr.split())[:300]
        raise CapabilityError(f"{compiler} cannot make {self.what}: {said}; {HELP}")

    def path_in(self, home: str) -> str:
        """Where it is on a host with that home."""
        return f"{home}/{self.on_host}"

    def is_on(self, host: Host) -> bool:
        """Whether it was put on a host."""
        return host.run("test", "-x", self.path_in(host.home), timeout_s=_HOST_TIMEOUT_S).returncode == 0

    def put_on(self, host: Host) -> str:
        """Its path on a host, put there if need be.

        Raises:
            CapabilityError: it cannot be made here.
            DeployError: it cannot be put there.
        """
        path = self.path_in(host.home)
        if not self.is_on(host):
            try:
                host.put(self.made(), path, mode=0o755)
            except OSError as error:
                raise DeployError(f"{host.name}: {path}: {error.strerror}") from None
        return path
