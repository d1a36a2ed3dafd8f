"""Where each version of NATS comes from: Debian's package, Go modules, or a folder with somebody's own build.

All of it is pure but for ``version_in``.
"""

from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import debian
from cluster.systems._shared.gomodules import GoProgram
from cluster.versions import release_of, said_by

PROGRAM: Final = "nats-server"
PACKAGE: Final = debian.Package("nats", PROGRAM, "2.9.10", "4 MB", holds="usr/sbin")
MODULE: Final = "github.com/nats-io/nats-server/v2"
HOLDS: Final = f"the program {PROGRAM}"
FIRST: Final = (2, 9)
"""The first release whose buckets have all that clients here ask for."""

EXAMPLE: Final = PACKAGE.version


def check_had(version: str) -> None:
    """See that a version may be had: whether there is one of its number is for the registry to say.

    Raises:
        UsageError: it is no version, or older than what there is.
    """
    if release_of(version, EXAMPLE) < FIRST:
        there = f"{PACKAGE.version} (Debian's package), and other versions from 2.9 on (built of Go modules)"
        raise UsageError(f"--system-version {version}: NATS can be had in {there}; name one of these")


def of_modules(version: str) -> GoProgram:
    """The program as it is built of Go modules."""
    commands = ((PROGRAM, MODULE),)
    return GoProgram("nats", "NATS", version=version, module=MODULE, commands=commands, takes="about a minute")


def version_in(folder: Path) -> str:
    """The version of the program in a folder. Raises UsageError: there is none."""
    program = folder / PROGRAM
    if not program.is_file():
        raise UsageError(f"no {PROGRAM} in it; name a folder that holds {HOLDS}")
    version = said_by([str(program), "--version"], r"nats-server: v(\S+)")
    release_of(version, EXAMPLE)
    return version
