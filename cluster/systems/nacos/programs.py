"""Nacos' program: jars that can be had, or a distribution of its own. All of it is pure but for ``version_in``.

Nacos itself publishes no server where Maven finds it. What is taken is a republication by others, pig-mesh, of
Nacos 3.1.0 with changes of their own: results are of that build, not of an official one. A distribution of Nacos is one
jar that holds the others.
"""

import re
import zipfile
from pathlib import Path
from typing import Final

from chaos.core.errors import UsageError
from cluster.systems._shared import maven

VERSION: Final = "3.1.0-bugfix"
WHOLE: Final = "target/nacos-server.jar"
"""The jar of a distribution."""
HOLDS: Final = f"{WHOLE}, as Nacos' distribution unpacks to, or lib with Nacos' jars and ecj, as Maven copies them"
_JAR: Final = re.compile(r"(?:BOOT-INF/lib/)?nacos-core-(\d[\w.-]*)\.jar")
"""The part of Nacos that says its version, among jars or in the one that holds them."""
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
        raise UsageError(
            f"--system-version {version}: of Nacos only {VERSION} can be had, republished by pig-mesh; "
            "name the folder of a distribution with --artifacts"
        )
    return maven.Distribution("nacos", "Nacos (pig-mesh)", version, "163 MB", _POM.format(version=version).encode())


def version_in(folder: Path) -> str:
    """The version of a distribution, or of the jars in the folder ``lib``. Raises UsageError: there are none."""
    whole = folder / WHOLE
    try:
        names = zipfile.ZipFile(whole).namelist() if whole.exists() else [path.name for path in folder.glob("lib/*")]
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{whole} cannot be read: {error}") from None
    found = [match[1] for name in names if (match := _JAR.fullmatch(name))]
    if len(found) != 1:
        raise UsageError(f"{len(found)} nacos-core-*.jar in {folder} instead of one; name a folder that holds {HOLDS}")
    return found[0]
