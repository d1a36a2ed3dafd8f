"""What is promised per mode and settings: unsafe settings promise less, and no setting excuses a loss."""

import pytest
from rocketmq_view import SYSTEM

from checkers.anomalies.catalogue import kind_of
from cluster.systems.rocketmq import promises


def resolved(**given):
    return SYSTEM.resolve({name.replace("__", "."): value for name, value in given.items()})


SAFE = [
    {},
    {"minInSyncReplicas": "2"},
    {"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"},
    {"cluster__controllerType": "jRaft"},
    {"cluster__controllerIn": "namesrv"},
    {"cluster__mode": "master-slave"},
    {"cluster__mode": "master-slave", "brokerRole": "ASYNC_MASTER"},
    {"cluster__mode": "master-slave", "allAckInSyncStateSet": "false"},
    {"cluster__mode": "dledger"},
    {"cluster__mode": "dledger", "transientStorePoolEnable": "true"},
]
UNSAFE = [
    ({"allAckInSyncStateSet": "false"}, "broker.allAckInSyncStateSet=false"),
    ({"enableElectUncleanMaster": "true"}, "controller.enableElectUncleanMaster=true"),
    ({"transientStorePoolEnable": "true"}, "broker.transientStorePoolEnable=true"),
    ({"cluster__controllerType": "jRaft", "allAckInSyncStateSet": "false"}, "broker.allAckInSyncStateSet=false"),
    ({"cluster__mode": "master-slave", "transientStorePoolEnable": "true"}, "broker.transientStorePoolEnable=true"),
]


@pytest.mark.parametrize("given", SAFE)
def test_safe(given):
    settings = resolved(**given)
    assert promises.unsafe_setting(settings) is None
    made = SYSTEM.promises(settings)
    assert set(made.allowed) == {
        "stale-tail",
        "duplicate",
        "lost-commit",
        "redelivered-after-ack",
        "early-redelivery",
    }
    assert made.twice == ("schedule", "transact")  # no ordinary send is ever excused
    assert all(made.allowed.values())
    assert made.readable_after_s == promises.READABLE_AFTER_S


@pytest.mark.parametrize(("given", "named"), UNSAFE)
def test_unsafe_settings_excuse_nothing(given, named):
    settings = resolved(**given)
    assert promises.unsafe_setting(settings) == named
    made = SYSTEM.promises(settings)
    buffered = "transientStorePoolEnable" in given
    by_design = set(SYSTEM.promises(resolved()).allowed)
    assert set(made.allowed) == (by_design if buffered else set()), "a buffer does not change who answers reads"
    assert made.readable_after_s == (promises.READABLE_AFTER_S if buffered else 0.0)
    assert all(kind_of(name).excused_by == "promise" for name in made.allowed)


def test_only_controller_mode_names_who_is_in_sync():
    assert SYSTEM.promises(resolved(minInSyncReplicas="2")).min_in_sync == 2
    assert SYSTEM.promises(resolved(minInSyncReplicas="1")).min_in_sync == 0
    assert SYSTEM.promises(resolved(allAckInSyncStateSet="false", minInSyncReplicas="2")).min_in_sync == 2
    for mode in ("master-slave", "dledger"):
        assert SYSTEM.promises(resolved(cluster__mode=mode, minInSyncReplicas="2")).min_in_sync == 0


def test_a_master_for_ever_is_never_an_old_one():
    assert "old master" not in SYSTEM.promises(resolved(cluster__mode="master-slave")).allowed["stale-tail"]
    assert "old master" in SYSTEM.promises(resolved()).allowed["stale-tail"]


@pytest.mark.parametrize(
    ("given", "ignored"),
    [
        ({}, set()),
        ({"inSyncReplicas": "2"}, {"broker.inSyncReplicas"}),
        ({"inSyncReplicas": "2", "allAckInSyncStateSet": "false"}, set()),
        ({"transientStorePoolEnable": "true"}, set()),
        ({"transientStorePoolEnable": "true", "writeWithoutMmap": "true"}, {"broker.transientStorePoolEnable"}),
        ({"cluster__mode": "master-slave"}, set()),
        ({"cluster__mode": "master-slave", "minInSyncReplicas": "2"}, {"broker.minInSyncReplicas"}),
        ({"cluster__mode": "master-slave", "inSyncReplicas": "3"}, set()),
        (
            {"cluster__mode": "master-slave", "brokerRole": "ASYNC_MASTER", "inSyncReplicas": "3"},
            {"broker.inSyncReplicas"},
        ),
        ({"cluster__mode": "master-slave", "brokerRole": "ASYNC_MASTER"}, set()),
        (
            {"cluster__mode": "dledger", "transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"},
            {"broker.transientStorePoolEnable", "broker.flushDiskType"},
        ),
        ({"cluster__mode": "dledger", "allAckInSyncStateSet": "true"}, {"broker.allAckInSyncStateSet"}),
    ],
)
def test_switches_that_rocketmq_ignores(given, ignored):
    found = promises.without_effect(resolved(**given))
    assert set(found) == ignored
    assert all(found.values())


def test_replicas_can_be_read_only_where_slaves_answer():
    assert SYSTEM.promises(resolved()).replicas_read
    assert SYSTEM.promises(resolved(allAckInSyncStateSet="false")).replicas_read
    assert not SYSTEM.promises(resolved(client__routing="follow")).replicas_read


def test_progress_is_promised_where_there_are_controllers():
    assert SYSTEM.promises(resolved()).progress_margin_s == 3.0
    assert SYSTEM.promises(resolved(cluster__mode="master-slave")).progress_margin_s == 0


def test_recovery_is_promised_by_mode_and_by_what_notices_a_failure():
    usual = SYSTEM.promises(resolved())
    assert (usual.recovers_within_s, usual.rejoins_within_s) == (80.0, 80.0)
    alone = SYSTEM.promises(resolved(cluster__mode="master-slave"))
    assert (alone.recovers_within_s, alone.rejoins_within_s) == (80.0, 0.0), "without controllers there is no set"
    later = SYSTEM.promises(resolved(broker__controllerHeartBeatTimeoutMills="10000"))
    assert later.recovers_within_s == 94.0
