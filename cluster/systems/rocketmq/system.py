"""RocketMQ as the harness knows it: the plugin behind ``--system rocketmq``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chaos.core.client import Client
from chaos.core.op import POPS, F
from chaos.core.runinfo import NodeInfo, Promises
from cluster.bug import Bug
from cluster.host import NodeSpec
from cluster.system import ClusterView, Launch, Probe, RoleKind
from cluster.systems import routing
from cluster.systems.rocketmq import artefacts as jars
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq import settings as keys

_STALE: Final = (
    "no leases: a master that was replaced answers reads until it learns of it, so a strong read at an old master "
    "may miss newer messages; and the consume queue that readers see is built behind the commit log"
)
_BEHIND_THE_LOG: Final = (
    "what a group committed, and who holds or acknowledged what was popped, reaches the slaves behind the log and "
    "is no part of what the SyncStateSet has: after a failover a group may step back and be given messages again"
)
_REPEATED: Final = ("lost-commit", "redelivered-after-ack", "early-redelivery")
_REDELIVERED_WITHIN_S: Final = 30.0
"""The revive service looks at what lapsed every 1 to 3 s, for up to 10 s at a time, and its timer is a second late."""
_READABLE_AFTER_S: Final = 1.0
"""The dispatcher was seen 8 to 12 ms behind an acknowledgement; a second is far below any fault."""


class RocketMQ:
    """Apache RocketMQ 5.5.0 in controller mode: one name server, three controllers, one group of three brokers.

    Implements ``cluster.system.System``; every method but ``fetch`` is pure.
    """

    name = "rocketmq"
    version = jars.VERSION
    roles: Mapping[str, RoleKind] = config.ROLES
    # Seven JVMs that start at once starve each other: a broker elected meanwhile misses its heartbeats, is
    # replaced in an epoch that is as empty as its own, and 5.5.0 then never lets it back in (docs/findings.md).
    start_order = (("namesrv", "controller"), ("broker",))
    bugs: Mapping[str, Bug] = MappingProxyType({})
    settings_help: Mapping[str, str] = keys.CLIENT_HELP

    def resolve(self, settings: Mapping[str, str]) -> dict[str, str]:
        """See ``settings.resolve``."""
        return keys.resolve(settings)

    def settings_for(self, operations: frozenset[F]) -> Mapping[str, str]:
        """See ``settings.needed_for``."""
        return keys.needed_for(operations)

    def topology(self, settings: Mapping[str, str]) -> tuple[NodeSpec, ...]:  # noqa: ARG002 - one topology so far
        """n1, c1 to c3, b1 to b3."""
        return config.topology()

    def promises(self, settings: Mapping[str, str]) -> Promises:
        """Stale strong reads are by design; with settings that give up safety nothing is."""
        minimum = keys.min_in_sync(settings)
        if keys.unsafe(settings) is not None:
            return Promises(min_in_sync=minimum, redelivered_within_s=_REDELIVERED_WITHIN_S)
        return Promises(
            allowed={"stale-tail": _STALE, **dict.fromkeys(_REPEATED, _BEHIND_THE_LOG)},
            readable_after_s=_READABLE_AFTER_S, min_in_sync=minimum, redelivered_within_s=_REDELIVERED_WITHIN_S,
        )  # fmt: skip

    def fetch(self, say: Callable[[str], None]) -> Path:
        """See ``artefacts.fetch``."""
        return jars.fetch(say)

    def launch(self, node: NodeInfo, home: str, artefacts: str, view: ClusterView) -> Launch:
        """See ``config.launch``."""
        return config.launch(node, home, artefacts, view)

    def probe(self, view: ClusterView) -> Probe:
        """A probe of this cluster."""
        from cluster.systems.rocketmq.probe import RocketMQProbe

        return RocketMQProbe(view)

    def client(self, view: ClusterView, number: int, clients: int, seed: int) -> Client:
        """Client ``number`` of ``clients``; any other number gives one that follows the route."""
        from cluster.systems.rocketmq.client import RocketMQClient

        return RocketMQClient(view, number, clients, seed)

    def operations(self, settings: Mapping[str, str]) -> frozenset[F]:
        """Slave reads only where slaves are read on purpose, pops only where brokers can time them."""
        kinds = frozenset({F.SEND, F.POLL, F.READ, F.DRAIN, F.COMMIT, F.COMMITTED_READ})
        kinds |= frozenset(POPS) if settings["broker.timerWheelEnable"] == "true" else frozenset()
        return kinds | {F.SLAVE_READ} if keys.slaves_are_read(settings) else kinds

    def idempotent_sends(self, settings: Mapping[str, str]) -> bool:  # noqa: ARG002 - the same under all settings
        """No: brokers do not know producers' sequence numbers."""
        return False

    def pinned(self, settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        """For each client number, whether it stays on one broker."""
        return routing.is_pinned(settings["client.routing"], clients)
