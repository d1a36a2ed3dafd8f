"""How each node is started: pure functions from settings and topology to files and command lines.

The module refuses to touch a host; ``cluster.process`` starts what is described here.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Final

from chaos.core.errors import UsageError
from chaos.core.runinfo import NodeInfo
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, RoleKind
from cluster.systems.rocketmq import settings as keys

ROLES: Final[Mapping[str, RoleKind]] = {"namesrv": "other", "controller": "controller", "broker": "replica"}
NAMESRV_PORT: Final = 9876
CONTROLLER_PORT: Final = 9877
BROKER_PORT: Final = 10911
HA_PORT: Final = 10912
GROUP: Final = "g0"
"""Name of the one replica group (RocketMQ's ``brokerName``)."""
CONTROLLER_GROUP: Final = "controllers"
TOPIC: Final = "chaos"

PORTS: Final[Mapping[str, int]] = {"namesrv": NAMESRV_PORT, "controller": CONTROLLER_PORT, "broker": BROKER_PORT}

_MAINS: Final = {
    "namesrv": "org.apache.rocketmq.namesrv.NamesrvStartup",
    "controller": "org.apache.rocketmq.controller.ControllerStartup",
    "broker": "org.apache.rocketmq.broker.BrokerStartup",
}

# Serial collector and C1 only: seven JVMs share a small machine. Without the TLS options each JVM makes keys of
# its own: 40 MiB and seconds.
_JVM: Final = (
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-XX:-OmitStackTraceInFastThrow",
    "-XX:+ExitOnOutOfMemoryError", "-XX:ReservedCodeCacheSize=64m", "-Xss512k",
    "--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Djava.net.preferIPv4Stack=true", "-Dtls.server.mode=disabled", "-Dtls.test.mode.enable=false",
)  # fmt: skip

_PROGRAMS: Final = ("java",)


def topology() -> tuple[NodeSpec, ...]:
    """One name server, three controllers, three brokers."""
    return (
        NodeSpec(name="n1", role="namesrv", programs=_PROGRAMS),
        *(NodeSpec(name=f"c{number}", role="controller", programs=_PROGRAMS) for number in (1, 2, 3)),
        *(NodeSpec(name=f"b{number}", role="broker", programs=_PROGRAMS) for number in (1, 2, 3)),
    )


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How ``node`` is started in ``home`` with the jars of ``artefacts``.

    Raises:
        UsageError: a role that this system does not have.
    """
    if node.role not in ROLES:
        raise UsageError(f"node {node.name}: RocketMQ has no role {node.role}; it has {', '.join(ROLES)}")
    argv = (
        "java",
        *_JVM,
        *keys.jvm_options(view.settings, node.role),
        f"-XX:ErrorFile={home}/hs_err.log",
        f"-Djava.library.path={artefacts}/native",
        f"-Drocketmq.home.dir={home}",
        f"-Duser.home={home}",
        f"-Djava.io.tmpdir={home}/tmp",  # noqa: S108 - in the node's own home
        f"-Drmq.logback.configurationFile={home}/logback.xml",
        "-cp",
        f"{artefacts}/lib/*",
        _MAINS[node.role],
        "-c",
        f"{home}/node.conf",
    )
    return Launch(
        argv=argv,
        env={"ROCKETMQ_HOME": home, "HOME": home},
        files={
            "node.conf": properties(_wiring(node, home, view) | keys.of_component(view.settings, node.role)),
            "logback.xml": files(__package__).joinpath("logback.xml").read_bytes(),
            "tmp/.keep": b"",  # the JVM does not make its own temporary folder
        },
        ready_pattern="boot success",
        logs=("node.conf", "node.log", "hs_err.log"),
        data=("store", "controller.properties"),
    )


def properties(values: Mapping[str, str]) -> bytes:
    """A Java properties file, sorted by key. Backslashes are doubled: the format would swallow them."""
    lines = (f"{key}={value}\n" for key, value in sorted(values.items()))
    return "".join(lines).replace("\\", "\\\\").encode()


def addresses(view: ClusterView, role: str) -> list[str]:
    """``address:port`` of every node of a role, in order."""
    return [f"{node.address}:{PORTS[role]}" for node in view.of_role(role)]


def _wiring(node: NodeInfo, home: str, view: ClusterView) -> dict[str, str]:
    """What ties a node to its address, its folder and the others."""
    if node.role == "namesrv":
        return {"bindAddress": node.address, "listenPort": str(NAMESRV_PORT)}
    if node.role == "controller":
        return _controller(node, home, view.of_role("controller"))
    return {
        "bindAddress": node.address,
        "brokerClusterName": "chaos-cluster",  # every cluster's name is a topic of its own: not TOPIC
        "brokerIP1": node.address,
        "brokerIP2": node.address,
        "brokerId": "-1",  # the controller gives it one
        "brokerName": GROUP,
        "brokerRole": "SLAVE",
        "controllerAddr": ";".join(addresses(view, "controller")),
        "enableControllerMode": "true",
        "haListenPort": str(HA_PORT),
        "listenPort": str(BROKER_PORT),
        "namesrvAddr": ";".join(addresses(view, "namesrv")),
        "storePathCommitLog": f"{home}/store/commitlog",
        "storePathRootDir": f"{home}/store",
    }


def _controller(node: NodeInfo, home: str, controllers: Sequence[NodeInfo]) -> dict[str, str]:
    # Peer ids must not contain a dash: it separates id and address.
    peers = ";".join(f"{peer.name}-{peer.address}:{CONTROLLER_PORT}" for peer in controllers)
    return {
        "bindAddress": node.address,
        "configStorePath": f"{home}/controller.properties",
        "controllerDLegerGroup": CONTROLLER_GROUP,
        "controllerDLegerPeers": peers,
        "controllerDLegerSelfId": node.name,
        "controllerStorePath": f"{home}/store",
        "controllerType": "DLedger",
    }
