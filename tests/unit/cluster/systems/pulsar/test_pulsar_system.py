"""Pulsar as a plugin: settings, nodes, files and commands, versions."""

import re
import signal
import subprocess

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from chaos.models.queues import total_queue
from cluster.system import refusals_of
from cluster.systems.pulsar import programs
from cluster.systems.pulsar.launch import SET_UP
from cluster.systems.pulsar.settings import BOOKIE, BROKER, METADATA, lines_shown
from cluster.systems.pulsar.system import Pulsar


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"cluster.ackQuorums": "1"},
            "--set cluster.ackQuorums: pulsar has no such setting here; did you mean cluster.ack",
        ),
        ({"ackQuorum": "1"}, "--set ackQuorum: pulsar has no such setting here; did you mean cluster.ackQuorum?"),
        (
            {"zookeeper.tickTime": "1"},
            "--set zookeeper.tickTime: pulsar has no such setting here; known: cluster.bookies, ",
        ),
        ({"cluster.bookies": "2"}, "--set cluster.bookies=2: one of 3, 4, 5"),
        ({"cluster.ensemble": "4"}, "--set cluster.ensemble=4: a whole number from 1 to 3, which is cluster.bookies"),
        (
            {"cluster.writeQuorum": "3"},
            "--set cluster.writeQuorum=3: a whole number from 1 to 2, which is cluster.ensem",
        ),
        ({"cluster.ackQuorum": "3"}, "--set cluster.ackQuorum=3: a whole number from 1 to 2, which is cluster.writeQ"),
        ({"cluster.ackQuorum": "0"}, "--set cluster.ackQuorum=0: a whole number from 1 to 2"),
        ({"cluster.ackQuorum": "x"}, "--set cluster.ackQuorum=x: a whole number from 1 to 2"),
        ({"cluster.deduplication": "true"}, "--set cluster.deduplication=true: on or off"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        (
            {"broker.metadataStoreUrl": "x"},
            "--set broker.metadataStoreUrl: the harness sets metadataStoreUrl by itself",
        ),
        (
            {"broker.managedLedgerDefaultAckQuorum": "1"},
            "--set broker.managedLedgerDefaultAckQuorum: set cluster.ackQuorum instead",
        ),
        ({"bookie.a b": "1"}, "--set bookie.a b: write it like bookie.KEY, with a line of bookkeeper.conf"),
        ({"metadata.dataDir": "x"}, "--set metadata.dataDir: the harness sets dataDir by itself"),
        ({"bookie.zkTimeout": " 1"}, "--set bookie.zkTimeout: a value of one line"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        Pulsar().resolve(settings)


def test_brokers_bookies_and_metadata_are_nodes_of_their_own():
    system = Pulsar()
    for many in (3, 5):
        resolved = system.resolve({"cluster.bookies": str(many)})
        names = [spec.name for spec in system.topology(resolved)]
        assert names == ["b1", "b2", "b3", *(f"k{number}" for number in range(1, many + 1)), "z1", "z2", "z3"]


def test_each_topic_is_led_by_a_broker_and_the_metadata_by_a_server():
    system = Pulsar()
    *topics, metadata = system.subjects(system.resolve({}), 2)
    assert [(one.name, one.nodes, one.keys) for one in topics] == [
        ("t0", ("b1", "b2", "b3"), (0,)),
        ("t1", ("b1", "b2", "b3"), (1,)),
    ]
    assert (metadata.name, metadata.kind, metadata.nodes) == ("metadata", "controller", ("z1", "z2", "z3"))


def lines_of(name, file, **settings):
    view = view_of(Pulsar(), **settings)
    node = next(one for one in view.nodes if one.name == name)
    made = Pulsar().launch(node, "/home/x", "/art", view)
    return made, set(made.files[file].decode().splitlines())


def test_a_broker_and_its_file():
    made, lines = lines_of("b2", "broker.conf", cluster__ackQuorum="1", broker__dispatcherMaxReadBatchSize="7")
    ensemble = "zk:198.18.0.16:2181,198.18.0.17:2181,198.18.0.18:2181"
    assert {
        "clusterName=chaos",
        f"metadataStoreUrl={ensemble}",
        "bindAddress=198.18.0.11",
        "managedLedgerDefaultEnsembleSize=2",
        "managedLedgerDefaultWriteQuorum=2",
        "managedLedgerDefaultAckQuorum=1",
        "dispatcherMaxReadBatchSize=7",
        "defaultRetentionTimeInMinutes=-1",
        "brokerDeleteInactiveTopicsEnabled=false",
    } <= lines
    assert not any(line.startswith(("client.", "cluster.", "bookie.")) for line in lines)
    assert made.argv[-3:] == ("org.apache.pulsar.PulsarBrokerStarter", "--broker-conf", "broker.conf")
    assert ("/art/lib/*" in made.argv, made.data) == (True, ("data",))


def test_a_bookie_and_its_file():
    made, lines = lines_of("k3", "bookkeeper.conf", bookie__journalSyncData="false")
    assert {"bookieId=k3", "advertisedAddress=198.18.0.15", "journalSyncData=false"} <= lines
    assert {"journalDirectories=/home/x/data/journal", "ledgerDirectories=/home/x/data/ledgers"} <= lines
    assert not any(line.startswith("managedLedger") for line in lines)
    assert made.argv[-3:] == ("org.apache.bookkeeper.server.Main", "--conf", "bookkeeper.conf")


def test_the_first_server_of_the_metadata_describes_the_cluster():
    first, lines = lines_of("z1", "zoo.cfg", metadata__tickTime="2000")
    assert {"server.1=198.18.0.16:2888:3888", "server.3=198.18.0.18:2888:3888", "tickTime=2000"} <= lines
    assert (first.ready_pattern, first.files["myid"]) == (SET_UP, b"1")
    setup = first.argv[5]
    assert "PulsarClusterMetadataSetup --cluster chaos --metadata-store zk:198.18.0.16:2181," in setup
    assert "--broker-service-url pulsar://198.18.0.10:6650,198.18.0.11:6650,198.18.0.12:6650" in setup
    second, _ = lines_of("z2", "zoo.cfg")
    assert not any("Setup" in word for word in second.argv)
    assert second.ready_pattern != SET_UP


@pytest.mark.broad
@pytest.mark.parametrize(("setup_ends", "ended"), [(0, 0), (1, -signal.SIGTERM)])
def test_a_cluster_is_described_once_and_not_by_halves(setup_ends, ended, tmp_path):
    """The first server's own script, with a java that notes its last argument."""
    made, _ = lines_of("z1", "zoo.cfg")
    java = tmp_path / "java"
    java.write_text(
        '#!/bin/sh\nfor last; do :; done; echo "$last" >> asked\n'
        f"case $* in *Setup*) exit {setup_ends} ;; esac\nn=0; until grep -q pulsar: asked && [ $n = 3 ]; "
        "do sleep 1; n=$((n + 1)); done\n"
    )
    java.chmod(0o755)
    (tmp_path / "myid").write_bytes(made.files["myid"])
    argv = [word.replace("java ", f"{java} ", 1) if word.startswith("java ") else word for word in made.argv]

    def started():
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    first = started()
    assert (first.returncode, SET_UP in first.stdout) == (ended, ended == 0)
    if ended == 0:
        assert SET_UP in started().stdout
    asked = (tmp_path / "asked").read_text().split()
    assert sum(word.startswith("pulsar://") for word in asked) == 1


def test_what_a_broker_hands_on_to_its_client_of_bookkeeper_is_written_and_not_shown():
    name = "bookkeeper_delayEnsembleChange"
    _, lines = lines_of("b1", "broker.conf", broker__bookkeeper_delayEnsembleChange="true")
    resolved = Pulsar().resolve({f"broker.{name}": "true"})
    assert f"{name}=true" in lines
    assert [name in lines_shown(resolved, role) for role in (BROKER, BOOKIE, METADATA)] == [False] * 3
    assert {"numIOThreads"} < {*lines_shown(resolved, BROKER)}


def test_how_soon_another_owns_a_topic_depends_on_the_session():
    system = Pulsar()
    given = ({}, {"broker.metadataStoreSessionTimeoutMillis": "30000"}, {"cluster.ackQuorum": "1"})
    promised = [system.promises(system.resolve(settings)) for settings in given]
    assert [one.fails_over_after_s for one in promised] == [19.0, 45.0, 19.0]
    assert [one.recovers_within_s for one in promised] == [64.0, 90.0, 64.0]


@pytest.mark.parametrize("settings", [{}, {"cluster.ackQuorum": "1"}, {"bookie.journalSyncData": "false"}])
def test_no_loss_is_by_design_whatever_is_set(settings):
    system = Pulsar()
    promised = system.promises(system.resolve(settings))
    assert ([*promised.allowed], promised.replicas_read) == (["stale-tail", "redelivered-after-ack"], False)


def test_how_soon_a_message_comes_back_depends_on_the_pings():
    system = Pulsar()
    given = ({}, {"broker.keepAliveIntervalSeconds": "30"})
    assert [system.promises(system.resolve(one)).redelivered_within_s for one in given] == [15.0, 65.0]


@pytest.mark.parametrize(("setting", "line", "once"), [("on", "true", True), ("off", "false", False)])
def test_duplicates_are_removed_where_it_is_set(setting, line, once):
    resolved = Pulsar().resolve({"cluster.deduplication": setting})
    _, lines = lines_of("b1", "broker.conf", cluster__deduplication=setting)
    assert Pulsar().idempotent_sends(resolved) is once
    assert f"brokerDeduplicationEnabled={line}" in lines


def test_models_and_their_words():
    system = Pulsar()
    assert system.operations("register", {}) == frozenset()
    assert system.operations("log", {}) == {F.SEND, F.POLL, F.READ, F.DRAIN}
    assert system.operations("total-queue", {}) == set(total_queue.F)
    assert refusals_of(system) == ("no producer: 6 ServiceNotReady", "6 ServiceNotReady")
    assert list(system.pinned({"client.routing": "mixed"}, 8)) == [False] * 5 + [True] * 3


@pytest.mark.parametrize("version", ["3.0.0", "4.0.0", "4.0.7"])
def test_another_version_is_another_jar(version):
    system = Pulsar().at(version)
    assert system.version == version
    assert f"<version>{version}</version>".encode() in programs.distribution(version).pom


@pytest.mark.parametrize(
    ("version", "why"), [("4.0", "write it like 4.0.7"), ("latest", "write it like"), ("2.11.4", "from 3.0.0 on")]
)
def test_what_is_no_version_is_refused(version, why):
    with pytest.raises(UsageError, match=why):
        Pulsar().at(version)


def test_a_build_says_its_version_by_its_jar(tmp_path):
    with pytest.raises(UsageError, match=re.escape("0 pulsar-broker-*.jar")):
        Pulsar().built(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "pulsar-broker-auth-sasl-4.1.0.jar").touch()
    (tmp_path / "lib" / "pulsar-broker-4.1.0-SNAPSHOT.jar").touch()
    built = Pulsar().built(tmp_path)
    assert (built.version, built.fetch(print)) == ("4.1.0-SNAPSHOT", tmp_path)
    (tmp_path / "lib" / "pulsar-broker-4.0.7.jar").touch()
    with pytest.raises(UsageError, match=re.escape("2 pulsar-broker-*.jar")):
        Pulsar().built(tmp_path)
