"""How a server is started. Pure.

A distribution has a main class of its own. For jars ``NacosNode`` starts the server, with the archive of its classes if
there is one (``cluster.systems.nacos.archive``).
"""

from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.nacos.archive import ARCHIVE, CLASS_PATH, ENDED_BEFORE_IT_SERVED, JVM, MAIN, places
from cluster.systems.nacos.files import cluster_file, properties_file
from cluster.systems.nacos.programs import WHOLE
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
