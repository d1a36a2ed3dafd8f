"""Which program a run tests: the one that a system has by itself, another version, or somebody's own build.

A system that can be had in more than one version has ``HasVersions``, one that runs other people's builds
``TakesBuilds``, one whose settings decide how its program is built ``BuildsVariants``. Each gives a system again, whose
``version``, settings, promises and ``fetch`` are those of that program. A system that has none of them has one version.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from chaos.core.errors import UsageError
from cluster.system import System

_ASK_TIMEOUT_S: Final = 15.0
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.\d+([-+][\w.+-]+)?", re.ASCII)

Release = tuple[int, int]
"""What settings, flags and where to get it depend on: (3, 5) of 3.5.4."""


def read_release(version: str) -> Release | None:
    """Pure: the release that a version belongs to; None if it is no version."""
    found = _VERSION.fullmatch(version)
    return None if found is None else (int(found[1]), int(found[2]))


def release_of(version: str, example: str = "1.2.3") -> Release:
    """Pure: the release that a version belongs to, which somebody asked for.

    Raises:
        UsageError: it is no version; the message shows ``example``.
    """
    release = read_release(version)
    if release is None:
        raise UsageError(f"--system-version {version}: write it like {example}")
    return release


@runtime_checkable
class HasVersions(Protocol):
    """A system that can be had in other versions. ``other_versions``: which, and what it takes, for people."""

    other_versions: str

    def at(self, version: str) -> System:
        """Pure: this system in a version; whether the registry has it is for ``fetch`` to find out.

        Raises:
            UsageError: nobody has such a version, or it is none; the message says which there are.
        """
        ...


@runtime_checkable
class TakesBuilds(Protocol):
    """A system that runs other people's builds. ``build_holds``: what the folder of one must hold, for people."""

    build_holds: str

    def built(self, folder: Path) -> System:
        """The system as the program in a folder is, which its ``fetch`` gives.

        Raises:
            UsageError: no such program is there, or it does not say its version.
        """
        ...


@runtime_checkable
class BuildsVariants(Protocol):
    """A system whose settings decide how its program is built."""

    def variant(self, settings: Mapping[str, str]) -> System:
        """Pure: this system with the program that resolved settings ask for."""
        ...


def choose_version(system: System, version: str | None, build: str | None) -> System:
    """A system in the version, or as the build, that somebody asked for.

    Args:
        system: as it is by itself.
        version: that of ``--system-version``; None: the system's own.
        build: the folder of ``--artifacts``; None: there is none. It says its version itself.

    Raises:
        UsageError: it cannot be had so.
    """
    if build is not None:
        own = _of_build(system, build)
        if version not in (None, own.version):
            said = f"--system-version {version}: {build} has {system.name} {own.version}"
            raise UsageError(f"{said}; leave --system-version out, or --artifacts")
        return own
    if version is None or version == system.version:
        return system
    if not isinstance(system, HasVersions):
        raise UsageError(f"--system-version {version}: {system.name} can be had in {system.version} only; leave it out")
    return system.at(version)


def variant_of(system: System, settings: Mapping[str, str]) -> System:
    """A system with the program that its settings ask for."""
    return system.variant(settings) if isinstance(system, BuildsVariants) else system


def can_differ(system: System) -> bool:
    """Whether a system can be of another version than its own."""
    return isinstance(system, HasVersions | TakesBuilds)


def said_by(argv: Sequence[str], pattern: str, environment: Mapping[str, str] | None = None) -> str:
    """The version that a program prints of itself.

    Args:
        argv: the command that has it say so.
        pattern: a regular expression whose first group is the version.
        environment: its variables (default: none).

    Raises:
        UsageError: it does not run here, or says nothing of the kind.
    """
    command = " ".join(argv)
    try:
        done = subprocess.run(
            argv,
            env=dict(environment or {}),
            capture_output=True,
            timeout=_ASK_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = error.strerror if isinstance(error, OSError) else f"no answer within {_ASK_TIMEOUT_S:g} s"
        raise UsageError(f"{command}: {why}; name a folder with a build for this machine") from None
    found = re.search(pattern, (done.stdout + done.stderr).decode(errors="replace"))
    if found is None:
        raise UsageError(f"{command}: it does not say its version; name a folder with a build for this machine")
    return found[1]


def _of_build(system: System, build: str) -> System:
    if not isinstance(system, TakesBuilds):
        raise UsageError(f"--artifacts {build}: {system.name} runs no other build than its own; leave it out")
    folder = Path(build)
    if not folder.is_dir():
        raise UsageError(f"--artifacts {build}: no such folder; name one that holds {system.build_holds}")
    try:
        return system.built(folder.absolute())
    except UsageError as error:
        raise UsageError(f"--artifacts {build}: {error}") from None
