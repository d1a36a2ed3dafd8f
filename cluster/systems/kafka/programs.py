"""Kafka's jars in each version. All of it is pure but for ``version_in``."""

import re
from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven
from cluster.versions import release_of

VERSION: Final = "4.3.1"
HOLDS: Final = "lib with Kafka's jars and slf4j-simple, as Maven copies them"
FIRST: Final = (3, 3)
"""The first release whose brokers need no ZooKeeper."""
_JARS: Final = re.compile(r"kafka_2\.1[23]-(?P<version>\d+\.\d+\.\d+(?:-\w+)?)\.jar")
_OUR_LOG: Final = "org.slf4j:slf4j-simple:1.7.36"
"""It writes to standard output, whatever logging a version brings along."""


def distribution(version: str) -> maven.Distribution:
    """The jars of a version; whether the registry has it is for Maven to find out.

    Raises:
        UsageError: it is no version, or too old a one.
    """
    if release_of(version, VERSION) < FIRST:
        raise UsageError(f"--system-version {version}: Kafka runs without ZooKeeper from 3.3.0 on; name a later one")
    jars = (f"org.apache.kafka:kafka_2.13:{version}", _OUR_LOG)
    return maven.Distribution("kafka", "Kafka", version, "about 50 MB", maven.pom_of("kafka", jars))


def version_in(folder: Path) -> str:
    """The version of the jars in the folder ``lib`` of a folder. Raises UsageError: there are none."""
    there = folder / "lib"
    found = [match["version"] for path in there.glob("kafka_2.*.jar") if (match := _JARS.fullmatch(path.name))]
    if len(found) != 1:
        raise UsageError(f"{len(found)} kafka_2.*.jar in {there} instead of one; name a folder that holds {HOLDS}")
    distribution(found[0])
    return found[0]
