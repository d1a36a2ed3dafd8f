"""RabbitMQ as a plugin: settings, nodes, queues, files and commands."""

import re

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.models.queues import total_queue
from chaos.models.registry import model_named
from cluster.systems.rabbitmq import queues
from cluster.systems.rabbitmq.launch import config, launch
from cluster.systems.rabbitmq.programs import PACKAGE
from cluster.systems.rabbitmq.system import RabbitMQ


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"cluster.queuType": "quorum"},
            "--set cluster.queuType: rabbitmq has no such setting here; did you mean cluster.queueType?",
        ),
        (
            {"cluster.zzzzzzzzzz": "1"},
            "--set cluster.zzzzzzzzzz: rabbitmq has no such setting here; known: cluster.nodes, ",
        ),
        ({"cluster.queueType": "stream"}, "--set cluster.queueType=stream: one of quorum, classic, mirrored"),
        ({"cluster.nodes": "4"}, "--set cluster.nodes=4: one of 3, 5"),
        ({"cluster.netTicktime": "1"}, "--set cluster.netTicktime=1: a whole number from 4 to 120"),
        (
            {"cluster_partition_handling": "heal"},
            "--set cluster_partition_handling=heal: one of ignore, pause_minority, autoheal",
        ),
        ({"listeners.tcp.1": "5"}, "--set listeners.tcp.1: the harness sets it by itself"),
        ({"heartbeat": "1\n2"}, "--set heartbeat: a value of one line"),
        ({"heartbeat": ""}, "--set heartbeat: a value of one line"),
        ({"Heartbeat!": "1"}, "--set Heartbeat!: rabbitmq has no such setting here"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        RabbitMQ().resolve(settings)


def test_a_cluster_of_three_and_one_of_five():
    system = RabbitMQ()
    for size in ("3", "5"):
        resolved = system.resolve({"cluster.nodes": size})
        names = [f"n{number}" for number in range(1, int(size) + 1)]
        assert [spec.name for spec in system.topology(resolved)] == names
        (first, *_) = system.subjects(resolved, 2)
        assert (first.name, first.nodes, first.keys) == ("queue0", tuple(names), (0,))
        assert queues.arguments(resolved) == {"x-queue-type": "quorum", "x-quorum-initial-group-size": int(size)}


def test_a_classic_queue_is_kept_where_it_is_made():
    system = RabbitMQ()
    resolved = system.resolve({"cluster.queueType": "classic"})
    assert [subject.nodes for subject in system.subjects(resolved, 4)] == [("n1",), ("n2",), ("n3",), ("n1",)]
    assert system.promises(resolved).fails_over_after_s == 0.0
    mirrored = system.resolve({"cluster.queueType": "mirrored"})
    assert system.subjects(mirrored, 1)[0].nodes == ("n1", "n2", "n3")
    assert queues.arguments(mirrored) == queues.arguments(resolved) == {"x-queue-type": "classic"}


def test_no_setting_makes_a_loss_legal():
    system = RabbitMQ()
    for kind in queues.TYPES:
        for handling in ("ignore", "autoheal", "pause_minority"):
            resolved = system.resolve({"cluster.queueType": kind, "cluster_partition_handling": handling})
            assert list(system.promises(resolved).allowed) == ["redelivered-after-ack"]


def test_the_operations_are_those_of_queues_without_offsets():
    system = RabbitMQ()
    assert system.operations("total-queue", {}) == frozenset(total_queue.F)
    assert not system.operations("log", {})
    assert model_named(total_queue.MODEL).name == system.workload


def test_the_file_names_every_node_and_what_was_set():
    view = view_of(RabbitMQ(), heartbeat="20", cluster_partition_handling="autoheal")
    text = config(view.nodes[1], view)
    assert "listeners.tcp.1 = 198.18.0.11:5672\n" in text
    assert "cluster_formation.classic_config.nodes.3 = rabbit@198.18.0.12\n" in text
    assert "cluster_partition_handling = autoheal\n" in text
    assert "heartbeat = 20\n" in text
    assert "cluster.queueType" not in text


def test_a_node_keeps_everything_in_its_own_folder():
    view = view_of(RabbitMQ())
    started = launch(view.nodes[0], "/home/x", "/art", view)
    written = [value for name, value in started.env.items() if name.startswith("RABBITMQ_") and "/" in value]
    assert all(value.startswith(("/home/x", "/art")) for value in written)
    assert started.env["HOME"] == "/home/x"
    assert started.data == ("data",)
    assert started.env["RABBITMQ_NODENAME"] == "rabbit@198.18.0.10"
    assert "/art/erlang/erts-13.1.5/bin/erlexec" in started.argv
    assert b"-module(chaos_observer)." in started.files["observer.erl"]
    assert started.argv[started.argv.index("-setcookie") + 1] == view.mark


def test_the_packages_are_pinned():
    assert ("erlang-base", "1:25.2.3") in PACKAGE.others
    assert PACKAGE.version == RabbitMQ().version
