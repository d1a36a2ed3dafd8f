"""Which cluster the settings ask for, and what no RocketMQ can be."""

import pytest
from rocketmq_view import SYSTEM

from chaos.core.errors import UsageError
from cluster.systems.rocketmq import settings
from cluster.systems.rocketmq import topology as shape


def topology(**given):
    resolved = SYSTEM.resolve({name.replace("__", "."): value for name, value in given.items()})
    return [spec.name for spec in SYSTEM.topology(resolved)]


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ({}, "n1 c1 c2 c3 b1 b2 b3"),
        ({"cluster__controllers": "1", "cluster__brokers": "2"}, "n1 c1 b1 b2"),
        ({"cluster__brokers": "5", "cluster__namesrvs": "2"}, "n1 n2 c1 c2 c3 b1 b2 b3 b4 b5"),
        ({"cluster__controllerIn": "namesrv"}, "c1 c2 c3 b1 b2 b3"),
        ({"cluster__mode": "master-slave"}, "n1 b1 b2 b3"),
        ({"cluster__mode": "dledger", "cluster__brokers": "5"}, "n1 b1 b2 b3 b4 b5"),
    ],
)
def test_nodes(given, nodes):
    assert " ".join(topology(**given)) == nodes


def test_what_is_said_of_the_cluster():
    made = shape.of({"cluster.controllerType": "jRaft", "cluster.controllerIn": "namesrv", "cluster.topicOn": "master"})
    assert (made.mode, made.controller_type, made.controllers, made.namesrvs) == ("controller", "jRaft", 3, 3)
    assert made.controllers_inside
    assert made.fails_over
    assert not made.topic_on_every
    assert not shape.of({"cluster.mode": "master-slave"}).fails_over


@pytest.mark.parametrize("given", [{}, {"cluster.mode": "dledger"}, {"cluster.controllerIn": "namesrv"}])
def test_resolving_twice_changes_nothing(given):
    once = settings.resolve(given)
    assert settings.resolve(once) == once
    assert once["broker.totalReplicas"] == once["cluster.brokers"]


@pytest.mark.parametrize("brokers", ["2", "3", "5"])
def test_total_replicas_follow_the_number_of_brokers(brokers):
    assert settings.resolve({"cluster.brokers": brokers})["broker.totalReplicas"] == brokers


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cluster.mode": "raft"}, "one of controller, master-slave, dledger"),
        ({"cluster.controllerType": "jraft"}, "one of DLedger, jRaft"),
        ({"cluster.brokers": "4"}, "one of 2, 3, 5"),
        ({"cluster.controllers": "6"}, "one of 0, 1, 2, 3, 4, 5"),
        ({"cluster.namesrvs": "0"}, "one of 1, 2, 3, 4, 5"),
        ({"cluster.controllers": "0"}, "mode controller needs at least one"),
        ({"cluster.mode": "dledger", "cluster.brokers": "2"}, "survives nobody"),
        ({"cluster.mode": "dledger", "cluster.controllers": "3"}, "mode dledger has no controllers"),
        ({"cluster.mode": "master-slave", "cluster.controllerType": "jRaft"}, "has no controllers"),
        ({"cluster.mode": "master-slave", "cluster.controllerIn": "own"}, "has no controllers"),
        ({"cluster.mode": "master-slave", "enableElectUncleanMaster": "true"}, "has no controllers"),
        ({"cluster.mode": "dledger", "controller.serverWorkerThreads": "3"}, "has no controllers"),
        ({"cluster.controllerIn": "namesrv", "cluster.namesrvs": "1"}, "as many as controllers, 3"),
        (
            {
                "cluster.controllerIn": "namesrv",
                "namesrv.serverWorkerThreads": "2",
                "controller.serverWorkerThreads": "3",
            },
            "read from one file",
        ),
        ({"cluster.mode": "master-slave", "brokerRole": "SLAVE"}, "SYNC_MASTER or ASYNC_MASTER"),
    ],
)
def test_refused(given, says):
    with pytest.raises(UsageError, match="--set ") as caught:
        settings.resolve(given)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bare_key_goes_only_where_somebody_reads_it():
    resolved = settings.resolve({"cluster.mode": "master-slave", "serverWorkerThreads": "3"})
    assert resolved["broker.serverWorkerThreads"] == resolved["namesrv.serverWorkerThreads"] == "3"
    assert "controller.serverWorkerThreads" not in resolved
