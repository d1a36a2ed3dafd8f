"""How a server is started: its files and its command. Pure but for reading the source of the node.

A distribution has a main class of its own. For jars ``NacosNode.java`` starts the server; each host compiles it once,
before the first start.
"""

from pathlib import Path
from typing import Final

from chaos.core.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.nacos.programs import WHOLE
from cluster.systems.nacos.servers import PORT
from cluster.systems.nacos.settings import ELECTION, EXPIRES, LOADS_AGAIN, NAMESPACE, PUBLIC

MAIN: Final = "NacosNode"
_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
_START: Final = (
    f'from=$1; shift; [ -f "$from/{WHOLE}" ] && exec java "$@" -jar "$from/{WHOLE}"; lib=$from/lib; '
    '[ -d classes ] || { java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$lib/*" '
    f'{_COMPILER} -17 -nowarn -proc:none -cp "$(echo "$lib"/*.jar | tr " " :)" -d compiled {MAIN}.java && '
    f'mv compiled classes; }} || exit 1; exec java "$@" -cp "classes:$lib/*" {MAIN}'
)
_LOGS: Final = ("nacos", "alipay-jraft", "protocol-raft", "naming-server", "protocol-distro")
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
    "logging.level.com.alibaba.nacos.core.protocol.raft": "INFO",
    "server.tomcat.max-keep-alive-requests": "-1",
    "db.pool.config.connectionTimeout": "120000",
}
"""The last three: a server writes each entry of Raft to a log otherwise, closes a connection after a hundred requests,
and ends where a busy machine keeps its database waiting."""


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this server is started in ``home`` with the program in ``artefacts``; one that has data goes on with it."""
    properties = {
        **_PROPERTIES,
        "server.address": node.address,
        "server.tomcat.basedir": f"file:{home}",
        ELECTION: view.settings[ELECTION],
        EXPIRES: view.settings[EXPIRES],
        LOADS_AGAIN: view.settings[LOADS_AGAIN],
        "nacos.config.namespace.compatible.mode": "true" if view.settings[NAMESPACE] == PUBLIC else "false",
    }
    places = (
        f"-Dnacos.home={home}",
        f"-Dnacos.logs.path={home}/logs",
        f"-Duser.home={home}",
        f"-Djava.io.tmpdir={home}/scratch",
        f"-Dnacos.server.ip={node.address}",
        f"-Dspring.config.additional-location=file:{home}/conf/",
    )
    return Launch(
        argv=("sh", "-c", _START, "sh", artefacts, *_JVM, *places),
        env={"HOME": home},
        files={
            "conf/cluster.conf": "".join(f"{each.address}:{PORT}\n" for each in view.nodes).encode(),
            "conf/application.properties": "".join(f"{key}={value}\n" for key, value in properties.items()).encode(),
            f"{MAIN}.java": Path(__file__).with_name(f"{MAIN}.java").read_bytes(),
            "scratch/.keep": b"",
        },
        ready_pattern="Nacos Server API started successfully",
        logs=(STDOUT, *(f"logs/{name}.log" for name in _LOGS)),
        data=("data",),
    )
