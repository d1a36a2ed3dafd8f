"""What systems share whose program is a folder of jars: any version that Maven has, or somebody's own build."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from cluster.needs import Need
from cluster.systems._shared import maven


class Jars(NamedTuple):
    """Where the jars come from.

    ``version``: the one that is taken unless somebody asks for another. ``distribution``: that of a version; raises
    UsageError for one that is none. ``version_in``: the version of the jars in a folder; raises UsageError.
    """

    version: str
    distribution: Callable[[str], maven.Distribution]
    version_in: Callable[[Path], str]


class OfJars:
    """The part of a system that gets its program; implements ``HasVersions`` and ``TakesBuilds``.

    Args:
        version: of the program.
        build: the folder of somebody's own build of it.
    """

    jars: ClassVar[Jars]

    def __init__(self, version: str = "", build: Path | None = None) -> None:
        self.version = version or self.jars.version
        self._build = build

    def at(self, version: str) -> Self:
        """Another version. Raises UsageError: there is none such for certain."""
        return type(self)(self.jars.distribution(version).version)

    def built(self, folder: Path) -> Self:
        """The build in a folder, whose jars say its version. Raises UsageError."""
        return type(self)(self.jars.version_in(folder), folder)

    def fetch(self, say: Callable[[str], None]) -> Path:
        """The folder that holds the jars: somebody's own, or as Maven fetches them."""
        return self._build if self._build is not None else maven.fetch(self.jars.distribution(self.version), say)

    def needs(self) -> Need:
        """A Java, and the jars or a Maven to fetch them."""
        return maven.needs(self.jars.distribution(self.version))
