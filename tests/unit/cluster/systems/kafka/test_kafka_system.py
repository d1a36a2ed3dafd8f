"""Kafka as a plugin: settings, versions, nodes, files and commands."""

import re

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from cluster.systems.kafka import programs
from cluster.systems.kafka.servers import number_of
from cluster.systems.kafka.system import Kafka


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"client.ack": "1"}, "--set client.ack: kafka has no such setting here; did you mean client.acks?"),
        ({"zzz": "1"}, "--set zzz: kafka has no such setting here; known: cluster.mode, "),
        ({"client.acks": "2"}, "--set client.acks=2: one of 0, 1, all"),
        ({"client.isolation": "x"}, "--set client.isolation=x: one of read_uncommitted, read_committed"),
        ({"cluster.mode": "zk"}, "--set cluster.mode=zk: one of separate, combined"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        ({"broker.min.insync.replicas": "4"}, "--set broker.min.insync.replicas=4: one of 1, 2, 3"),
        ({"broker.compression.type": "zstd"}, "--set broker.compression.type=zstd: one of producer, uncompressed"),
        ({"broker.node.id": "4"}, "--set broker.node.id: the harness sets node.id by itself"),
        ({"broker.Min.InSync": "4"}, "--set broker.Min.InSync: write it like broker.min.insync.replicas, with a line"),
        ({"broker.a.b": "x\ny"}, "--set broker.a.b: a value of one line, without spaces around it"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        Kafka().resolve(settings)


@pytest.mark.parametrize(
    ("version", "said"),
    [("2.8.0", "Kafka runs without ZooKeeper from 3.3.0 on"), ("four", "write it like 4.3.1")],
)
def test_a_version_that_there_cannot_be_is_refused(version, said):
    with pytest.raises(UsageError, match=said):
        Kafka().at(version)


def test_a_build_says_its_version(tmp_path):
    with pytest.raises(UsageError, match=r"0 kafka_2\.\*\.jar in"):
        programs.version_in(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "kafka_2.13-3.9.1.jar").touch()
    (tmp_path / "lib" / "kafka-clients-3.9.1.jar").touch()
    assert Kafka().built(tmp_path).version == "3.9.1"
    assert Kafka().at("3.9.1").version == "3.9.1"


@pytest.mark.parametrize(("mode", "names"), [("separate", "b1 b2 b3 c1 c2 c3"), ("combined", "b1 b2 b3")])
def test_nodes_and_what_has_a_leader(mode, names):
    system = Kafka()
    resolved = system.resolve({"cluster.mode": mode})
    assert " ".join(spec.name for spec in system.topology(resolved)) == names
    *partitions, controllers = system.subjects(resolved, 4)
    assert [(one.name, one.nodes, one.keys) for one in partitions] == [
        ("p0", ("b1", "b2", "b3"), (0,)),
        ("p1", ("b2", "b3", "b1"), (1,)),
        ("p2", ("b3", "b1", "b2"), (2,)),
        ("p3", ("b1", "b2", "b3"), (3,)),
    ]
    assert (controllers.kind, controllers.keys) == ("controller", ())
    assert set(controllers.nodes) == set(names.split()[-3:])


def launched(name, **settings):
    view = view_of(Kafka(), **settings)
    node = next(node for node in view.nodes if node.name == name)
    made = Kafka().launch(node, "/home/x", "/art", view)
    return made, made.files["server.properties"].decode().splitlines()


def test_a_broker_and_its_file():
    made, lines = launched("b2", broker__min__insync__replicas="1", broker__message__max__bytes="1000")
    assert {
        "process.roles=broker",
        "node.id=2",
        "listeners=BROKER://198.18.0.11:9092",
        "advertised.listeners=BROKER://198.18.0.11:9092",
        "controller.quorum.voters=101@198.18.0.13:9093,102@198.18.0.14:9093,103@198.18.0.15:9093",
        "log.dirs=/home/x/data",
        "min.insync.replicas=1",
        "message.max.bytes=1000",
        "unclean.leader.election.enable=false",
    } <= set(lines)
    command = list(made.argv)
    assert command[:2] == ["sh", "-c"]
    assert len(command[4]) == 22, "a cluster's name is sixteen bytes in base64"
    assert command[5:7] == ["java", "-Xmx256m"]
    assert command[-2:] == ["-cp", "/art/lib/*"]
    assert made.data == ("data",)


def test_a_controller_and_a_node_that_is_both():
    _, lines = launched("c2")
    assert {"process.roles=controller", "node.id=102", "listeners=CONTROLLER://198.18.0.14:9093"} <= set(lines)
    assert not any(line.startswith(("advertised", "inter.broker")) for line in lines)
    _, lines = launched("b2", cluster__mode="combined")
    assert {
        "process.roles=broker,controller",
        "listeners=BROKER://198.18.0.11:9092,CONTROLLER://198.18.0.11:9093",
        "controller.quorum.voters=1@198.18.0.10:9093,2@198.18.0.11:9093,3@198.18.0.12:9093",
    } <= set(lines)


def test_all_nodes_of_a_cluster_have_its_name_and_no_other_cluster_has():
    names = {launched(name)[0].argv[4] for name in ("b1", "b3", "c1")}
    assert len(names) == 1
    other = view_of(Kafka())
    assert [number_of(name) for name in ("b1", "b3", "c1", "c3")] == [1, 3, 101, 103]
    assert other.mark


def test_what_is_promised_depends_on_the_settings():
    system = Kafka()

    def promised(**settings):
        return system.promises(system.resolve({k.replace("__", "."): v for k, v in settings.items()}))

    assert set(promised().allowed) == {"stale-tail"}, "no loss is by design"
    assert set(promised(client__acks="0").allowed) == {"stale-tail"}
    assert promised().min_in_sync == 2
    assert promised(client__acks="1").min_in_sync == 0
    assert promised(broker__min__insync__replicas="1").min_in_sync == 0
    assert promised().fails_over_after_s == 13
    assert promised(broker__broker__session__timeout__ms="9000").fails_over_after_s == 19
    assert promised().recovers_within_s == 68


def test_words_of_a_log():
    system = Kafka()
    safe = system.operations("log", system.resolve({}))
    assert F.READ in safe
    assert system.operations("log", system.resolve({"client.acks": "1"})) == safe - {F.READ}
    assert system.operations("register", {}) == frozenset()


def test_transactions_need_readers_that_are_shown_committed_ones_alone():
    system = Kafka()
    assert F.TRANSACT not in system.operations("log", system.resolve({}))
    needed = system.settings_for(frozenset({F.TRANSACT, F.SEND}))
    words = system.operations("log", system.resolve(dict(needed)))
    assert F.TRANSACT in words
    assert F.READ not in words, "behind an open transaction nothing is shown"
    assert system.settings_for(frozenset({F.SEND})) == {}
    assert F.TRANSACT not in system.operations("log", system.resolve({**needed, "client.acks": "1"}))


def test_sends_are_taken_once_where_all_replicas_in_sync_have_them():
    system = Kafka()
    assert system.idempotent_sends(system.resolve({}))
    assert not system.idempotent_sends(system.resolve({"client.acks": "1"}))
