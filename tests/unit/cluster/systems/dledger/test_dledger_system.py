"""DLedger as a plugin: settings, nodes, files and commands, versions."""

import re

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from cluster.system import refusals_of
from cluster.systems.dledger import programs
from cluster.systems.dledger.system import DLedger


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"storeTyp": "FILE"}, "--set storeTyp: dledger has no such setting here; did you mean storeType?"),
        ({"selfId": "n1"}, "--set selfId: dledger has no such setting here; known: cluster.nodes, "),
        ({"cluster.nodes": "4"}, "--set cluster.nodes=4: one of 3, 5"),
        ({"client.reads": "no"}, "--set client.reads=no: one of confirmed, leader, follower"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        ({"storeType": "DISK"}, "--set storeType=DISK: one of FILE, MEMORY"),
        ({"maxHeartBeatLeak": "x"}, "--set maxHeartBeatLeak=x: a whole number from 0 to 2000000000"),
        ({"diskSpaceRatioToForceClean": "2"}, "--set diskSpaceRatioToForceClean=2: a number between 0 and 1"),
        ({"preferredLeaderIds": "n1;n4"}, "--set preferredLeaderIds=n1;n4: n4 is none of n1, n2, n3"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        DLedger().resolve(settings)


def test_three_nodes_or_five_keep_one_log():
    system = DLedger()
    for many in ("3", "5"):
        resolved = system.resolve({"cluster.nodes": many})
        names = tuple(spec.name for spec in system.topology(resolved))
        (one,) = system.subjects(resolved, 8)
        assert (len(names), one.name, one.nodes, one.keys) == (int(many), "dledger", names, None)


def test_a_node_and_its_file():
    view = view_of(DLedger(), preferredLeaderIds="n1;n2", enableBatchAppend="true")
    made = DLedger().launch(view.nodes[1], "/home/x", "/art", view)
    lines = set(made.files["dledger.properties"].decode().splitlines())
    peers = "peers=n1-198.18.0.10:20911;n2-198.18.0.11:20911;n3-198.18.0.12:20911"
    own = {"selfId=n2", "group=dledger", "storeBaseDir=/home/x/data", peers}
    assert own | {"preferredLeaderIds=n1;n2", "enableBatchAppend=true", "heartBeatTimeIntervalMs=500"} <= lines
    assert not any(line.startswith(("client.", "cluster.")) for line in lines)
    assert made.argv[-5:] == ("/home/x/classes:/art/lib/*", "DLedgerNode", "dledger.properties", "198.18.0.11", "20912")
    assert b"class DLedgerNode" in made.files["DLedgerNode.java"]
    assert made.data == ("data",)


def test_how_soon_another_leads_depends_on_the_intervals():
    system = DLedger()
    given = ({}, {"heartBeatTimeIntervalMs": "2000"}, {"maxHeartBeatLeak": "9"}, {"maxVoteIntervalMs": "2000"})
    promised = [system.promises(system.resolve(settings)) for settings in given]
    assert [one.fails_over_after_s for one in promised] == [8.0, 14.0, 11.0, 14.0]
    assert [one.recovers_within_s for one in promised] == [38.0, 44.0, 41.0, 44.0]


@pytest.mark.parametrize("settings", [{}, {"storeType": "MEMORY"}, {"client.reads": "follower"}])
def test_nothing_is_by_design_whatever_is_set(settings):
    system = DLedger()
    promised = system.promises(system.resolve(settings))
    assert (promised.allowed, promised.replicas_read) == ({}, True)


def test_models_and_their_words():
    system = DLedger()
    assert system.operations("register", {}) == frozenset()
    assert system.operations("log", {}) == {F.SEND, F.POLL, F.READ, F.SLAVE_READ, F.DRAIN, F.REPLICA}
    assert refusals_of(system) == ("404 NOT_LEADER",)
    assert list(system.pinned({"client.routing": "mixed"}, 8)) == [False] * 5 + [True] * 3


@pytest.mark.parametrize("version", ["0.1", "0.2.7", "0.3.1.2", "0.4.3"])
def test_another_version_is_another_jar(version):
    system = DLedger().at(version)
    assert system.version == version
    assert f"<version>{version}</version>".encode() in programs.distribution(version).pom


@pytest.mark.parametrize("version", ["1.0", "0", "latest", "0.4.3/.."])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(UsageError, match="write it like"):
        DLedger().at(version)


def test_a_build_says_its_version_by_its_jar(tmp_path):
    with pytest.raises(UsageError, match=re.escape("0 dledger-*.jar")):
        DLedger().built(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "dledger-0.5.0-SNAPSHOT.jar").touch()
    built = DLedger().built(tmp_path)
    assert (built.version, built.fetch(print)) == ("0.5.0-SNAPSHOT", tmp_path)
    (tmp_path / "lib" / "dledger-0.4.3.jar").touch()
    with pytest.raises(UsageError, match=re.escape("2 dledger-*.jar")):
        DLedger().built(tmp_path)
