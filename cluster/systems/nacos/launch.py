"""How a server is started: its files and its command. Pure but for reading the source of the node.

``NacosNode.java`` starts the server; each host compiles it once, before the first start.
"""

from pathlib import Path
from typing import Final

from chaos.core.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.nacos.servers import PORT
from cluster.systems.nacos.settings import ELECTION

MAIN: Final = "NacosNode"
_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
_START: Final = (
    'lib=$1; shift; [ -d classes ] || { java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$lib/*" '
    f'{_COMPILER} -17 -nowarn -proc:none -cp "$(echo "$lib"/*.jar | tr " " :)" -d compiled {MAIN}.java && '
    'mv compiled classes; } || exit 1; exec java "$@"'
)
_JVM: Final = (
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
_PROPERTIES: Final = {
    "nacos.server.main.port": str(PORT),
    "nacos.core.auth.enabled": "false",
    "nacos.core.auth.admin.enabled": "false",
    "nacos.core.auth.console.enabled": "false",
    "nacos.core.auth.system.type": "nacos",
    "nacos.core.auth.server.identity.key": "chaos",
    "nacos.core.auth.server.identity.value": "chaos",
    "nacos.istio.mcp.server.enabled": "false",
    "management.elastic.metrics.export.enabled": "false",
    "management.influx.metrics.export.enabled": "false",
}


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this server is started in ``home`` with the jars of ``artefacts``; one that has data goes on with it."""
    properties = {
        **_PROPERTIES,
        "server.address": node.address,
        "server.tomcat.basedir": f"file:{home}",
        ELECTION: view.settings[ELECTION],
    }
    places = (
        f"-Dnacos.home={home}",
        f"-Duser.home={home}",
        f"-Djava.io.tmpdir={home}/scratch",
        f"-Dnacos.server.ip={node.address}",
        f"-Dspring.config.additional-location=file:{home}/conf/",
    )
    lib = f"{artefacts}/lib"
    return Launch(
        argv=("sh", "-c", _START, "sh", lib, *_JVM, *places, "-cp", f"{home}/classes:{lib}/*", MAIN),
        env={"HOME": home},
        files={
            "conf/cluster.conf": "".join(f"{each.address}:{PORT}\n" for each in view.nodes).encode(),
            "conf/application.properties": "".join(f"{key}={value}\n" for key, value in properties.items()).encode(),
            f"{MAIN}.java": Path(__file__).with_name(f"{MAIN}.java").read_bytes(),
            "scratch/.keep": b"",
        },
        ready_pattern="Nacos serves",
        logs=(STDOUT, "logs/nacos.log"),
        data=("data",),
    )
