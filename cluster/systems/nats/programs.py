"""Where each version of NATS comes from, and the release that a version belongs to. Pure."""

import re
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import debian

PROGRAM: Final = "nats-server"
PACKAGE: Final = debian.Package("nats", PROGRAM, "2.9.10", "4 MB", holds="usr/sbin")

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.\d+(-\S+)?")

Release = tuple[int, int]
"""What settings depend on: (2, 9) of 2.9.10."""


def release_of(version: str) -> Release:
    """The release that a version belongs to.

    Raises:
        UsageError: it is no version.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise UsageError(f"--system-version {version}: write it like {PACKAGE.version}")
    return int(found[1]), int(found[2])
