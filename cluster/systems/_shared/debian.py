"""Programs out of Debian's packages, once per user: unpacked in the cache and not installed."""

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from chaos.core.errors import CapabilityError, DeployError
from cluster.needs import Need
from cluster.systems._shared.cache import cache_root

TOOLS: Final = ("apt-get", "dpkg-deb")
_TIMEOUT_S: Final = 300.0


class Package(NamedTuple):
    """A package at a version. ``holds``: the folder in it that is kept. ``release``: whose Debian has this version.

    ``beside``: packages at the same version that are unpacked over it; ``others``: likewise, each with a version of its
    own. ``libraries``: packages whose shared libraries
    are kept in the folder ``lib`` of what is kept; a machine without them can run the programs too.
    """

    program: str
    name: str
    version: str
    size: str
    release: str = "Debian 12"
    holds: str = "usr/bin"
    beside: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    @property
    def plain_version(self) -> str:
        """The version without Debian's epoch, as the program says it; it can stand in a path."""
        return self.version.rpartition(":")[2]


def unpack_package(package: Package, say: Callable[[str], None], environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the package's programs; makes it if it is not there.

    Args:
        package: what is wanted.
        say: gets one line if it has to be made.
        environment: the variables that place the cache and find the tools (default: this process').

    Raises:
        CapabilityError: this machine has no apt, or its sources have no such version.
        DeployError: the package cannot be unpacked, or the cache cannot be written.
    """
    environment = os.environ if environment is None else environment
    folder = _folder(package, environment)
    root = folder.parent
    if folder.is_dir():
        return folder
    for tool in TOOLS:
        if shutil.which(tool, path=environment.get("PATH")) is None:
            where = f"{package.program} comes from Debian's {package.name}"
            raise CapabilityError(f"{where}, and here is no {tool}; use {package.release}")
    what = f"{package.program} {package.plain_version}"
    say(f"{what}: fetching Debian's {package.name} into {root} ({package.size}, once)")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=f"{folder.name}.partial-") as partial:
            _unpack(package, Path(partial), environment)
            if not folder.is_dir():  # another run was faster, and its folder is the same
                (Path(partial) / "x" / package.holds).rename(folder)
    except OSError as error:
        raise DeployError(f"{error.filename or root}: {error.strerror}; make it writable or set CHAOS_CACHE") from None
    return folder


def needs(package: Package, environment: Mapping[str, str] | None = None) -> Need:
    """The folder if the package is unpacked already, else the tools that fetch it."""
    environment = os.environ if environment is None else environment
    folder = _folder(package, environment)
    if folder.is_dir():
        return Need(met=True, detail=f"{package.plain_version} in {folder}")
    for tool in TOOLS:
        if shutil.which(tool, path=environment.get("PATH")) is None:
            detail = f"it comes from Debian's {package.name} {package.plain_version}, and here is no {tool}"
            return Need(met=False, detail=detail, help=f"use {package.release}")
    fetched = f"the first run fetches Debian's {package.name} {package.plain_version} by apt-get ({package.size})"
    return Need(met=True, detail=f"{fetched} into {folder}")


def _folder(package: Package, environment: Mapping[str, str]) -> Path:
    """Where the package is kept."""
    return cache_root(environment) / f"{package.program}-{package.plain_version}-{platform.machine()}"


def _unpack(package: Package, partial: Path, environment: Mapping[str, str]) -> None:
    versions = {**dict.fromkeys((package.name, *package.beside), package.version), **dict(package.others)}
    pinned = [f"{name}={version}*" for name, version in versions.items()]
    wanted, program = [*pinned, *package.libraries], package.program
    plain = _failed(["apt-get", "download", *wanted], partial, environment)
    said = plain and _download_with_own_lists(wanted, partial, environment)
    if said is not None:
        where = f"{program}: apt-get download {' '.join(wanted)}: {said}"
        raise CapabilityError(f"{where}; the sources of {package.release} have it")
    for file in partial.glob("*.deb"):
        if (said := _failed(["dpkg-deb", "-x", str(file), "x"], partial, environment)) is not None:
            raise DeployError(f"{program}: {file.name} cannot be unpacked: {said}")
    if package.libraries:
        _keep_libraries(partial / "x", partial / "x" / package.holds / "lib")


def _keep_libraries(unpacked_in: Path, kept: Path) -> None:
    """Copy every shared library of unpacked packages, under the name that programs ask for, into one folder."""
    kept.mkdir()
    for library in sorted(unpacked_in.glob("**/lib*.so.*")):
        if not library.is_relative_to(kept):
            shutil.copy2(library, kept / library.name)


def _download_with_own_lists(wanted: list[str], partial: Path, environment: Mapping[str, str]) -> str | None:
    """What failed at last; None if nothing did. The machine's lists may be absent or old, and not ours to renew."""
    own = []
    for name, folder in (("Dir::State::Lists", "lists"), ("Dir::Cache", "archives")):
        (partial / folder / "partial").mkdir(parents=True)
        own += ["-o", f"{name}={partial / folder}"]
    own += ["-o", "APT::Sandbox::User="]  # nobody else could write here
    if (said := _failed(["apt-get", *own, "update"], partial, environment)) is not None:
        return said
    return _failed(["apt-get", *own, "download", *wanted], partial, environment)


def _failed(argv: list[str], folder: Path, environment: Mapping[str, str]) -> str | None:
    """What the command said last if it failed; None if it did not."""
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, timeout=_TIMEOUT_S, check=False)
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return (lines or [f"exit {done.returncode}"])[-1] if done.returncode else None
