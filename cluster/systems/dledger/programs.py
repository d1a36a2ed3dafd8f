"""DLedger's jars in each version. All of it is pure but for ``version_in``."""

import re
from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven

VERSION: Final = "0.4.3"
HOLDS: Final = "lib with DLedger's jars, slf4j-simple and ecj, as Maven copies them"
_JAR: Final = "dledger-*.jar"
_VERSION: Final = re.compile(r"0\.\d+(\.\d+)*(-\w+)?", re.ASCII)
_OURS: Final = ("org.slf4j:slf4j-simple:1.7.36", "org.eclipse.jdt:ecj:3.33.0")
"""A log on standard output for versions that bring none, and a compiler, which a JRE does not have."""


def distribution(version: str) -> maven.Distribution:
    """The jars of a version; whether the registry has it is for Maven to find out. Raises UsageError: it is none."""
    if _VERSION.fullmatch(version) is None:
        raise UsageError(f"--system-version {version}: write it like {VERSION}")
    jars = (f"io.openmessaging.storage:dledger:{version}", *_OURS)
    return maven.Distribution("dledger", "DLedger", version, "up to 75 MB", maven.pom_of("dledger", jars))


def version_in(folder: Path) -> str:
    """The version of the jar in the folder ``lib`` of a folder. Raises UsageError: there is none."""
    before, after = _JAR.split("*")
    names = [path.name.removeprefix(before).removesuffix(after) for path in (folder / "lib").glob(_JAR)]
    versions = [name for name in names if _VERSION.fullmatch(name)]
    if len(versions) != 1:
        there = folder / "lib"
        raise UsageError(f"{len(versions)} {_JAR} in {there} instead of one; name a folder that holds {HOLDS}")
    return versions[0]
