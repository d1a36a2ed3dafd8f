"""Settings, the way a member is started, and what is promised."""

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Subject
from cluster.systems.etcd.system import Etcd

SYSTEM = Etcd()


def test_defaults():
    assert SYSTEM.resolve({}) == {
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.serializable": "false",
        "client.fencing": "true",
        "client.countFirst": "false",
        "client.lookBack": "0",
        "cluster.members": "3",
        "cluster.learners": "0",
        "process.GOMAXPROCS": "1",
        "build.gofail": "false",
        "gofail.failpoints": "",
        "heartbeat-interval": "100",
        "election-timeout": "1000",
        "pre-vote": "false",
        "snapshot-count": "100000",
        "auto-compaction-mode": "periodic",
        "auto-compaction-retention": "0",
    }
    assert SYSTEM.resolve({}).keys() == SYSTEM.settings_help.keys()


@pytest.mark.parametrize(
    ("version", "pre_vote", "entries"),
    [
        ("3.4.23", "false", "100000"),
        ("3.5.0", "true", "100000"),
        ("3.6.0-rc.1", "true", "10000"),
        ("3.7.3", "true", "10000"),
    ],
)
def test_defaults_are_those_of_the_version(version, pre_vote, entries):
    settings = SYSTEM.at(version).resolve({}) if version != SYSTEM.version else SYSTEM.resolve({})
    assert (settings["pre-vote"], settings["snapshot-count"]) == (pre_vote, entries)


def test_where_a_version_comes_from(tmp_path):
    assert "Debian's etcd-server 3.4.23" in SYSTEM.needs().detail or "3.4.23 in " in SYSTEM.needs().detail
    assert "3.5.4" in SYSTEM.at("3.5.4").needs().detail
    program = tmp_path / "etcd"
    program.write_text("#!/bin/sh\necho 'etcd Version: 3.5.9'\n")
    program.chmod(0o755)
    own = SYSTEM.built(tmp_path)
    assert (own.version, own.fetch(print)) == ("3.5.9", tmp_path)
    assert own.variant(own.resolve({"build.gofail": "true"})).fetch(print) == tmp_path


def test_failpoints_are_built_in_and_served():
    with pytest.raises(UsageError, match=r"Debian's etcd has no failpoints; add --system-version 3\.5\.4$"):
        SYSTEM.resolve({"build.gofail": "true"})
    with pytest.raises(UsageError, match=r"only a build with failpoints has them; add --set build\.gofail=true"):
        SYSTEM.resolve({"gofail.failpoints": "x=panic"})
    newer = SYSTEM.at("3.5.4")
    on = newer.variant(newer.resolve({"build.gofail": "true"}))
    off = newer.variant(newer.resolve({}))
    assert "3.5.4 with gofail" in on.needs().detail or "go-" in on.needs().detail
    assert on.needs().detail != off.needs().detail, "they are kept apart"
    view = view_of(newer, **{"build.gofail": "true", "gofail.failpoints": "a/b=sleep(10)"})
    env = newer.launch(view.nodes[0], "/home/n1", "/cache", view).env
    assert (env["GOFAIL_HTTP"], env["GOFAIL_FAILPOINTS"]) == ("198.18.0.10:22381", "a/b=sleep(10)")
    assert "GOFAIL_HTTP" not in newer.launch(view.nodes[0], "/home/n1", "/cache", view_of(newer)).env


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("election-timeuot", "1", "etcd has no such setting here; did you mean election-timeout?"),
        ("xyz", "1", "etcd has no such setting here; known: client.routePollInterval, client.routing, "),
        ("client.routing", "any", "one of follow, pinned, mixed"),
        ("client.serializable", "yes", "true or false"),
        ("pre-vote", "1", "true or false"),
        ("snapshot-count", "0", "a whole number above 0"),
        ("cluster.members", "4", "one of 3, 5"),
        ("auto-compaction-mode", "size", "one of periodic, revision"),
        ("auto-compaction-retention", "soon", "a time like 5s or 1h, or a whole number of revisions"),
        ("heartbeat-interval", "1.5", "a whole number above 0"),
        ("heartbeat-interval", "201", "election-timeout=1000: from 1005, 5 times heartbeat-interval, to 50000"),
        ("election-timeout", "50001", "election-timeout=50001: from 500, 5 times heartbeat-interval, to 50000"),
    ],
)
def test_impossible_settings(name, value, said):
    with pytest.raises(UsageError) as caught:
        SYSTEM.resolve({name: value})
    assert said in str(caught.value)
    assert str(caught.value).startswith("--set ")


def test_a_member_is_told_of_the_others_and_of_the_settings():
    view = view_of(SYSTEM, **{"election-timeout": "700", "process.GOMAXPROCS": "4"})
    launch = SYSTEM.launch(view.nodes[1], "/home/n2", "/cache", view)
    assert launch.argv[0] == "/cache/etcd"
    assert {
        "--name=n2",
        "--data-dir=/home/n2/data",
        "--listen-client-urls=http://198.18.0.11:2379",
        "--listen-peer-urls=http://198.18.0.11:2380",
        "--initial-cluster=n1=http://198.18.0.10:2380,n2=http://198.18.0.11:2380,n3=http://198.18.0.12:2380",
        f"--initial-cluster-token={view.mark}",
        "--election-timeout=700",
        "--heartbeat-interval=100",
    } < {*launch.argv}
    assert launch.env["GOMAXPROCS"] == "4"
    assert (launch.data, launch.logs) == (("data",), ("logs/stdout.log",))


def test_a_learner_joins_the_members_and_is_a_replica():
    view = view_of(SYSTEM, **{"cluster.learners": "1"})
    assert [(node.name, node.role) for node in view.nodes[2:]] == [("n3", "member"), ("l1", "learner")]
    assert SYSTEM.subjects(view.settings, 4) == (
        Subject(name="etcd", nodes=("n1", "n2", "n3", "l1"), epoch_word="term"),
    )
    launch = SYSTEM.launch(view.nodes[3], "/home/l1", "/cache", view)
    peer, data, *rest = launch.argv[4:]
    assert (launch.argv[:4], peer, data) == (
        ("python3", "-I", "-S", "/home/l1/join.py"),
        "http://198.18.0.13:2380",
        "/home/l1/data",
    )
    at = rest.index("--")
    assert rest[:at] == [f"http://198.18.0.1{number}:2379" for number in range(3)]
    assert rest[at + 1] == "/cache/etcd"
    assert "--initial-cluster-state=existing" in rest
    assert any("l1=http://198.18.0.13:2380" in flag for flag in rest if flag.startswith("--initial-cluster="))
    assert not any("l1=" in flag for flag in SYSTEM.launch(view.nodes[0], "/home/n1", "/cache", view).argv)
    assert SYSTEM.start_order == (("member",), ("learner",))


def test_one_group_of_all_members_serves_every_key():
    assert SYSTEM.subjects(SYSTEM.resolve({}), 4) == (
        Subject(name="etcd", nodes=("n1", "n2", "n3"), epoch_word="term"),
    )
    five = SYSTEM.resolve({"cluster.members": "5"})
    assert [spec.name for spec in SYSTEM.topology(five)] == ["n1", "n2", "n3", "n4", "n5"]
    assert SYSTEM.subjects(five, 4) == (Subject(name="etcd", nodes=("n1", "n2", "n3", "n4", "n5"), epoch_word="term"),)
    with pytest.raises(UsageError, match="auto-compaction-retention=5s: a whole number of revisions"):
        SYSTEM.resolve({"auto-compaction-mode": "revision", "auto-compaction-retention": "5s"})


@pytest.mark.parametrize(("pre_vote", "timeouts"), [("false", 12), ("true", 4)])
def test_promises_follow_the_election_timeout_and_excuse_nothing(pre_vote, timeouts):
    usual, slow = (
        SYSTEM.promises(SYSTEM.resolve({"election-timeout": ms, "pre-vote": pre_vote})) for ms in ("1000", "5000")
    )
    assert (usual.fails_over_after_s, slow.fails_over_after_s) == (timeouts, 5 * timeouts)
    assert slow.recovers_within_s - usual.recovers_within_s == 4 * timeouts
    for settings in ({}, {"client.serializable": "true"}):
        assert SYSTEM.promises(SYSTEM.resolve(settings)).allowed == {}
