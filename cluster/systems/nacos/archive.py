"""What is made of Nacos' jars once, where they are fetched: the jar that starts a server, and an archive of classes.

A server takes a third of its processor time to read, check and link 15,000 classes. An archive holds them as they are
in memory then (class data sharing, https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html). It is made by a
server that starts in a network of its own, and ends once it serves. A JVM uses it for the same jars under the same
names; any other JVM goes without it.
"""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from chaos.core.errors import DeployError
from cluster.systems.nacos.files import cluster_file, properties_file

MAIN: Final = "NacosNode"
SOURCE: Final = Path(__file__).with_name(f"{MAIN}.java")
ENDED_BEFORE_IT_SERVED: Final = 75
"""The exit code of a server that could not start, and may try again."""
ARCHIVE: Final = "nacos.jsa"
LOG: Final = "archive.log"
"""What the server said that made the archive; with no archive beside it, why there is none."""
CLASS_PATH: Final = '"$(LC_ALL=C; echo lib/*.jar | tr " " :)"'
"""For a shell whose folder has the jars in ``lib``: the same names in the same order wherever the jars are."""
JVM: Final = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xss512k",
    "-XX:MaxDirectMemorySize=128m",
    "-Djava.net.preferIPv4Stack=true",
    "-Dnacos.standalone=false",
    "-DembeddedStorage=true",
    "-Dnacos.deployment.type=server",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
)
_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
_NODE_JAR: Final = "chaos-nacos-node.jar"
_COMPILE_WITHIN_S: Final = 120.0
_ARCHIVE_WITHIN_S: Final = 300.0
_ALONE: Final = ("unshare", "--map-root-user", "--net", "sh", "-c")
_SERVE_ONCE: Final = f'ip link set lo up && exec java "$@" -cp {CLASS_PATH} {MAIN}'
_ADDRESS: Final = "127.0.0.1"


def places(home: str, address: str) -> tuple[str, ...]:
    """The options that tell a server its folder and its address. Pure."""
    return (
        f"-Dnacos.home={home}",
        f"-Dnacos.logs.path={home}/logs",
        f"-Duser.home={home}",
        f"-Djava.io.tmpdir={home}/scratch",
        f"-Dnacos.server.ip={address}",
        f"-Dspring.config.additional-location=file:{home}/conf/",
    )


def finish(folder: Path) -> None:
    """Add the jar that starts a server to ``lib``, and the archive if this machine can make networks.

    Raises:
        DeployError: the source of the server's start cannot be compiled.
    """
    with tempfile.TemporaryDirectory(prefix="chaos-nacos-") as scratch:
        _compile(folder / "lib", Path(scratch))
        _archive(folder, Path(scratch))


def _compile(lib: Path, scratch: Path) -> None:
    jars = ":".join(map(str, sorted(lib.glob("*.jar"))))
    java = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars)
    options = ("-17", "-nowarn", "-proc:none", "-cp", jars, "-d", str(scratch / "classes"), str(SOURCE))
    code, said = _run((*java, _COMPILER, *options), scratch, _COMPILE_WITHIN_S)
    if code != 0:
        raise DeployError(f"{SOURCE.name} cannot be compiled: {said[-400:].decode(errors='replace')}")
    with zipfile.ZipFile(lib / _NODE_JAR, "w") as jar:
        jar.write(scratch / "classes" / f"{MAIN}.class", f"{MAIN}.class")


def _archive(folder: Path, scratch: Path) -> None:
    """Start one server that ends once it serves; it leaves the archive."""
    (scratch / "lib").symlink_to(folder.absolute() / "lib")
    for part in ("conf", "scratch"):
        (scratch / part).mkdir()
    (scratch / "conf" / "cluster.conf").write_bytes(cluster_file([_ADDRESS]))
    (scratch / "conf" / "application.properties").write_bytes(properties_file(_ADDRESS, str(scratch), {}))
    made = scratch / ARCHIVE
    once = (f"-XX:ArchiveClassesAtExit={made}", "-Xlog:cds*=error", "-Dchaos.once=true")
    command = (*_ALONE, _SERVE_ONCE, "sh", *JVM, *once, *places(str(scratch), _ADDRESS))
    code, said = _run(command, scratch, _ARCHIVE_WITHIN_S)
    (folder / LOG).write_bytes(said)
    if code == 0 and made.exists():
        (folder / ARCHIVE).write_bytes(made.read_bytes())


def _run(argv: tuple[str, ...], inside: Path, within_s: float) -> tuple[int, bytes]:
    """The exit code of a program, and what it printed; what is wrong if it cannot be run or takes too long."""
    environment = {**os.environ, "HOME": str(inside)}
    try:
        done = subprocess.run(
            argv,
            cwd=inside,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=within_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, f"{argv[0]}: {error}\n".encode()
    return done.returncode, done.stdout
