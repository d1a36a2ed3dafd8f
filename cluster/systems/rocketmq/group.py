"""Who leads the replica group and who keeps up with it, in each mode: parsing, and pure readings of observations.

In controller mode the active controller says both. In the others nobody but the brokers themselves can: a classic
master knows the slaves that are connected, and the brokers of a DLedger group say each whom it follows.
"""

from collections.abc import Mapping

import msgspec

from chaos.core.client import Definite
from chaos.core.events import Observation
from chaos.core.runinfo import NodeInfo
from cluster.system import ClusterView, Leadership
from cluster.systems._shared import leadership as shared
from cluster.systems.rocketmq import config, topology
from cluster.systems.rocketmq.outcomes import said
from cluster.systems.rocketmq.protocol import Answer, Code, ProtocolError


class _Replica(msgspec.Struct):
    brokerAddress: str  # noqa: N815 - the protocol's spelling


class _ReplicasInfo(msgspec.Struct):
    masterAddress: str | None = None  # noqa: N815
    masterEpoch: int | None = None  # noqa: N815
    syncStateSetEpoch: int | None = None  # noqa: N815
    inSyncReplicas: list[_Replica] = []  # noqa: N815


class _SyncStates(msgspec.Struct):
    replicasInfoTable: dict[str, _ReplicasInfo] = {}  # noqa: N815


class _Connection(msgspec.Struct):
    addr: str
    inSync: bool  # noqa: N815


class _HaStatus(msgspec.Struct):
    haConnectionInfo: list[_Connection] = []  # noqa: N815


class Group(msgspec.Struct, frozen=True):
    """The replica group as its leading controller says it; node names, or addresses that are nobody's.

    ``master_epoch``: in which epoch it made the master one.
    """

    master: str | None = None
    sync_state_set: tuple[str, ...] | None = None
    sync_state_set_epoch: int | None = None
    master_epoch: int | None = None


def parse_group(answer: Answer, names: Mapping[str, str]) -> Group:
    """What CONTROLLER_GET_SYNC_STATE_DATA answered. ``names``: address:port → node.

    Raises:
        Definite: the controller refused (it does not lead any more).
        ProtocolError: the answer does not parse.
    """
    if answer.code != Code.SUCCESS:
        raise Definite(said(answer.code, answer.remark))
    try:
        group = msgspec.json.decode(answer.body, type=_SyncStates).replicasInfoTable.get(config.GROUP)
    except msgspec.DecodeError:
        raise ProtocolError("SyncStateSet that does not parse") from None
    if group is None:
        return Group()
    master = names.get(group.masterAddress, group.masterAddress) if group.masterAddress else None
    members = (names.get(replica.brokerAddress, replica.brokerAddress) for replica in group.inSyncReplicas)
    return Group(
        master, tuple(sorted(members)), group.syncStateSetEpoch, group.masterEpoch if master is not None else None
    )


def parse_connected(answer: Answer, brokers: tuple[NodeInfo, ...]) -> tuple[str, ...]:
    """The slaves that GET_BROKER_HA_STATUS of a classic master calls connected and near its end.

    Raises:
        Definite: the broker refused.
        ProtocolError: the answer does not parse.
    """
    if answer.code != Code.SUCCESS:
        raise Definite(said(answer.code, answer.remark))
    try:
        status = msgspec.json.decode(answer.body, type=_HaStatus)
    except msgspec.DecodeError:
        raise ProtocolError("replication status that does not parse") from None
    near = {connection.addr.rpartition(":")[0] for connection in status.haConnectionInfo if connection.inSync}
    return tuple(sorted(node.name for node in brokers if node.address in near))


def leadership(latest: Mapping[str, Observation], view: ClusterView) -> Leadership:
    """Who leads, from the latest observation of each node."""
    found = shared.leadership(latest, view)
    if topology.of(view.settings).mode == "controller" or found.master is None:
        return found
    return msgspec.structs.replace(found, sync_state_set=_followers(found.master, latest, view))


def _followers(master: str, latest: Mapping[str, Observation], view: ClusterView) -> tuple[str, ...]:
    """The master and who keeps up with it, as far as brokers say so."""
    own = latest[master].sync_state_set
    if own is not None:
        return own
    alive = (latest[node.name] for node in view.of_role("broker") if node.name in latest and latest[node.name].alive)
    return tuple(sorted(seen.node for seen in alive if seen.master == master))


def not_ready(seen: Mapping[str, Observation], view: ClusterView) -> str | None:
    """What is missing, in one line, from observations of all that must answer (brokers only without controllers)."""
    if topology.of(view.settings).mode == "controller":
        return shared.not_ready(seen, view)
    for name, observation in seen.items():
        if not observation.alive:
            return f"{name} does not answer: {observation.error}"
    masters = [name for name, observation in seen.items() if observation.role == "master"]
    if len(masters) != 1:
        return f"{len(masters)} brokers are master instead of one"
    missing = {node.name for node in view.of_role("broker")} - set(_followers(masters[0], seen, view))
    return f"not with master {masters[0]} yet: {', '.join(sorted(missing))}" if missing else None
