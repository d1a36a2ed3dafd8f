"""Go programs in any version that a Go module has, once per user: built from source and kept in the cache.

A module of our own requires the program's module at the version and builds its commands. The program's own ``replace``
directives do not count there, so it is built of what its ``go.mod`` requires, which the checksum database vouches for.
A folder in the cache is complete or absent: it is filled under another name, and one rename makes it visible. A lock
keeps two runs apart. ``gofail`` instruments the sources with failpoints before they are built.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, DeployError
from cluster.needs import Need
from cluster.systems._shared.cache import cache_root
from cluster.systems._shared.fetching import Say, cache_lock, run_watched

BUILD_TIMEOUT_S: Final = 1800.0
_ASK_TIMEOUT_S: Final = 120.0
GO_LEAST: Final = (1, 21)
"""From this one on, ``go`` fetches a later one itself where a module asks for it."""
GO_HELP: Final = "apt-get install -t bookworm-backports golang-go"
_GOFAIL: Final = "go.etcd.io/gofail"
_GOFAIL_VERSION: Final = "v0.2.0"
_FAILPOINT: Final = b"// gofail:"
_GO_VERSION: Final = re.compile(r"go(\d+)\.(\d+)")


class GoProgram(NamedTuple):
    """A program that is built from a Go module.

    ``program``: as in names of folders; ``label``: as people write it. ``version``: without the ``v``. ``commands``:
    the name of each program that is built, and its package. ``takes``: how long that takes, for people.
    ``instrumented``: the modules whose failpoints are switched in; none: as it is released.
    """

    program: str
    label: str
    version: str
    module: str
    commands: tuple[tuple[str, str], ...]
    takes: str
    instrumented: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program with its version, for people."""
        return f"{self.label} {self.version}{' with gofail' if self.instrumented else ''}"


class _Source(msgspec.Struct, frozen=True):
    """What ``go mod download -json`` says. ``folder``: of its source."""

    folder: str = msgspec.field(name="Dir", default="")
    version: str = msgspec.field(name="Version", default="")
    error: str = msgspec.field(name="Error", default="")


def build_program(wanted: GoProgram, say: Say, environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the programs; builds them if it is not there.

    Args:
        wanted: what is wanted.
        say: gets a line per step and now and then.
        environment: the variables that place the cache and find ``go`` (default: this process').

    Raises:
        CapabilityError: no ``go``, too old a one, or the registry has no such version.
        DeployError: it cannot be built; the message names the log of the build.
        DeadlineError: it, or another run that builds the same, took longer than ``BUILD_TIMEOUT_S``.
    """
    environment = os.environ if environment is None else environment
    root = cache_root(environment)
    folder = folder_in(wanted, root)
    if folder.is_dir():
        return folder
    if (missing := _missing(environment)) is not None:
        raise CapabilityError(f"{wanted.name} is built by go: {missing}; {GO_HELP}")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with cache_lock(root / f"{folder.name}.lock", wanted.name, BUILD_TIMEOUT_S, say):
            if folder.is_dir():
                return folder
            for left in root.glob(f"{folder.name}.partial-*"):  # of runs that were cut off: we hold the lock
                shutil.rmtree(left)
            partial = root / f"{folder.name}.partial-{os.getpid()}"
            try:
                _Build(wanted, partial, root / f"{folder.name}.log", say, environment).make()
                (partial / "made").rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise DeployError(f"{error.filename or root}: {error.strerror}; make it writable or set CHAOS_CACHE") from None
    return folder


def needs(wanted: GoProgram, environment: Mapping[str, str] | None = None) -> Need:
    """The folder if the program is built already, else the ``go`` that builds it."""
    environment = os.environ if environment is None else environment
    folder = folder_in(wanted, cache_root(environment))
    if folder.is_dir():
        return Need(met=True, detail=f"{wanted.version} in {folder}")
    if (missing := _missing(environment)) is not None:
        return Need(met=False, detail=f"{wanted.name} is built by go: {missing}", help=GO_HELP)
    return Need(met=True, detail=f"the first run builds {wanted.name} by go into {folder} ({wanted.takes})")


def folder_in(wanted: GoProgram, root: Path) -> Path:
    """Where the programs are in a cache: what is built of something else has another folder."""
    recipe = hashlib.sha256(repr((wanted.module, wanted.commands, wanted.instrumented)).encode()).hexdigest()[:8]
    return root / f"{wanted.program}-{wanted.version}-go-{recipe}-{platform.machine()}"


def go_found(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The release of the ``go`` on the PATH; None if there is none that runs."""
    try:
        done = subprocess.run(
            ["go", "version"],
            env=environment,
            capture_output=True,
            timeout=_ASK_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _GO_VERSION.search(done.stdout.decode(errors="replace"))
    return (int(found[1]), int(found[2])) if found else None


def go_mod(wanted: GoProgram, replaced: Mapping[str, str]) -> str:
    """Pure: the module that requires the program. ``replaced``: by module, the folder with its changed source."""
    requires = [f"require {wanted.module} v{wanted.version}"]
    requires += [f"require {_GOFAIL} {_GOFAIL_VERSION}"] if wanted.instrumented else []
    requires += [f"replace {module} => {folder}" for module, folder in replaced.items()]
    return "\n".join([f"module chaos/{wanted.program}", f"go {GO_LEAST[0]}.{GO_LEAST[1]}", *requires, ""])


def _missing(environment: Mapping[str, str]) -> str | None:
    """What is wrong with the ``go`` here; None if it will do."""
    release = go_found(environment)
    if release is None:
        return "there is none on the PATH"
    least = ".".join(map(str, GO_LEAST))
    return None if release >= GO_LEAST else f"it takes {least} or later, and here is {release[0]}.{release[1]}"


class _Build:
    """One build. ``partial``: a folder of its own, of which ``made`` is what is kept."""

    def __init__(self, wanted: GoProgram, partial: Path, log: Path, say: Say, environment: Mapping[str, str]) -> None:
        self._wanted = wanted
        self._made = partial / "made"
        self._work = partial / "work"
        self._log = log
        self._say = say
        self._deadline = Deadline(f"go to build {wanted.name} (log {log})", BUILD_TIMEOUT_S)
        self._environment = {
            "GOTOOLCHAIN": "auto",  # a version that asks for a later go than this one gets it
            **environment,
            "CGO_ENABLED": "0",  # what is built runs on any machine of this kind
            "GOFLAGS": "-mod=mod -modcacherw",
            "GOWORK": "off",
        }

    def make(self) -> None:
        """Build every command."""
        wanted = self._wanted
        self._made.mkdir(parents=True)
        self._work.mkdir()
        self._say(f"{wanted.name}: building it with go into {self._made.parents[1]} ({wanted.takes}, once)")
        self._write(go_mod(wanted, {}))
        self._source(wanted.module, f"v{wanted.version}")
        if wanted.instrumented:
            self._instrument()
        for name, package in wanted.commands:
            self._go("build", "-v", "-trimpath", "-o", str(self._made / name), package)
        for name in ("go.mod", "go.sum"):  # what it was built of
            shutil.copy2(self._work / name, self._made / name)
        size_mb = sum(path.stat().st_size for path in self._made.iterdir()) / 1e6
        self._say(f"{wanted.name}: built, {size_mb:.0f} MB")

    def _write(self, text: str) -> None:
        (self._work / "go.mod").write_text(text)

    def _source(self, module: str, version: str) -> Path:
        """The source of a module at a version. Raises CapabilityError: the registry does not give it."""
        argv = ["go", "mod", "download", "-json", f"{module}@{version}"]
        done = subprocess.run(
            argv,
            env={**self._environment, "PWD": str(self._work)},
            cwd=self._work,
            capture_output=True,
            timeout=max(1.0, self._deadline.remaining_s()),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        try:
            found = msgspec.json.decode(done.stdout, type=_Source)
        except msgspec.DecodeError:
            found = _Source(error=_last_line(done.stderr) or f"exit {done.returncode}")
        if found.error or not found.folder:
            said = " ".join(found.error.split())
            raise CapabilityError(
                f"{self._wanted.name} cannot be had from the Go module registry: {said}; "
                f"go list -m -versions {module} names others"
            )
        return Path(found.folder)

    def _instrument(self) -> None:
        """Switch the failpoints in: in copies of the modules, which are then built instead."""
        self._go("build", "-o", str(self._work / "gofail"), _GOFAIL)
        replaced: dict[str, str] = {}
        for module in self._wanted.instrumented:
            version = f"v{self._wanted.version}" if module == self._wanted.module else self._required(module)
            folder = self._work / "source" / _plain_name(module)
            shutil.copytree(self._source(module, version), folder)
            for path in (folder, *folder.rglob("*")):
                path.chmod(path.stat().st_mode | 0o200)
            if with_failpoints := packages_with_failpoints(folder):
                self._run([str(self._work / "gofail"), "enable", *map(str, with_failpoints)], lambda _printed: "")
            replaced[module] = f"./{folder.relative_to(self._work)}"
        self._write(go_mod(self._wanted, replaced))

    def _required(self, module: str) -> str:
        """The version of a module that the program is built of."""
        self._go("list", "-m", "-f", "{{.Version}}", module)
        return _last_line(self._log.read_bytes())

    def _go(self, *words: str) -> None:
        self._run(["go", "-C", str(self._work), *words], lambda printed: f"{self._wanted.name}: {_how_far(printed)}")

    def _run(self, argv: Sequence[str], progress: Callable[[bytes], str]) -> None:
        code = run_watched(argv, self._log, self._deadline, self._environment, progress, self._say)
        if code != 0:
            last = _last_line(self._log.read_bytes())
            raise DeployError(f"{self._wanted.name} cannot be built (exit {code}): {last}; all of it is in {self._log}")


def packages_with_failpoints(folder: Path) -> list[Path]:
    """The folders of a module that have failpoints, sorted."""
    files = (path for path in folder.rglob("*.go") if not path.name.endswith("_test.go"))
    return sorted({path.parent for path in files if _FAILPOINT in path.read_bytes()})


def _plain_name(module: str) -> str:
    """The last word of a module's path but for its version, by which gofail calls the package in its folder."""
    *before, last = module.split("/")
    return before[-1] if re.fullmatch(r"v\d+", last) else last


def _how_far(printed: bytes) -> str:
    """Pure: a clause about what ``go build -v`` has printed."""
    lines = printed.splitlines()
    fetched = sum(line.startswith(b"go: downloading") for line in lines)
    compiled = sum(not line.startswith(b"go: ") for line in lines)
    return f"{fetched} modules fetched, {compiled} packages compiled so far"


def _last_line(printed: bytes) -> str:
    lines = printed.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
