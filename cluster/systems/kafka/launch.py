"""How each node is started: pure functions from settings and topology to files and command lines."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Final

from chaos.storage.runinfo import NodeInfo, Subject
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch
from cluster.systems.kafka import settings as settings_of
from cluster.systems.kafka.servers import BROKER_PORT, CONTROLLER_PORT, controllers_of, number_of, replicas_of
from cluster.systems.kafka.settings import BROKER, COMBINED, CONTROLLER

CONTROLLERS: Final = "controllers"
"""What the controllers are called as a subject."""
_MANY: Final = 3
# C1 and the serial collector: six JVMs share a small machine.
_JVM: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xss512k",
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
)
_HEAPS: Final[Mapping[str, str]] = {BROKER: "-Xmx256m", CONTROLLER: "-Xmx128m"}
_FILE: Final = "server.properties"
# A data folder is formatted once: it gets the cluster's name and the features that this version begins with.
_START: Final = (
    'cluster=$1; shift; [ -f data/meta.properties ] || "$@" kafka.tools.StorageTool format -t "$cluster" '
    f'-c {_FILE} || exit 1; exec "$@" kafka.Kafka {_FILE}'
)


def topology(settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
    """The brokers, then the controllers where they are nodes of their own."""
    roles = (BROKER,) if settings["cluster.mode"] == COMBINED else (BROKER, CONTROLLER)
    return tuple(
        NodeSpec(name=f"{role[0]}{number}", role=role, programs=("java",))
        for role in roles
        for number in range(1, _MANY + 1)
    )


def subject_of(key: int) -> str:
    """What a partition is called as a subject."""
    return f"p{key}"


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """Each partition, and the controllers."""
    by_role: dict[str, list[str]] = {}
    for spec in topology(settings):
        by_role.setdefault(spec.role, []).append(spec.name)
    brokers = by_role[BROKER]
    partitions = (Subject(name=subject_of(key), nodes=replicas_of(brokers, key), keys=(key,)) for key in range(keys))
    controllers = by_role.get(CONTROLLER, brokers)
    return (
        *partitions,
        Subject(name=CONTROLLERS, kind="controller", nodes=tuple(controllers), keys=(), epoch_word="epoch"),
    )


def cluster_id(view: ClusterView) -> str:
    """The name of the cluster: sixteen bytes, as Kafka writes them."""
    return base64.urlsafe_b64encode(hashlib.sha256(view.mark.encode()).digest()[:16]).decode().rstrip("=")


def wiring(node: NodeInfo, home: str, view: ClusterView) -> dict[str, str]:
    """The lines of server.properties that say who is where."""
    controllers = controllers_of(view)
    roles = [role for role, own in ((BROKER, node.role == BROKER), (CONTROLLER, node in controllers)) if own]
    ports = {BROKER: BROKER_PORT, CONTROLLER: CONTROLLER_PORT}
    out = {
        "process.roles": ",".join(roles),
        "node.id": str(number_of(node.name)),
        "controller.quorum.voters": ",".join(
            f"{number_of(one.name)}@{one.address}:{CONTROLLER_PORT}" for one in controllers
        ),
        "listeners": ",".join(f"{role.upper()}://{node.address}:{ports[role]}" for role in roles),
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": f"{home}/data",
    }
    if BROKER in roles:
        out |= {
            "inter.broker.listener.name": "BROKER",
            "advertised.listeners": f"BROKER://{node.address}:{BROKER_PORT}",
        }
    return out


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How ``node`` is started in ``home`` with the jars of ``artefacts``."""
    values = {**settings_of.lines(view.settings), **wiring(node, home, view)}
    text = "".join(f"{key}={value}\n" for key, value in sorted(values.items())).replace("\\", "\\\\")
    java = ("java", _HEAPS[node.role], *_JVM, "-cp", f"{artefacts}/lib/*")
    return Launch(
        argv=("sh", "-c", _START, "sh", cluster_id(view), *java),
        env={"HOME": home},
        files={_FILE: text.encode(), "data/.keep": b""},
        ready_pattern="Kafka Server started",
        logs=(STDOUT, _FILE),
        data=("data",),
    )
