"""Java programs, once per user: their jars are fetched by Maven from a pinned pom, verified, and kept in a cache.

A folder there (``cluster.systems._shared.cache``) is complete or absent: it is filled under another name, its manifest
(size and SHA-256 of every file) is written last, and one rename makes it visible. A lock keeps two at once apart. Does
not install tools.
"""

import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, DeployError
from cluster.needs import Need
from cluster.systems._shared.cache import cache_root
from cluster.systems._shared.fetching import Say, cache_lock, run_watched

FETCH_TIMEOUT_S: Final = 1200.0
_MANIFEST: Final = "manifest.json"
JAVA_PACKAGE: Final = "openjdk-17-jre-headless"


class Distribution(NamedTuple):
    """A program and the jars that it needs.

    ``program``: as in names of folders; ``label``: as people write it. ``pom``: names the jars, each at its version.
    ``finish``: what is still to be done in the folder once they are in its ``lib``.
    """

    program: str
    label: str
    version: str
    size: str
    pom: bytes
    finish: Callable[[Path], None] = lambda _folder: None

    @property
    def name(self) -> str:
        """The program with its version, for people."""
        return f"{self.label} {self.version}"


def pom_of(program: str, artefacts: Iterable[str]) -> bytes:
    """A pom that names jars, each as ``group:artefact:version``, and with it all that they need. Pure."""
    wanted = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
            *one.split(":")
        )
        for one in artefacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>chaos</groupId><artifactId>{program}-jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{wanted}</dependencies></project>\n"
    ).encode()


class FileFact(msgspec.Struct, frozen=True):
    """What the manifest says of one file."""

    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """Every file of a complete folder, by its path in it."""

    version: str
    files: dict[str, FileFact]


def fetch(wanted: Distribution, say: Say, environment: Mapping[str, str] | None = None) -> Path:
    """The folder with ``lib/*.jar``; makes it if it is not there.

    Args:
        wanted: the program.
        say: gets one line per step.
        environment: the variables that place the cache and find the tools (default: this process').

    Raises:
        CapabilityError: Maven or Java is missing.
        DeployError: Maven failed; the message names its log.
        DeadlineError: it, or another run that fetches the same, took longer than ``FETCH_TIMEOUT_S``.
    """
    environment = os.environ if environment is None else environment
    root = cache_root(environment)
    folder = folder_in(wanted, root)
    _need(wanted, "java", JAVA_PACKAGE, environment)
    if is_complete(folder):
        return folder
    _need(wanted, "mvn", "maven", environment)
    root.mkdir(parents=True, exist_ok=True)
    with cache_lock(root / f"{folder.name}.lock", wanted.name, FETCH_TIMEOUT_S, say):
        if is_complete(folder):
            return folder
        for left in root.glob(f"{folder.name}.partial-*"):  # of runs that were cut off: we hold the lock
            shutil.rmtree(left)
        partial = root / f"{folder.name}.partial-{os.getpid()}"
        try:
            _fill(wanted, partial, root / f"{folder.name}.log", say, environment)
            if folder.exists():  # there, but not what its manifest says
                shutil.rmtree(folder)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def needs(wanted: Distribution, environment: Mapping[str, str] | None = None) -> Need:
    """What ``fetch`` would find."""
    environment = os.environ if environment is None else environment
    path, folder = environment.get("PATH"), folder_in(wanted, cache_root(environment))
    if shutil.which("java", path=path) is None:
        return Need(met=False, detail="it needs java, which is not on the PATH", help=f"apt-get install {JAVA_PACKAGE}")
    if is_complete(folder):
        return Need(met=True, detail=f"{wanted.version} in {folder}")
    if shutil.which("mvn", path=path) is None:
        detail = f"its jars are not in {folder}, and here is no Maven to fetch them"
        return Need(met=False, detail=detail, help="apt-get install maven")
    return Need(met=True, detail=f"the first run fetches the jars of {wanted.version} by Maven into {folder}")


def folder_in(wanted: Distribution, root: Path) -> Path:
    """Where the jars are in a cache: another pom and another kind of machine have another folder."""
    pom = hashlib.sha256(wanted.pom).hexdigest()[:8]
    return root / f"{wanted.program}-{wanted.version}-{pom}-{platform.machine()}"


def is_complete(folder: Path) -> bool:
    """Cheap: every file of the manifest is there in its size, and no other file is."""
    manifest = _manifest(folder)
    if manifest is None:
        return False
    found = {path: (folder / path).stat().st_size for path in _content(folder)}
    return found == {path: fact.size_bytes for path, fact in manifest.files.items()}


def damaged_files(folder: Path) -> list[str]:
    """Thorough: the files whose SHA-256 is not the manifest's, and those missing or unknown, sorted."""
    manifest = _manifest(folder)
    known = {} if manifest is None else {path: fact.sha256 for path, fact in manifest.files.items()}
    found = {path: _sha256(folder / path) for path in _content(folder)}
    return sorted(path for path in {*known, *found} if known.get(path) != found.get(path))


def _manifest(folder: Path) -> Manifest | None:
    try:
        return msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None


def _content(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in found if path.name != _MANIFEST)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _need(wanted: Distribution, program: str, package: str, environment: Mapping[str, str]) -> None:
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise CapabilityError(f"{wanted.label} needs {program}, which is not on the PATH; apt-get install {package}")


def _fill(wanted: Distribution, partial: Path, log: Path, say: Say, environment: Mapping[str, str]) -> None:
    say(f"{wanted.name}: fetching its jars with Maven into {partial.parent} ({wanted.size}, once)")
    partial.mkdir()
    pom = partial / "pom.xml"
    pom.write_bytes(wanted.pom)
    _maven(wanted, pom, partial / "lib", log, say, environment)
    pom.unlink()
    wanted.finish(partial)
    facts = {path: FileFact((partial / path).stat().st_size, _sha256(partial / path)) for path in _content(partial)}
    (partial / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(Manifest(wanted.version, facts))))
    size_mb = sum(fact.size_bytes for fact in facts.values()) / 1e6
    say(f"{wanted.name}: {len(facts)} files, {size_mb:.0f} MB, verified")


def _maven(wanted: Distribution, pom: Path, target: Path, log: Path, say: Say, environment: Mapping[str, str]) -> None:
    argv = [
        "mvn",
        "-B",
        "-f",
        str(pom),
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={target}",
    ]
    deadline = Deadline(f"Maven to fetch {wanted.label}'s jars (log {log})", FETCH_TIMEOUT_S)

    def progress(printed: bytes) -> str:
        return f"{wanted.name}: {printed.count(b'Downloaded from')} files so far"

    if (code := run_watched(argv, log, deadline, environment, progress, say)) != 0:
        raise DeployError(f"Maven could not fetch {wanted.name} (exit {code}); its output is in {log}")
