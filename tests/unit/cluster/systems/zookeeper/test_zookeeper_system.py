"""ZooKeeper as a plugin: settings, nodes, files and commands."""

import re

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from cluster.system import refusals_of
from cluster.systems.zookeeper import programs
from cluster.systems.zookeeper.servers import numbers
from cluster.systems.zookeeper.settings import HELP
from cluster.systems.zookeeper.system import ZooKeeper


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tickTme": "1"}, "--set tickTme: zookeeper has no such setting here; did you mean tickTime?"),
        ({"autopurge": "1"}, "--set autopurge: zookeeper has no such setting here; known: cluster.voters, "),
        ({"cluster.voters": "4"}, "--set cluster.voters=4: one of 3, 5"),
        ({"cluster.observers": "3"}, "--set cluster.observers=3: 0 to 2"),
        ({"cluster.observers": "-1"}, "--set cluster.observers=-1: 0 to 2"),
        ({"client.sync": "no"}, "--set client.sync=no: one of true, write, false"),
        ({"client.fencing": "no"}, "--set client.fencing=no: one of true, false"),
        ({"client.renew": "sync"}, "--set client.renew=sync: one of ping, attach"),
        ({"forceSync": "false"}, "--set forceSync=false: one of yes, no"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        ({"client.routePollInterval": "0"}, "--set client.routePollInterval=0: a number of seconds above 0"),
        ({"tickTime": "0"}, "--set tickTime=0: a whole number from 1 to 10000"),
        ({"tickTime": "10001"}, "--set tickTime=10001: a whole number from 1 to 10000"),
        ({"syncLimit": "x"}, "--set syncLimit=x: a whole number from 1 to 1000"),
        ({"initLimit": "1.5"}, "--set initLimit=1.5: a whole number from 1 to 1000"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        ZooKeeper().resolve(settings)


def test_each_setting_has_help_and_a_default():
    resolved = ZooKeeper().resolve({"forceSync": "no"})
    assert set(resolved) == set(HELP)
    assert (resolved["forceSync"], resolved["tickTime"]) == ("no", "500")


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["z1", "z2", "z3"]),
        ({"cluster.observers": "2"}, ["z1", "z2", "z3", "o1", "o2"]),
        ({"cluster.voters": "5", "cluster.observers": "1"}, ["z1", "z2", "z3", "z4", "z5", "o1"]),
    ],
)
def test_voters_and_observers_are_one_ensemble(settings, names):
    system = ZooKeeper()
    resolved = system.resolve(settings)
    specs = system.topology(resolved)
    assert [spec.name for spec in specs] == names
    assert {spec.role for spec in specs if spec.name.startswith("o")} <= {"observer"}
    assert all(spec.programs == ("java",) for spec in specs)
    (one,) = system.subjects(resolved, 8)
    assert (one.name, one.nodes, one.keys) == ("zookeeper", tuple(names), None)


def launched(name, **settings):
    view = view_of(ZooKeeper(), **settings)
    node = next(node for node in view.nodes if node.name == name)
    made = ZooKeeper().launch(node, "/home/x", "/art", view)
    return made, made.files["zoo.cfg"].decode().splitlines()


def test_a_voter_and_its_file():
    made, lines = launched("z2", syncLimit="4", forceSync="no")
    assert made.files["myid"] == b"2"
    assert {"clientPortAddress=198.18.0.11", "syncLimit=4", "tickTime=500", "dataDir=/home/x/data"} <= set(lines)
    assert [line for line in lines if line.startswith("server.")] == [
        f"server.{number}=198.18.0.{9 + number}:2888:3888" for number in (1, 2, 3)
    ]
    assert not any(line.startswith("peerType") for line in lines)
    command = list(made.argv)
    assert command[:2] == ["sh", "-c"]
    assert command[command.index("-cp") + 1 :] == [
        "/home/x:/art/lib/*",
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        "zoo.cfg",
    ]
    assert {"-Dzookeeper.forceSync=no", "-Dzookeeper.fastleader.maxNotificationInterval=2000"} <= set(command)
    assert made.data == ("data",)


def test_an_observer_and_what_others_know_of_it():
    made, lines = launched("o1", cluster__observers="1", cluster__voters="5")
    assert made.files["myid"] == b"6"
    assert "peerType=observer" in lines
    for name in ("z1", "o1"):
        assert (
            "server.6=198.18.0.15:2888:3888:observer" in launched(name, cluster__observers="1", cluster__voters="5")[1]
        )


def test_servers_are_numbered_from_one():
    assert numbers(["z1", "z2", "o1"]) == {"z1": 1, "z2": 2, "o1": 3}


def test_how_soon_another_leads_depends_on_the_ticks():
    system = ZooKeeper()
    promised = [
        system.promises(system.resolve(settings))
        for settings in ({}, {"tickTime": "2000"}, {"initLimit": "20"}, {"fastleader.maxNotificationInterval": "60000"})
    ]
    assert [one.fails_over_after_s for one in promised] == [15.0, 54.0, 25.0, 73.0]
    assert [one.recovers_within_s for one in promised] == [30.0, 69.0, 40.0, 88.0]
    assert not promised[0].allowed, "nothing is by design"


def test_models_and_their_words():
    system = ZooKeeper()
    assert system.operations("log", {}) == frozenset()
    assert {word.word for word in system.operations("register", {})} == {"read", "write", "cas"}
    assert {word.word for word in system.operations("set", {})} == {"add", "read"}
    assert {word.word for word in system.operations("counter", {})} == {"add", "read"}
    assert {word.word for word in system.operations("lock", {})} == {"acquire", "guarded", "unlock"}
    assert {word.word for word in system.operations("lease", {})} == {"grant", "renew", "revoke", "read"}
    assert {word.word for word in system.operations("watch", {})} == {"put", "follow"}
    assert system.at("3.8.4").operations("watch", {}) == frozenset(), "its events do not name transactions"
    assert refusals_of(system) == ("no session",)
    assert list(system.pinned({"client.routing": "mixed"}, 8)) == [False] * 5 + [True] * 3


@pytest.mark.parametrize("version", ["3.9.5", "3.6.4", "3.5.10"])
def test_the_jars_are_those_of_the_version(version):
    system = ZooKeeper().at(version)
    assert system.version == version
    made = programs.distribution(version)
    assert f"<artifactId>zookeeper</artifactId><version>{version}</version>".encode() in made.pom
    assert made.name == f"ZooKeeper {version}"
    assert made.label in system.needs().detail or version in system.needs().detail


@pytest.mark.parametrize(
    ("version", "said"),
    [("3.9", "write it like 3.9.5"), ("x", "write it like"), ("3.4.14", "ZooKeeper can be had from 3.5.5 on")],
)
def test_a_version_that_cannot_be_had_is_refused(version, said):
    with pytest.raises(UsageError, match=f"--system-version {version}: {said}"):
        ZooKeeper().at(version)


def test_a_build_says_its_version_by_its_jars(tmp_path):
    (tmp_path / "lib").mkdir()
    with pytest.raises(UsageError, match=r"0 zookeeper-\*\.jar in .*/lib instead of one; name a folder that holds lib"):
        ZooKeeper().built(tmp_path)
    for name in ("zookeeper-3.8.4.jar", "zookeeper-jute-3.8.4.jar", "zookeeper-prometheus-metrics-3.8.4.jar"):
        (tmp_path / "lib" / name).touch()
    own = ZooKeeper().built(tmp_path)
    assert (own.version, own.fetch(print)) == ("3.8.4", tmp_path)


def test_builds_are_told_to_log_where_we_read():
    made, _ = launched("z1")
    assert b"ConsoleAppender" in made.files["logback.xml"]
    assert b"ConsoleAppender" in made.files["log4j.properties"]
