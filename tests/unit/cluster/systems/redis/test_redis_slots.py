"""Slots as Redis counts them, and the file from which servers that never met make one cluster."""

import pytest
from system_view import view_of

from cluster.systems.redis.slots import SHARDS, SLOTS, TAGS, first_and_last, members, node_id, nodes_file, slot
from cluster.systems.redis.system import Redis


@pytest.mark.parametrize(("tag", "number"), [("123456789", 12739), ("foo", 12182), ("", 0)])
def test_slots_are_those_of_the_specification(tag, number):
    assert slot(tag) == number


def test_shards_share_all_slots_and_each_has_a_tag():
    bounds = [first_and_last(shard) for shard in range(SHARDS)]
    assert [one for first, last in bounds for one in range(first, last + 1)] == list(range(SLOTS))
    assert [first <= slot(tag) <= last for (first, last), tag in zip(bounds, TAGS, strict=True)] == [True] * SHARDS


def test_every_server_starts_with_the_same_cluster():
    view = view_of(Redis(), cluster__mode="cluster")
    files = {node.name: nodes_file(view.mark, view.nodes, node.name) for node in view.nodes}
    for name, text in files.items():
        *lines, last = text.splitlines()
        assert last == "vars currentEpoch 3 lastVoteEpoch 0"
        said = members("\n".join(lines))
        assert [one.host for one in said if one.myself] == [next(n.address for n in view.nodes if n.name == name)]
        assert [one.leads for one in said] == [True] * 3 + [False] * 3
        assert [one.follows for one in said[3:]] == [one.id for one in said[:3]]
        assert [one.first_slot for one in said] == [0, 5461, 10922, None, None, None]
    assert len({text.replace("myself,", "") for text in files.values()}) == 1


def test_numbers_of_servers_differ_between_clusters():
    assert len({node_id(mark, name) for mark in "ab" for name in ("r1", "r2")}) == 4
    assert len(node_id("a", "r1")) == 40


@pytest.mark.parametrize("text", ["", "\n"])
def test_nothing_is_no_member(text):
    assert members(text) == []


def test_what_cluster_nodes_never_says_is_refused():
    with pytest.raises(ValueError, match="no line of CLUSTER NODES"):
        members("ERR This instance has cluster support disabled")


def test_slots_on_their_way_count_for_nobody():
    (one,) = members("a 198.18.0.1:6379@16379,host myself,master - 0 0 7 connected 5-9 3 [93-<-b]")
    assert (one.first_slot, one.epoch, one.host) == (3, 7, "198.18.0.1")
