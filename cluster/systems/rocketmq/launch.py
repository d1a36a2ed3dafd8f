"""How each node is started: pure functions from settings and topology to files and command lines.

Does not touch a host; ``cluster.nodes.process`` starts what is described here.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from chaos.core.errors import UsageError
from chaos.storage.runinfo import NodeInfo, Subject
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, RoleKind
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq import settings as keys
from cluster.systems.rocketmq import topology as shape
from cluster.systems.rocketmq.topology import Shape

ROLES: Final[Mapping[str, RoleKind]] = {"namesrv": "other", "controller": "controller", "broker": "replica"}

_MAINS: Final = {
    "namesrv": "org.apache.rocketmq.namesrv.NamesrvStartup",
    "controller": "org.apache.rocketmq.controller.ControllerStartup",
    "broker": "org.apache.rocketmq.broker.BrokerStartup",
}

# Serial collector and C1 only: seven JVMs share a small machine. Without the TLS options each JVM makes keys of
# its own: 40 MiB and seconds.
_JVM: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:ReservedCodeCacheSize=64m",
    "-Xss512k",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Djava.net.preferIPv4Stack=true",
    "-Dtls.server.mode=disabled",
    "-Dtls.test.mode.enable=false",
)

_PROGRAMS: Final = ("java",)


def topology(wanted: Shape) -> tuple[NodeSpec, ...]:
    """Name servers (none of their own if the controllers' processes hold them), controllers, brokers."""
    numbers = {
        "namesrv": 0 if wanted.controllers_inside else wanted.namesrvs,
        "controller": wanted.controllers,
        "broker": wanted.brokers,
    }
    return tuple(
        NodeSpec(name=f"{role[0]}{number}", role=role, programs=_PROGRAMS)
        for role, many in numbers.items()
        for number in range(1, many + 1)
    )


def subjects(settings: Mapping[str, str]) -> tuple[Subject, ...]:
    """The one replica group, and the controllers if there are any."""
    specs = topology(shape.of(settings))
    brokers, controllers = (
        tuple(spec.name for spec in specs if spec.role == role) for role in ("broker", "controller")
    )
    if not controllers:  # brokers that elect by themselves do it by DLedger, which has terms
        return (Subject(name=config.GROUP, nodes=brokers, epoch_word="term"),)
    group = Subject(name=config.GROUP, nodes=brokers)
    return group, Subject(name=config.CONTROLLERS, kind="controller", nodes=controllers)


def launch(node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
    """How ``node`` is started in ``home`` with the jars of ``artefacts``.

    Raises:
        UsageError: a role that this system does not have.
    """
    if node.role not in ROLES:
        raise UsageError(f"node {node.name}: RocketMQ has no role {node.role}; it has {', '.join(ROLES)}")
    wanted = shape.of(view.settings)
    inside = wanted.controllers_inside and node.role == "controller"
    values = keys.of_component(view.settings, node.role)
    if inside:
        values |= keys.of_component(view.settings, "namesrv")
    values |= config.wiring(node, home, view)  # last: every broker is given the master's role, and slaves are none
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
        _MAINS["namesrv" if inside else node.role],
        "-c",
        f"{home}/node.conf",
    )
    return Launch(
        argv=argv,
        env={"ROCKETMQ_HOME": home, "HOME": home},
        files={
            "node.conf": properties(values),
            "logback.xml": files(__package__).joinpath("logback.xml").read_bytes(),
            "tmp/.keep": b"",  # the JVM does not make its own temporary folder
        },
        ready_pattern="ControllerManager boot success" if inside else "boot success",
        logs=("node.conf", "node.log", "hs_err.log"),
        data=("store", "controller.properties"),
    )


def properties(values: Mapping[str, str]) -> bytes:
    """A Java properties file, sorted by key. Backslashes are doubled: the format would swallow them."""
    lines = (f"{key}={value}\n" for key, value in sorted(values.items()))
    return "".join(lines).replace("\\", "\\\\").encode()
