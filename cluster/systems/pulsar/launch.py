"""How each node is started: pure functions from settings and topology to files and command lines."""

from collections.abc import Mapping
from typing import Final

from chaos.storage.runinfo import NodeInfo, Subject
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.pulsar import settings as settings_of
from cluster.systems.pulsar.settings import (
    BOOKIE,
    BOOKIE_PORT,
    BOOKIE_WEB_PORT,
    BROKER,
    BROKER_PORT,
    CLUSTER,
    METADATA,
    WEB_PORT,
)
from cluster.systems.zookeeper.servers import CLIENT_PORT, numbers

GROUP: Final = "metadata"
"""What the servers of the metadata are called as a subject."""
_MANY: Final = 3
_PREFIXES: Final[Mapping[str, str]] = {BROKER: "b", BOOKIE: "k", METADATA: "z"}
# C1 and the serial collector: nine JVMs share a small machine.
_JVM: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xss512k",
    "-Djava.net.preferIPv4Stack=true",
    "-Dio.netty.leakDetectionLevel=disabled",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dbookkeeper.metadata.bookie.drivers=org.apache.pulsar.metadata.bookkeeper.PulsarMetadataBookieDriver",
    "-Dbookkeeper.metadata.client.drivers=org.apache.pulsar.metadata.bookkeeper.PulsarMetadataClientDriver",
    "-Dzookeeper.jmx.log4j.disable=true",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            "java.base/java.lang",
            "java.base/java.nio",
            "java.base/jdk.internal.misc",
            "java.base/jdk.internal.platform",
            "java.base/sun.net",
            "java.management/sun.management",
            "jdk.management/com.sun.management.internal",
        )
    ),
)
_MEMORY: Final[Mapping[str, tuple[str, str]]] = {
    BROKER: ("-Xmx256m", "-XX:MaxDirectMemorySize=192m"),
    BOOKIE: ("-Xmx128m", "-XX:MaxDirectMemorySize=128m"),
    METADATA: ("-Xmx128m", "-XX:MaxDirectMemorySize=64m"),
}
_MAINS: Final[Mapping[str, tuple[str, ...]]] = {
    BROKER: ("org.apache.pulsar.PulsarBrokerStarter", "--broker-conf"),
    BOOKIE: ("org.apache.bookkeeper.server.Main", "--conf"),
    METADATA: ("org.apache.zookeeper.server.quorum.QuorumPeerMain",),
}
_READY: Final[Mapping[str, str]] = {
    BROKER: "messaging service is ready",
    BOOKIE: "Started component bookie-server",
    METADATA: "binding to port",
}
SET_UP: Final = "cluster metadata is set up"
"""What the first server of the metadata prints; nobody else is started before."""
_SETUP: Final = "org.apache.pulsar.PulsarClusterMetadataSetup"
_START: Final = 'mkdir -p data && cp myid data/myid && exec "$@"'
# The first server describes the new cluster to its ensemble, once, as an operator would. Where that breaks off it is
# not tried again: what is half there would be taken for whole, and bookies find no cluster. The server ends instead.
_FIRST: Final = (
    "set -f; mkdir -p data && cp myid data/myid || exit 1; java=$1; setup=$2; shift 2; "
    "( [ -f data/set-up ] || { $java $setup && touch data/set-up; } && "
    f'echo "{SET_UP}" || kill $$ ) & exec $java "$@"'
)
_LOG: Final = b"""<Configuration status="WARN">
  <Appenders><Console name="OUT"><PatternLayout pattern="%d %-5p [%t] %c{1} - %m%n%throwable"/></Console></Appenders>
  <Loggers><Root level="info"><AppenderRef ref="OUT"/></Root></Loggers>
</Configuration>
"""


def topology(settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
    """The brokers, the bookies, and the servers of the metadata."""
    many = {BROKER: _MANY, BOOKIE: int(settings["cluster.bookies"]), METADATA: _MANY}
    return tuple(
        NodeSpec(name=f"{_PREFIXES[role]}{number}", role=role, programs=("java",))
        for role, count in many.items()
        for number in range(1, count + 1)
    )


def subject_of(key: int) -> str:
    """What a queue's topic is called as a subject."""
    return f"t{key}"


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """Each topic, which a broker owns, and the metadata."""
    by_role: dict[str, list[str]] = {}
    for spec in topology(settings):
        by_role.setdefault(spec.role, []).append(spec.name)
    brokers = tuple(by_role[BROKER])
    topics = (Subject(name=subject_of(key), nodes=brokers, keys=(key,), epoch_word="ledger") for key in range(keys))
    return (
        *topics,
        Subject(name=GROUP, kind="controller", nodes=tuple(by_role[METADATA]), keys=(), epoch_word="epoch"),
    )


def wiring(node: NodeInfo, home: str, view: ClusterView) -> dict[str, str]:
    """The lines of a node's file that say who is where."""
    ensemble = ",".join(f"{one.address}:{CLIENT_PORT}" for one in view.of_role(METADATA))
    if node.role == BROKER:
        return {
            "clusterName": CLUSTER,
            "metadataStoreUrl": f"zk:{ensemble}",
            "configurationMetadataStoreUrl": f"zk:{ensemble}",
            "bindAddress": node.address,
            "advertisedAddress": node.address,
            "brokerServicePort": str(BROKER_PORT),
            "webServicePort": str(WEB_PORT),
        }
    if node.role == BOOKIE:
        return {
            "metadataServiceUri": f"metadata-store:zk:{ensemble}",
            "advertisedAddress": node.address,
            "bookiePort": str(BOOKIE_PORT),
            "bookieId": node.name,
            "journalDirectories": f"{home}/data/journal",
            "ledgerDirectories": f"{home}/data/ledgers",
            "indexDirectories": f"{home}/data/ledgers",
            "httpServerEnabled": "true",
            "httpServerClass": "org.apache.bookkeeper.http.vertx.VertxHttpServer",
            "httpServerPort": str(BOOKIE_WEB_PORT),
        }
    own = numbers([one.name for one in view.of_role(METADATA)])
    return {
        "dataDir": f"{home}/data",
        "clientPortAddress": node.address,
        "clientPort": str(CLIENT_PORT),
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        "maxClientCnxns": "0",
        "preAllocSize": "1024",
        "standaloneEnabled": "false",
        **{f"server.{own[one.name]}": f"{one.address}:2888:3888" for one in view.of_role(METADATA)},
    }


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How ``node`` is started in ``home`` with the jars of ``artefacts``."""
    values = {**settings_of.lines(view.settings, node.role), **wiring(node, home, view)}
    text = "".join(f"{key}={value}\n" for key, value in sorted(values.items())).replace("\\", "\\\\")
    log = f"-Dlog4j.configurationFile={home}/log4j2.xml"
    java = ("java", *_JVM, log, "-cp", f"{artefacts}/lib/*")
    file = settings_of.FILES[node.role]
    command = (*_MEMORY[node.role], *_MAINS[node.role], file)
    files = {file: text.encode(), "log4j2.xml": _LOG, "data/.keep": b""}
    argv, ready = (*java[:1], *command[:2], *java[1:], *command[2:]), _READY[node.role]
    if node.role == METADATA:
        ensemble = view.of_role(METADATA)
        files["myid"] = str(numbers([one.name for one in ensemble])[node.name]).encode()
        if node == ensemble[0]:
            argv, ready = ("sh", "-c", _FIRST, "sh", " ".join(java), " ".join(_setup(view)), *command), SET_UP
        else:
            argv = ("sh", "-c", _START, "sh", *argv)
    return Launch(
        argv=argv,
        env={"HOME": home},
        files=files,
        ready_pattern=ready,
        logs=(STDOUT, file),
        data=("data",),
    )


def _setup(view: ClusterView) -> tuple[str, ...]:
    """What describes the new cluster to its ensemble."""
    store = "zk:" + ",".join(f"{one.address}:{CLIENT_PORT}" for one in view.of_role(METADATA))
    brokers = [one.address for one in view.of_role(BROKER)]
    web = ",".join(f"{address}:{WEB_PORT}" for address in brokers)
    service = ",".join(f"{address}:{BROKER_PORT}" for address in brokers)
    return (
        *("-Xmx96m", _SETUP, "--cluster", CLUSTER),
        *("--metadata-store", store, "--configuration-metadata-store", store),
        *("--web-service-url", f"http://{web}", "--broker-service-url", f"pulsar://{service}"),
    )
