"""Where each version of etcd comes from: Debian's package, Go modules, or a folder with somebody's own build.

All of it is pure but for ``version_in``.
"""

from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import debian
from cluster.systems._shared.gomodules import GoProgram
from cluster.versions import release_of, said_by

PACKAGE: Final = debian.Package("etcd", "etcd-server", "3.4.23", "8 MB")
MODULE: Final = "go.etcd.io/etcd/server/v3"
STORAGE: Final = "go.etcd.io/bbolt"
HOLDS: Final = "the program etcd"
FIRST_MODULE: Final = (3, 5)
EXAMPLE: Final = "3.5.4"


def check_had(version: str) -> None:
    """See that a version may be had: whether there is one of its number is for the registry to say.

    Raises:
        UsageError: it is no version, or older than what there is.
    """
    if release_of(version, EXAMPLE) < FIRST_MODULE and version != PACKAGE.version:
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
    release_of(version, EXAMPLE)
    return version
