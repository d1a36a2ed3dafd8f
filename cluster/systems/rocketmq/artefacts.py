"""RocketMQ's jars, once per user: fetched by Maven from a pinned pom, verified, kept in a cache.

A folder there (``cluster.systems._shared.cache``) is complete or absent: it is filled under another name, its manifest
(size and SHA-256 of every file) is written last, and one rename makes it visible. A lock keeps two at once apart.
The module refuses to install tools.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import Deadline
from chaos.core.errors import CapabilityError, DeployError
from cluster.systems._shared.cache import cache_root

VERSION: Final = "5.5.0"
FETCH_TIMEOUT_S: Final = 1200.0
_POLL_S: Final = 0.2
_SAY_EVERY_S: Final = 5.0
_MANIFEST: Final = "manifest.json"
_POM: Final = "distribution.pom"
JAVA_PACKAGE: Final = "openjdk-17-jre-headless"

Say = Callable[[str], None]


class FileFact(msgspec.Struct, frozen=True):
    """What the manifest says of one file."""

    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """Every file of a complete folder, by its path in it."""

    version: str
    files: dict[str, FileFact]


def fetch(say: Say, environment: Mapping[str, str] | None = None) -> Path:
    """The folder with ``lib/*.jar`` and ``native/*.so``; makes it if it is not there.

    Args:
        say: gets one line per step.
        environment: the variables that place the cache and find the tools (default: this process').

    Raises:
        CapabilityError: Maven or Java is missing, or the machine is of a kind without native library.
        DeployError: Maven failed; the message names its log.
        DeadlineError: it, or another run that fetches the same, took longer than ``FETCH_TIMEOUT_S``.
    """
    environment = os.environ if environment is None else environment
    root = cache_root(environment)
    folder = folder_in(root)
    _need("java", JAVA_PACKAGE, environment)
    if is_complete(folder):
        return folder
    _need("mvn", "maven", environment)
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f"{folder.name}.lock", say):
        if is_complete(folder):
            return folder
        for left in root.glob(f"{folder.name}.partial-*"):  # of runs that were cut off: we hold the lock
            shutil.rmtree(left)
        partial = root / f"{folder.name}.partial-{os.getpid()}"
        try:
            _fill(partial, root / "rocketmq-maven.log", say, environment)
            if folder.exists():  # there, but not what its manifest says
                shutil.rmtree(folder)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def folder_in(root: Path) -> Path:
    """Where the jars are in a cache: another pom and another kind of machine have another folder."""
    pom = files(__package__).joinpath(_POM).read_bytes()
    return root / f"rocketmq-{VERSION}-{hashlib.sha256(pom).hexdigest()[:8]}-{platform.machine()}"


def is_complete(folder: Path) -> bool:
    """Cheap: every file of the manifest is there in its size, and no other file is."""
    manifest = _manifest(folder)
    if manifest is None:
        return False
    found = {path: (folder / path).stat().st_size for path in _content(folder)}
    return found == {path: fact.size_bytes for path, fact in manifest.files.items()}


def damaged(folder: Path) -> list[str]:
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


def _need(program: str, package: str, environment: Mapping[str, str]) -> None:
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise CapabilityError(f"RocketMQ needs {program}, which is not on the PATH; apt-get install {package}")


@contextmanager
def _locked(path: Path, say: Say) -> Iterator[None]:
    deadline = Deadline(f"another run to finish fetching RocketMQ (lock {path})", FETCH_TIMEOUT_S)
    with path.open("w") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    say(f"RocketMQ {VERSION}: another run is fetching it; waiting")
                    told = True
                deadline.check()
                time.sleep(_POLL_S)
        yield


def _fill(partial: Path, log: Path, say: Say, environment: Mapping[str, str]) -> None:
    say(f"RocketMQ {VERSION}: fetching its jars with Maven into {partial.parent} (94 MB, once)")
    partial.mkdir()
    with as_file(files(__package__).joinpath(_POM)) as pom:
        _maven(pom, partial / "lib", log, say, environment)
    _unpack_native(partial)
    facts = {path: FileFact((partial / path).stat().st_size, _sha256(partial / path)) for path in _content(partial)}
    (partial / _MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(Manifest(VERSION, facts))))
    size_mb = sum(fact.size_bytes for fact in facts.values()) / 1e6
    say(f"RocketMQ {VERSION}: {len(facts)} files, {size_mb:.0f} MB, verified")


def _maven(pom: Path, target: Path, log: Path, say: Say, environment: Mapping[str, str]) -> None:
    argv = [
        "mvn",
        "-B",
        "-f",
        str(pom),
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={target}",
    ]
    deadline = Deadline(f"Maven to fetch RocketMQ's jars (log {log})", FETCH_TIMEOUT_S)
    with (
        log.open("wb") as out,
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment) as maven,
    ):
        try:
            next_word = time.monotonic() + _SAY_EVERY_S
            while maven.poll() is None:
                deadline.check()
                if time.monotonic() >= next_word:
                    say(f"RocketMQ {VERSION}: {log.read_bytes().count(b'Downloaded from')} files so far")
                    next_word += _SAY_EVERY_S
                time.sleep(_POLL_S)
        except BaseException:
            maven.terminate()
            raise
    if maven.returncode != 0:
        raise DeployError(f"Maven could not fetch RocketMQ {VERSION} (exit {maven.returncode}); its output is in {log}")


def _unpack_native(partial: Path) -> None:
    """Unpack the RocksDB library once; each broker start would leave a copy in its temporary folder."""
    member = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}.get(platform.machine())
    if member is None:
        raise CapabilityError(f"RocketMQ has no native library for {platform.machine()}; use x86-64 or ARM-64")
    jars = [*(partial / "lib").glob("rocketmq-rocksdb-*.jar")]
    if len(jars) != 1:
        raise DeployError(f"{partial}/lib: {len(jars)} rocketmq-rocksdb jars instead of one; remove the folder")
    with zipfile.ZipFile(jars[0]) as archive:
        archive.extract(member, partial / "native")
