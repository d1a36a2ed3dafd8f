"""How a server is started: its files and its command. Pure.

A distribution has a main class of its own. For jars ``NacosNode`` starts the server, with the archive of its classes if
there is one (``cluster.systems.nacos.archive``).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.nacos.archive import ARCHIVE, CLASS_PATH, ENDED_BEFORE_IT_SERVED, JVM, MAIN, places
from cluster.systems.nacos.programs import WHOLE
from cluster.systems.nacos.servers import PORT
from cluster.systems.nacos.settings import ELECTION, EXPIRES, LOADS_AGAIN, NAMESPACE, PUBLIC

_STARTS: Final = 4
_START: Final = (
    f'from=$1; shift; [ -f "$from/{WHOLE}" ] && exec java "$@" -jar "$from/{WHOLE}"; ln -sfn "$from/lib" lib; '
    f'[ -f "$from/{ARCHIVE}" ] && set -- "-XX:SharedArchiveFile=$from/{ARCHIVE}" "$@"; n=1; '
    f'until java "$@" -cp {CLASS_PATH} {MAIN}; code=$?; [ $code != {ENDED_BEFORE_IT_SERVED} ] || [ $n = {_STARTS} ]; '
    f'do n=$((n + 1)); echo "chaos: Nacos ended before it served; start $n of {_STARTS}"; done; exit $code'
)
"""A server ends itself where it cannot read the configuration as it starts: a late peer is enough. Then it starts
again, as it would under a supervisor. Once it has served, its end is its end."""
_LOGS: Final = ("nacos", "alipay-jraft", "protocol-raft", "naming-server", "protocol-distro")
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


def cluster_file(addresses: Iterable[str]) -> bytes:
    """The servers of a cluster, as Nacos reads them."""
    return "".join(f"{address}:{PORT}\n" for address in addresses).encode()


def properties_file(address: str, home: str, more: Mapping[str, str]) -> bytes:
    """The properties of the server at an address."""
    properties = {**_PROPERTIES, "server.address": address, "server.tomcat.basedir": f"file:{home}", **more}
    return "".join(f"{key}={value}\n" for key, value in properties.items()).encode()


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this server is started in ``home`` with the program in ``artefacts``; one that has data goes on with it."""
    chosen = {
        **{name: view.settings[name] for name in (ELECTION, EXPIRES, LOADS_AGAIN)},
        "nacos.config.namespace.compatible.mode": "true" if view.settings[NAMESPACE] == PUBLIC else "false",
    }
    return Launch(
        argv=("sh", "-c", _START, "sh", artefacts, *JVM, *places(home, node.address)),
        env={"HOME": home},
        files={
            "conf/cluster.conf": cluster_file(each.address for each in view.nodes),
            "conf/application.properties": properties_file(node.address, home, chosen),
            "scratch/.keep": b"",
        },
        ready_pattern="Nacos Server API started successfully",
        logs=(STDOUT, *(f"logs/{name}.log" for name in _LOGS)),
        data=("data",),
    )
