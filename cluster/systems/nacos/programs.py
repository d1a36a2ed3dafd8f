"""Nacos' jars. All of it is pure but for ``version_in``.

Nacos itself publishes no server where Maven finds it. What is taken is a republication by others, pig-mesh, of
Nacos 3.1.0 with changes of their own: results are of that build, not of an official one.
"""

from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven

VERSION: Final = "3.1.0-bugfix"
HOLDS: Final = "lib with Nacos' jars and ecj, as Maven copies them"
_JAR: Final = "nacos-server-*.jar"
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>chaos</groupId><artifactId>nacos-jars</artifactId><version>1</version><packaging>pom</packaging>
<dependencyManagement><dependencies>
<dependency><groupId>org.apache.derby</groupId><artifactId>derby</artifactId><version>10.14.2.0</version></dependency>
<dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-dependencies</artifactId>
<version>3.4.9</version><type>pom</type><scope>import</scope></dependency>
</dependencies></dependencyManagement>
<dependencies><dependency><groupId>io.github.pig-mesh.nacos</groupId><artifactId>nacos-server</artifactId>
<version>{version}</version><exclusions>
<exclusion><groupId>com.alipay.sofa</groupId><artifactId>hessian</artifactId></exclusion>
<exclusion><groupId>io.micrometer</groupId><artifactId>micrometer-registry-elastic</artifactId></exclusion>
<exclusion><groupId>io.micrometer</groupId><artifactId>micrometer-registry-influx</artifactId></exclusion>
</exclusions></dependency>
<dependency><groupId>org.eclipse.jdt</groupId><artifactId>ecj</artifactId><version>3.33.0</version></dependency>
</dependencies></project>
"""
"""Derby as Nacos pins it; without an older Hessian that hides the newer one; with a compiler, which a JRE has not."""


def distribution(version: str) -> maven.Distribution:
    """The jars of the one version that can be had. Raises UsageError for any other."""
    if version != VERSION:
        raise UsageError(f"--system-version {version}: of Nacos only {VERSION} can be had, republished by pig-mesh")
    return maven.Distribution("nacos", "Nacos (pig-mesh)", version, "155 MB", _POM.format(version=version).encode())


def version_in(folder: Path) -> str:
    """The version of the jar in the folder ``lib`` of a folder. Raises UsageError: there is none."""
    before, after = _JAR.split("*")
    names = [path.name.removeprefix(before).removesuffix(after) for path in (folder / "lib").glob(_JAR)]
    if len(names) != 1:
        there = folder / "lib"
        raise UsageError(f"{len(names)} {_JAR} in {there} instead of one; name a folder that holds {HOLDS}")
    return names[0]
