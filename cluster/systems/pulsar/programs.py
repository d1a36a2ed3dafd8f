"""Pulsar's jars in each version. All of it is pure but for ``version_in``."""

from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven
from cluster.versions import read_release, release_of

VERSION: Final = "4.0.7"
HOLDS: Final = "lib with pulsar-broker and all that it needs, as Maven copies them"
FIRST: Final = (3, 0)
"""The first release with the lines that a node's file has here."""
_JAR: Final = "pulsar-broker-*.jar"


def distribution(version: str) -> maven.Distribution:
    """The jars of a version, BookKeeper's and ZooKeeper's among them; whether the registry has it, Maven finds out.

    Raises:
        UsageError: it is no version, or too old a one.
    """
    if release_of(version, VERSION) < FIRST:
        raise UsageError(f"--system-version {version}: Pulsar can be had from 3.0.0 on; name that or a later one")
    jars = (f"org.apache.pulsar:pulsar-broker:{version}",)
    return maven.Distribution("pulsar", "Pulsar", version, "about 240 MB", maven.pom_of("pulsar", jars))


def version_in(folder: Path) -> str:
    """The version of the jars in the folder ``lib`` of a folder. Raises UsageError: there are none."""
    before, after = _JAR.split("*")
    names = [path.name.removeprefix(before).removesuffix(after) for path in (folder / "lib").glob(_JAR)]
    versions = [name for name in names if read_release(name)]
    if len(versions) != 1:
        there = folder / "lib"
        raise UsageError(f"{len(versions)} {_JAR} in {there} instead of one; name a folder that holds {HOLDS}")
    distribution(versions[0])
    return versions[0]
