"""ZooKeeper's jars in each version. All of it is pure but for ``version_in``."""

from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven
from cluster.versions import read_release, release_of

VERSION: Final = "3.9.5"
HOLDS: Final = "lib with ZooKeeper's jars, as its distribution unpacks to"
FIRST: Final = (3, 5)
"""The first release with all the lines that a server's file has here."""
_JAR: Final = "zookeeper-*.jar"
_OUR_LOG: Final = ("org.slf4j:slf4j-api:2.0.13", "org.slf4j:slf4j-simple:2.0.13")
"""It writes to standard output, whatever logging a version brings along."""


def distribution(version: str) -> maven.Distribution:
    """The jars of a version; whether the registry has it is for Maven to find out.

    Raises:
        UsageError: it is no version, or too old a one.
    """
    if release_of(version, VERSION) < FIRST:
        raise UsageError(f"--system-version {version}: ZooKeeper can be had from 3.5.5 on; name that or a later one")
    jars = (
        f"org.apache.zookeeper:zookeeper:{version}",
        "io.dropwizard.metrics:metrics-core:4.1.12.1",
        "org.xerial.snappy:snappy-java:1.1.10.5",
        *_OUR_LOG,
    )
    return maven.Distribution("zookeeper", "ZooKeeper", version, "14 MB", maven.pom_of("zookeeper", jars))


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
