"""How a node is started: its files and its command. Pure but for reading the node's source.

DLedger is a library. ``DLedgerNode.java`` makes a node of it; each host compiles it once, before the first start.
"""

from pathlib import Path
from typing import Final

from chaos.storage.runinfo import NodeInfo
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.dledger import settings as settings_of
from cluster.systems.dledger.settings import GROUP

PORT: Final = 20911
OBSERVER_PORT: Final = 20912
MAIN: Final = "DLedgerNode"
FILE: Final = "dledger.properties"
_JVM: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xss512k",
    "-Djava.net.preferIPv4Stack=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
)
"""Early versions free memory in ways that Java closed since."""
_NODE: Final = (
    "-Xmx128m",
    "-Dsun.net.httpserver.nodelay=true",
    "-XX:MaxDirectMemorySize=128m",
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
    "-Dorg.slf4j.simpleLogger.log.io.openmessaging.storage.dledger.DLedgerEntryPusher=warn",
)
"""The pusher would log every entry."""
_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
_START: Final = (
    'java=$1 lib=$2; shift 2; [ -d classes ] || { $java -cp "$lib/*" '
    f'{_COMPILER} -17 -nowarn -proc:none -cp "$(echo "$lib"/*.jar | tr " " :)" -d compiled {MAIN}.java && '
    'mv compiled classes; } || exit 1; exec $java "$@"'
)


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How this node is started in ``home`` with the jars of ``artefacts``; one that has data goes on with it."""
    peers = ";".join(f"{each.name}-{each.address}:{PORT}" for each in view.nodes)
    wiring = {"group": GROUP, "selfId": node.name, "peers": peers, "storeBaseDir": f"{home}/data"}
    text = "".join(f"{name}={value}\n" for name, value in {**settings_of.fields(view.settings), **wiring}.items())
    lib = f"{artefacts}/lib"
    node_command = (*_NODE, f"-Duser.home={home}", "-cp", f"{home}/classes:{lib}/*", MAIN)
    arguments = (FILE, node.address, str(OBSERVER_PORT))
    return Launch(
        argv=("sh", "-c", _START, "sh", " ".join(("java", *_JVM)), lib, *node_command, *arguments),
        env={"HOME": home},
        files={
            FILE: text.replace("\\", "\\\\").encode(),
            f"{MAIN}.java": Path(__file__).with_name(f"{MAIN}.java").read_bytes(),
            "data/.keep": b"",
        },
        ready_pattern="DLedger serves",
        logs=(STDOUT, FILE),
        data=("data",),
    )
