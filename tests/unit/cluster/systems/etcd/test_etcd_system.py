"""Settings, the way a member is started, and what is promised."""

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.core.runinfo import Subject
from cluster.systems.etcd.system import Etcd

SYSTEM = Etcd()


def test_defaults():
    assert SYSTEM.resolve({}) == {
        "client.routing": "mixed",
        "client.routePollInterval": "1",
        "client.serializable": "false",
        "heartbeat-interval": "100",
        "election-timeout": "1000",
        "pre-vote": "false",
        "snapshot-count": "100000",
    }
    assert SYSTEM.resolve({}).keys() == SYSTEM.settings_help.keys()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("election-timeuot", "1", "etcd has no such setting here; did you mean election-timeout?"),
        ("xyz", "1", "etcd has no such setting here; known: client.routePollInterval, client.routing, "),
        ("client.routing", "any", "one of follow, pinned, mixed"),
        ("client.serializable", "yes", "true or false"),
        ("pre-vote", "1", "true or false"),
        ("snapshot-count", "0", "a whole number above 0"),
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
    view = view_of(SYSTEM, **{"election-timeout": "700"})
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
    assert (launch.data, launch.logs) == (("data",), ("logs/stdout.log",))


def test_one_group_of_all_members_serves_every_key():
    assert SYSTEM.subjects(SYSTEM.resolve({}), 4) == (Subject(name="etcd", nodes=("n1", "n2", "n3")),)
    assert [spec.name for spec in SYSTEM.topology({})] == ["n1", "n2", "n3"]


@pytest.mark.parametrize(("pre_vote", "timeouts"), [("false", 12), ("true", 4)])
def test_promises_follow_the_election_timeout_and_excuse_nothing(pre_vote, timeouts):
    usual, slow = (
        SYSTEM.promises(SYSTEM.resolve({"election-timeout": ms, "pre-vote": pre_vote})) for ms in ("1000", "5000")
    )
    assert (usual.fails_over_after_s, slow.fails_over_after_s) == (timeouts, 5 * timeouts)
    assert slow.recovers_within_s - usual.recovers_within_s == 4 * timeouts
    for settings in ({}, {"client.serializable": "true"}):
        assert SYSTEM.promises(SYSTEM.resolve(settings)).allowed == {}
