"""Where each version of etcd comes from: Debian's package, Go modules, or a folder with somebody's own build.

All of it is pure but for ``version_in``.
"""

import re
from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import debian
from cluster.systems._shared.gomodules import GoProgram
from cluster.versions import said_by

PACKAGE: Final = debian.Package("etcd", "etcd-server", "3.4.23", "8 MB")
MODULE: Final = "go.etcd.io/etcd/server/v3"
STORAGE: Final = "go.etcd.io/bbolt"
HOLDS: Final = "the program etcd"
FIRST_MODULE: Final = (3, 5)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.\d+([-+][\w.+-]+)?", re.ASCII)

Release = tuple[int, int]
"""What flags and defaults depend on: (3, 5) of 3.5.4."""


def release_of(version: str) -> Release:
    """The release that a version belongs to.

    Raises:
        UsageError: it is no version.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise UsageError(f"--system-version {version}: write it like 3.5.4")
    return int(found[1]), int(found[2])


def check_had(version: str) -> None:
    """See that a version may be had: whether there is one of its number is for the registry to say.

    Raises:
        UsageError: it is no version, or older than what there is.
    """
    if release_of(version) < FIRST_MODULE and version != PACKAGE.version:
        there = f"{PACKAGE.version} (Debian's package), and 3.5.0 and later (built of Go modules)"
        raise UsageError(f"--system-version {version}: etcd can be had in {there}; name one of these")


def of_modules(version: str, *, gofail: bool) -> GoProgram:
    """The program as it is built of Go modules."""
    return GoProgram(
        program="etcd",
        label="etcd",
        version=version,
        module=MODULE,
        commands=(("etcd", MODULE),),
        takes="one to two minutes",
        instrumented=(MODULE, STORAGE) if gofail else (),
    )


def version_in(folder: Path) -> str:
    """The version of the program in a folder. Raises UsageError: there is none."""
    program = folder / "etcd"
    if not program.is_file():
        raise UsageError(f"no etcd in it; name a folder that holds {HOLDS}")
    version = said_by([str(program), "--version"], r"etcd Version: (\S+)")
    release_of(version)
    return version
