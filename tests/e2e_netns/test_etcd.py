"""etcd for real: three members in network namespaces, the probe inside, the leader killed and started again."""

import pytest
from inside_cluster import mark, running_cluster

from cluster.nodes import process
from cluster.systems.etcd.system import Etcd

pytestmark = pytest.mark.e2e


@pytest.fixture
def running(tmp_path):
    with running_cluster(Etcd(), tmp_path, {"election-timeout": "700"}) as running:
        yield running


def test_the_leader_is_killed_and_comes_back_with_its_data(running):
    running.await_processes()
    running.await_ready()
    (note,) = running.ask("confirm")["notes"]
    assert note["text"] == "etcd 3.4.23; 6 settings proven to be in effect on 3 nodes"

    said = running.ask("use")
    assert {node for node, *_ in said} == {"n1", "n2", "n3"}
    assert [(number, *one[1:3]) for number, one in enumerate(said) if one[1] != "ok"] == [
        (2, "fail", "the comparison does not hold")
    ]
    read = [result for *_, result in said if result is not None]
    assert [one["value"] for one in read if "value" in one] == [None, 5, None, 2]
    empty, whole = (one["elements"] for one in read if "elements" in one)
    assert (empty, sorted(whole)) == ([], [*range(120)])

    before = running.ask("observe")
    leader = before["lead"]["leader"]
    assert before["lead"]["members"] == ["n1", "n2", "n3"]
    roles = sorted(seen["role"] for seen in before["seen"].values())
    assert roles == ["follower", "follower", "leader"]
    assert {seen["claims"][0]["leader"] for seen in before["seen"].values()} == {leader}

    process.kill(running.nodes[leader])
    rest = sorted({"n1", "n2", "n3"} - {leader})
    after = running.until(
        "another leader that both others know",
        lambda: (now := running.ask("observe"))["lead"]["members"] == rest and now,
    )
    assert after["lead"]["leader"] in rest
    assert after["lead"]["epoch"] > before["lead"]["epoch"]
    assert after["seen"][leader]["alive"] is False
    assert after["seen"][leader]["error"] == "connect: refused"

    process.start(running.nodes[leader], "e2e")
    running.await_ready()
    assert running.ask("observe")["lead"]["epoch"] == after["lead"]["epoch"], "it joins, and stands for no election"
    assert running.ask("remove") == {"removed": [f"keys {mark()}/*"], "left": []}
