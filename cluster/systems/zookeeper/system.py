"""ZooKeeper as the harness knows it: the plugin behind ``--system zookeeper``."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.op import Word
from chaos.models.coordination import lease, lock, semaphore, unique_ids, watch
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.queues import total_queue
from chaos.models.transactions import bank
from chaos.models.transactions import words as transactions
from chaos.storage.runinfo import NodeInfo, Promises, Subject
from cluster.host import NodeSpec
from cluster.nodes.process import STDOUT
from cluster.system import ClusterView, Launch, Probe, ReplicaReader, RoleKind
from cluster.systems._shared import routing
from cluster.systems._shared.of_jars import Jars, OfJars
from cluster.systems.zookeeper import programs
from cluster.systems.zookeeper import settings as settings_of
from cluster.systems.zookeeper.servers import CLIENT_PORT, NO_SESSION, numbers
from cluster.systems.zookeeper.settings import GROUP, LINES, OBSERVER, SWITCHES, VOTER
from cluster.systems.zookeeper.trials import TRIALS
from cluster.trial import Trial
from cluster.versions import release_of

_WORDS: Final[Mapping[str, type[Word]]] = MappingProxyType(
    {
        register.MODEL: register.F,
        sets.MODEL: sets.F,
        counter.MODEL: counter.F,
        unique_ids.MODEL: unique_ids.F,
        lock.MODEL: lock.F,
        semaphore.MODEL: semaphore.F,
        lease.MODEL: lease.F,
        total_queue.MODEL: total_queue.F,
        transactions.MODEL: transactions.F,
        bank.MODEL: bank.F,
    }
)
_WATCHING: Final[frozenset[Word]] = frozenset({watch.F.PUT, watch.F.FOLLOW})
"""No watch begins at a revision, and the changes of a multi come in one message each."""
FIRST_TO_NAME_TRANSACTIONS: Final = (3, 9)
"""The first release whose events say by which transaction a node was changed."""
_JVM: Final = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xss256k",
    "-Djava.net.preferIPv4Stack=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
)
_LOGBACK: Final = b"""<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d [%thread] %-5level %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"""
_LOG4J: Final = b"""log4j.rootLogger=INFO, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} [%t] %-5p %c{1} - %m%n
"""
"""For builds that log as ZooKeeper's distributions do: by log4j before 3.8, by logback since."""
_START: Final = 'mkdir -p data && cp myid data/myid && exec "$@"'


class ZooKeeper(OfJars):
    """ZooKeeper, 3.9 or another version: three or five voters, and observers.

    Implements ``cluster.system.System``, ``cluster.versions.HasVersions`` and ``TakesBuilds``; only ``fetch`` and
    ``built`` are not pure.
    """

    name = "zookeeper"
    help = "ZooKeeper (3.9 or another version): three or five voters, and observers if asked for"
    refusals = (NO_SESSION,)
    other_versions = "3.5.5 and later, by Maven; needs Java"
    build_holds = programs.HOLDS
    jars = Jars(programs.VERSION, programs.distribution, programs.version_in)
    roles: Mapping[str, RoleKind] = MappingProxyType({VOTER: "replica", OBSERVER: "replica"})
    workload = "register"
    trials: Sequence[Trial] = TRIALS
    start_order = ((VOTER, OBSERVER),)
    settings_help: Mapping[str, str] = settings_of.HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """All settings, checked, with the defaults filled in. Raises UsageError."""
        return settings_of.resolve(settings)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:
        """The voters, then the observers."""
        many = {VOTER: int(settings["cluster.voters"]), OBSERVER: int(settings["cluster.observers"])}
        return tuple(
            NodeSpec(name=f"{'z' if role == VOTER else 'o'}{number}", role=role, programs=("java",))
            for role, count in many.items()
            for number in range(1, count + 1)
        )

    def subjects(self, settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:  # noqa: ARG002 - one ensemble
        """The one ensemble, which serves every key."""
        return (Subject(name=GROUP, nodes=tuple(spec.name for spec in self.topology(settings))),)

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """See ``settings.promises``."""
        return settings_of.promises(settings)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """A server knows the others from its file, and itself from ``myid``."""
        number = numbers([each.name for each in view.nodes])
        peers = [
            f"server.{number[each.name]}={each.address}:2888:3888{':observer' if each.role == OBSERVER else ''}"
            for each in view.nodes
        ]
        lines = [
            f"dataDir={home}/data",
            f"clientPortAddress={node.address}",
            f"clientPort={CLIENT_PORT}",
            "admin.enableServer=false",
            "4lw.commands.whitelist=*",
            "maxClientCnxns=0",
            "maxSessionTimeout=60000",
            "preAllocSize=1024",
            "standaloneEnabled=false",
            *(["peerType=observer"] if node.role == OBSERVER else []),
            *(f"{name}={view.settings[name]}" for name in LINES),
            *peers,
        ]
        switches = tuple(f"-Dzookeeper.{name}={view.settings[name]}" for name in SWITCHES)
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = ("java", *_JVM, *switches, "-cp", f"{home}:{artefacts}/lib/*", main, "zoo.cfg")
        return Launch(
            argv=("sh", "-c", _START, "sh", *command),
            env={"HOME": home},
            files={
                "zoo.cfg": "".join(f"{line}\n" for line in lines).encode(),
                "myid": str(number[node.name]).encode(),
                "logback.xml": _LOGBACK,
                "log4j.properties": _LOG4J,
            },
            ready_pattern="binding to port",
            logs=(STDOUT,),
            data=("data",),
        )

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.zookeeper.probe import ZooKeeperProbe

        return ZooKeeperProbe(view)

    def replica_reader(self, view: ClusterView) -> ReplicaReader:
        """A reader of what each server itself holds."""
        from cluster.systems.zookeeper.replicas import ZooKeeperReplicas

        return ZooKeeperReplicas(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the leader."""
        from cluster.systems.zookeeper.client import ZooKeeperClient

        return ZooKeeperClient(view, number, clients, seed)

    def operations(self, model: str, settings: Mapping[str, str]) -> frozenset[Word]:  # noqa: ARG002 - under all
        """All words of every model that clients know; of watches none before the release that names transactions."""
        if model == watch.MODEL:
            return (
                _WATCHING if release_of(self.version, programs.VERSION) >= FIRST_TO_NAME_TRANSACTIONS else frozenset()
            )
        return frozenset(_WORDS.get(model, ()))

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one server."""
        return routing.is_pinned(settings["client.routing"], clients)
