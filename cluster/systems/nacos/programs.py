"""Nacos' program: jars that can be had, or a distribution of its own.

Nacos itself publishes no server where Maven finds it. What is taken is a republication by others, pig-mesh, of
Nacos 3.1.0 with changes of their own: results are of that build, not of an official one. A distribution of Nacos is one
jar that holds the others.
"""

import hashlib
import re
import zipfile
from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven
from cluster.systems.nacos.archive import SOURCE, finish

VERSION: Final = "3.1.0-bugfix"
WHOLE: Final = "target/nacos-server.jar"
"""The jar of a distribution."""
HOLDS: Final = f"{WHOLE}, as Nacos' distribution unpacks to"
_JAR: Final = re.compile(r"BOOT-INF/lib/nacos-core-(\d[\w.-]*)\.jar")
"""The part of Nacos that says its version, in the jar that holds it."""
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>chaos</groupId><artifactId>nacos-jars</artifactId><version>1</version><packaging>pom</packaging>
<description>{made}</description>
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
"""Derby as Nacos pins it; without an older Hessian that hides the newer one; with a compiler, which a JRE has not.

``made``: what else decides what is made of the jars, so that another source has another folder in the cache."""


def distribution(version: str) -> maven.Distribution:
    """The jars of the one version that can be had. Raises UsageError for any other."""
    if version != VERSION:
        raise UsageError(
            f"--system-version {version}: of Nacos only {VERSION} can be had, republished by pig-mesh; "
            "name the folder of a distribution with --artifacts"
        )
    made = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    pom = _POM.format(version=version, made=made).encode()
    return maven.Distribution("nacos", "Nacos (pig-mesh)", version, "163 MB", pom, finish)


def version_in(folder: Path) -> str:
    """The version of a distribution. Raises UsageError: there is none."""
    whole = folder / WHOLE
    try:
        names = zipfile.ZipFile(whole).namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{whole} cannot be read: {error}; name a folder that holds {HOLDS}") from None
    found = [match[1] for name in names if (match := _JAR.fullmatch(name))]
    if len(found) != 1:
        raise UsageError(f"{len(found)} nacos-core-*.jar in {whole} instead of one; name a folder that holds {HOLDS}")
    return found[0]
