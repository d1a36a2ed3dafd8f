"""What the harness sets where the user does not, by the mode of the cluster: data, and nothing else.

Safe replication, timers of failover that fit runs of minutes (stock values in comments), and what keeps a node small.
"""

from typing import Final

from cluster.systems.rocketmq.topology import Shape

_CLIENT_DEFAULTS: Final = {"client.routePollInterval": "1", "client.routing": "mixed"}

JVM_DEFAULTS: Final = {
    "jvm.namesrv.Xms": "16m",
    "jvm.namesrv.Xmx": "32m",
    "jvm.controller.Xms": "16m",
    "jvm.controller.Xmx": "48m",
    "jvm.broker.Xms": "32m",
    "jvm.broker.Xmx": "96m",
    "jvm.broker.MaxDirectMemorySize": "192m",
}

_BROKER_DEFAULTS: Final = {
    "flushDiskType": "ASYNC_FLUSH",
    "autoCreateTopicEnable": "false",
    "registerNameServerPeriod": "10000",  # 30000
    "brokerFastFailureEnable": "false",
    "maxTransferCountOnMessageInMemory": "1024",  # 32; a drain reads whole queues
    "maxTransferBytesOnMessageInMemory": "1048576",  # 262144
    "mappedFileSizeCommitLog": "16777216",
    "mappedFileSizeConsumeQueue": "400000",
    "mappedFileSizeTimerLog": "1048576",
    "maxHashSlotNum": "10000",
    "maxIndexNum": "40000",
    "messageIndexEnable": "false",
    "timerWheelEnable": "false",
    "enableCompaction": "false",
    "traceTopicEnable": "false",
    "diskMaxUsedSpaceRatio": "99",
    "deleteWhen": "04",
    "fileReservedTime": "48",
}

_IN_CONTROLLER_MODE: Final = {
    "allAckInSyncStateSet": "true",
    "minInSyncReplicas": "1",
    "controllerHeartBeatTimeoutMills": "3000",  # 10000
    "haMaxTimeSlaveNotCatchup": "3000",  # 15000
    "haSendHeartbeatInterval": "1000",  # 5000; below it the SyncStateSet of an idle group flaps
    "slaveTimeout": "3000",
    "syncControllerMetadataPeriod": "1000",  # 10000
    "syncBrokerMetadataPeriod": "1000",  # 5000
    "checkSyncStateSetPeriod": "1000",  # 5000
}

# Stock is 1, and a synchronous master then waits for nobody: the master itself is the one.
_IN_MASTER_SLAVE_MODE: Final = {
    "brokerRole": "SYNC_MASTER",
    "inSyncReplicas": "2",
    "slaveTimeout": "3000",
}

# A DLedger log is padded at the end of each file and keeps an index beside it: one file for a run of minutes.
_IN_DLEDGER_MODE: Final = {"mappedFileSizeCommitLog": "67108864"}

_CONTROLLER_DEFAULTS: Final = {
    "enableElectUncleanMaster": "false",
    "scanNotActiveBrokerInterval": "1000",  # 5000
    "scanInactiveMasterInterval": "1000",  # 5000
    "mappedFileSize": "4194304",
}


TIMERS: Final = (
    "broker.registerNameServerPeriod",
    "broker.controllerHeartBeatTimeoutMills",
    "broker.haMaxTimeSlaveNotCatchup",
    "broker.haSendHeartbeatInterval",
    "broker.slaveTimeout",
    "broker.syncControllerMetadataPeriod",
    "broker.syncBrokerMetadataPeriod",
    "broker.checkSyncStateSetPeriod",
    "controller.scanNotActiveBrokerInterval",
    "controller.scanInactiveMasterInterval",
)
"""With the defaults of these the margin of ``no-progress`` was measured."""


def of(shape: Shape) -> dict[str, str]:
    """Every setting of RocketMQ's that is not left to RocketMQ, by its full name."""
    replication = {
        "controller": _IN_CONTROLLER_MODE,
        "master-slave": _IN_MASTER_SLAVE_MODE,
        "dledger": _IN_DLEDGER_MODE,
    }[shape.mode]
    broker = {**_BROKER_DEFAULTS, "totalReplicas": str(shape.brokers), **replication}
    controller = _CONTROLLER_DEFAULTS if shape.controllers else {}
    return {
        **_CLIENT_DEFAULTS,
        **{f"broker.{key}": value for key, value in broker.items()},
        **{f"controller.{key}": value for key, value in controller.items()},
        **{name: value for name, value in JVM_DEFAULTS.items() if shape.controllers or ".controller." not in name},
    }
