"""Who leads the replica group and who keeps up with it, in each mode: parsing.

In controller mode the active controller says both. In the others nobody but the brokers themselves can: a classic
master knows the slaves that are connected, and the brokers of a DLedger group say each whom it follows.
"""

from collections.abc import Mapping

import msgspec

from chaos.storage.runinfo import NodeInfo
from cluster.systems.rocketmq import config
from cluster.systems.rocketmq.outcomes import require_success
from cluster.systems.rocketmq.protocol import Answer, ProtocolError


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
    require_success(answer)
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
    require_success(answer)
    try:
        status = msgspec.json.decode(answer.body, type=_HaStatus)
    except msgspec.DecodeError:
        raise ProtocolError("replication status that does not parse") from None
    near = {connection.addr.rpartition(":")[0] for connection in status.haConnectionInfo if connection.inSync}
    return tuple(sorted(node.name for node in brokers if node.address in near))
