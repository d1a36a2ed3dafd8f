"""Whom and when, over all shapes of clusters: SEMANTICS 21 to 25."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from leading import leads, subjects_of
from nemesis_texts import plain_names

from chaos.core.errors import UsageError
from cluster.host import NodeSpec
from nemesis.faults.registry import faults
from nemesis.plan.choose_targets import choose
from nemesis.plan.count_bounds import count_bounds
from nemesis.plan.nemesis_names import catalog
from nemesis.plan.plan import make_plan
from nemesis.plan.plan_file import read_plan, write_plan
from nemesis.targets import grudge
from nemesis.targets.selectors import LED, Selector
from nemesis.targets.topology import Topology

KINDS = {"broker": "replica", "controller": "controller", "namesrv": "other"}
SIZES = st.integers(1, 9)
FAULTS = sorted(name for name in plain_names() if catalog()[name].fault is not None)
OF_LINKS = [name for name in FAULTS if catalog()[name].how.on_links()]
OF_NODES = [name for name in FAULTS if name not in OF_LINKS]
PARTITIONS = ("partition", "flap", "staged-heal")
"""Those that cut the links between their sides, and none within."""
SUFFIXES = ["", "@broker", "@controller", "@broker+controller"]


def specs(brokers, controllers):
    names = [("namesrv", "n1")]
    names += [("controller", f"c{i + 1}") for i in range(controllers)]
    names += [("broker", f"b{i + 1}") for i in range(brokers)]
    return [NodeSpec(name=name, role=role) for role, name in names]


def plan(nemesis, brokers, controllers, seed=1, **times):
    times = {"interval_s": 10, "duration_s": 5, "time_limit_s": 100, "rhythm": "even"} | times
    if "fixed-" in nemesis:
        times["fault_nodes"] = ("c1",) if nemesis.endswith("@controller") else ("b1",)
    nodes = specs(brokers, controllers)
    return make_plan(nemesis, KINDS, nodes, seed=seed, subjects=subjects_of(nodes), **times)


@given(SIZES)
def test_counts_are_those_of_the_contract(n):
    def bounds(selector, fault="kill", *, replicas=False):
        return count_bounds(selector, faults()[fault], n, replicas=replicas)

    assert bounds(Selector.MINOR) == ((n - 1) // 2,) * 2
    assert bounds(Selector.MAJOR) == (n // 2 + 1,) * 2
    assert bounds(Selector.RANDOM) == (1, n)
    assert bounds(Selector.ALL) == (n, n)
    assert bounds(Selector.ALL, replicas=True) == (n, n)
    for selector in (Selector.MINOR, Selector.MAJOR, Selector.RANDOM, *LED):
        assert bounds(selector, replicas=True)[1] <= n - 1
        assert bounds(selector, "suspend", replicas=True)[1] <= n - 1
        assert bounds(selector, "partition")[1] <= n - 1
    if n >= 3:
        assert 2 * bounds(Selector.MAJOR)[0] > n > 2 * bounds(Selector.MINOR)[0]


def leadership_of(brokers, controllers, pick):
    return leads(master=f"b{pick % brokers + 1}", controller=f"c{pick % controllers + 1}")


@st.composite
def drawn(draw, names=FAULTS):
    nemesis = draw(st.sampled_from(names)) + draw(st.sampled_from(SUFFIXES))
    brokers, controllers, seed = draw(SIZES), draw(SIZES), draw(st.integers(0, 2**32))
    try:
        rows = plan(nemesis, brokers, controllers, seed)
    except UsageError:
        assume(False)
        raise
    topology = Topology.of(specs(brokers, controllers), KINDS, subjects_of(specs(brokers, controllers)))
    row = draw(st.sampled_from(rows))
    targets = choose(row, topology, leadership_of(brokers, controllers, draw(st.integers(0, 99))))
    assert targets is not None
    return row, topology, targets


@given(drawn(OF_NODES))
def test_process_faults_take_the_named_roles_and_leave_one_replica(case):
    row, topology, targets = case
    assert targets.names
    assert len(set(targets.names)) == len(targets.names)
    assert targets.grudge == {}
    for role in topology.nodes:
        taken = [name for name in targets.names if name in topology.nodes[role]]
        if role not in row.roles:
            assert taken == []
        else:
            n = len(topology.nodes[role])
            least, greatest = count_bounds(row.selector, row.how, n, replicas=role == "broker")
            assert least <= len(taken) <= greatest
            assert taken, "each named role is drawn by itself"
            if role == "broker" and row.selector is not Selector.ALL:
                assert len(taken) < n
    assert row.roles == ("broker",) or "@" in row.name
    assert row.selector is not Selector.FIXED or targets.names == row.nodes


@given(drawn(OF_LINKS))
def test_network_faults_touch_only_links_of_the_named_roles(case):
    row, topology, targets = case
    scope = {name for role in row.roles for name in topology.nodes[role]}
    assert set(targets.participants) == scope
    assert "n1" not in scope
    cut = grudge.links(targets.grudge)
    assert cut
    assert all(a in scope and b in scope and a != b for a, b in cut)
    its = set(targets.names)
    one_way = {
        "partition-in": {(a, b) for a in scope - its for b in its},
        "partition-out": {(a, b) for a in its for b in scope - its},
        **{name: {(a, b) for a in scope for b in its if a != b} for name in ("loss-in", "block-port")},
        **{name: {(a, b) for a in its for b in scope if a != b} for name in ("loss-out", "blackhole", "wrong-arp")},
    }
    if row.fault in one_way:
        assert cut == one_way[row.fault]
        return
    assert cut == {(b, a) for a, b in cut}, "each direction is named once, at the receiver"
    if row.selector in (Selector.RING, Selector.BRIDGE, Selector.ALL) and row.fault in PARTITIONS:
        assert its == scope
    elif row.fault in PARTITIONS:
        assert scope - its
        assert cut == {(a, b) for a in scope for b in scope if (a in its) != (b in its)}
    else:
        assert cut == {(a, b) for a, b in grudge.all_links(scope) if a in targets.names or b in targets.names}


@given(case=drawn())
def test_the_choice_is_a_pure_function_of_row_and_observation_and_survives_the_file(case, tmp_path_factory):
    row, topology, targets = case
    path = tmp_path_factory.mktemp("plan") / "plan.jsonl"
    write_plan([row], path)
    (again,) = read_plan(path)
    assert again == row
    known = leads(master=targets.names[0], controller=targets.names[-1])
    if row.selector not in LED:
        assert choose(again, topology, known) == choose(again, topology, leads()) == targets


@given(st.sampled_from([name for name in FAULTS if name.startswith("leader-")]), st.sampled_from(SUFFIXES))
def test_without_a_known_leader_there_is_no_target(name, suffix):
    row = plan(name + suffix, 3, 3)[0]
    topology = Topology.of(specs(3, 3), KINDS, subjects_of(specs(3, 3)))
    assert choose(row, topology, leads()) is None
    assert choose(row, topology, leads(master="gone", controller="gone")) is None
    both = choose(row, topology, leads(master="b2", controller="c3"))
    assert both is not None
    process = not row.how.on_links()
    wanted = {"": ("b2",), "@broker": ("b2",), "@controller": ("c3",)}.get(suffix, ("b2", "c3") if process else ("b2",))
    assert both.names == wanted
    if process and suffix == "@broker+controller":
        assert choose(row, topology, leads(master="b2")) is None


@given(st.sampled_from(FAULTS), st.integers(0, 2**64), st.floats(1, 300), st.floats(1, 300), st.floats(1, 1000))
def test_the_same_seed_is_the_same_plan_and_every_row_can_be_healed_in_time(name, seed, interval, duration, limit):
    assume(interval + duration <= limit)
    times = {"interval_s": interval, "duration_s": duration, "time_limit_s": limit}
    rows = plan(name, 3, 3, seed, **times)
    assert rows == plan(name, 3, 3, seed, **times)
    assert [row.row for row in rows] == list(range(1, len(rows) + 1))
    before = 0.0
    for row in rows:
        assert row.at_s == pytest.approx(before + interval), "healthy seconds come first"
        before = row.at_s + row.duration_s
        assert before <= limit + 1e-6
    assert before + interval + duration > limit - 1e-6, "no row that fits is left out"


@given(st.integers(0, 2**32))
def test_rows_are_drawn_independently_of_each_other(seed):
    rows = plan("random-kill", 3, 3, seed)
    assert len({tuple(sorted(row.draw.items())) for row in rows}) == len(rows) == 6
    fewer = plan("random-kill", 3, 3, seed, time_limit_s=50)
    assert rows[: len(fewer)] == fewer, "a longer run begins with the same faults"


@given(st.integers(0, 2**32))
def test_another_node_shifts_no_other_draw(seed):
    few, many = plan("random-loss", 3, 3, seed), plan("random-loss", 3, 4, seed)
    for a, b in zip(few, many, strict=True):
        assert a.draw == {name: value for name, value in b.draw.items() if name != "c4"}


@given(st.lists(st.sampled_from(FAULTS), min_size=1, max_size=6, unique=True), st.integers(0, 2**32))
def test_a_mix_shows_as_many_faults_as_it_can_and_mechanisms_first(names, seed):
    rows = plan(",".join(names), 3, 3, seed, time_limit_s=400)
    kinds = {catalog()[name].fault for name in names}
    for start in range(0, len(rows), len(names)):
        one = [row.name for row in rows[start : start + len(names)]]
        assert len(set(one)) == len(one)
        assert {row.fault for row in rows[start : start + len(kinds)]} <= kinds
    assert {row.fault for row in rows[: len(kinds)]} == kinds


@given(st.lists(st.sampled_from(FAULTS), min_size=2, max_size=6, unique=True), st.integers(0, 2**32), st.data())
def test_another_name_shifts_as_little_as_possible(names, seed, data):
    """Times and draws stay; the order of the other names of its mechanism within a round stays."""
    *others, added = names
    few = plan(",".join(others), 3, 3, seed, time_limit_s=15 * len(others))
    many = plan(",".join(data.draw(st.permutations(names))), 3, 3, seed, time_limit_s=15 * len(names))
    for a, b in zip(few, many, strict=False):
        assert (a.row, a.at_s, a.duration_s) == (b.row, b.at_s, b.duration_s)
        assert all(b.draw[name] == value for name, value in a.draw.items() if name in b.draw)
    for kind in faults():
        before = [row.name for row in few if row.fault == kind]
        after = [row.name for row in many if row.fault == kind and row.name != added]
        assert before == after


def test_seeds_differ_and_every_size_and_node_comes_up():
    topology = Topology.of(specs(3, 3), KINDS, subjects_of(specs(3, 3)))
    chosen = [
        choose(row, topology, leads()).names
        for seed in range(40)
        for row in plan("random-loss", 3, 3, seed, time_limit_s=200)
    ]
    assert {len(names) for names in chosen} == {1, 2, 3, 4, 5, 6}
    assert {name for names in chosen for name in names} == {"b1", "b2", "b3", "c1", "c2", "c3"}
    cuts = {
        choose(row, topology, leads()).description
        for seed in range(40)
        for row in plan("random-partition", 3, 3, seed, time_limit_s=200)
    }
    assert len(cuts) > 20


NODES = st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=2, max_size=9, unique=True)


@given(NODES, st.data())
def test_components_cut_groups_apart_and_nothing_else(nodes, data):
    marks = {node: data.draw(st.integers(0, 3)) for node in nodes}
    groups = [tuple(n for n in nodes if marks[n] == mark) for mark in range(4)]
    cut = grudge.components(*groups)
    assert all(node not in dropped for node, dropped in cut.items())
    assert grudge.links(cut) == {(b, a) for a, b in grudge.links(cut)}
    assert set(grudge.reachable(cut, nodes)) == {group for group in groups if group}
    assert grudge.complement(cut, nodes) == {(a, b) for a in nodes for b in nodes if a != b and marks[a] == marks[b]}
    assert grudge.links(cut).isdisjoint(grudge.complement(cut, nodes))


@given(NODES, st.data())
def test_a_group_cut_off_and_what_touches_it(nodes, data):
    some = data.draw(st.lists(st.sampled_from(nodes), min_size=1, unique=True))
    rest = [node for node in nodes if node not in some]
    alone = grudge.components(tuple(some), rest)
    assert {frozenset(group) for group in grudge.reachable(alone, nodes)} == {frozenset(some), frozenset(rest)} - {
        frozenset()
    }
    touched = grudge.links(grudge.links_touching(some, nodes))
    assert touched == {(a, b) for a, b in grudge.all_links(nodes) if a in some or b in some}


@given(st.integers(4, 12))
def test_in_a_ring_everybody_reaches_a_majority_and_no_two_the_same(count):
    nodes = [f"n{number}" for number in range(count)]
    cut = grudge.majorities_ring(nodes)
    assert grudge.links(cut) == {(b, a) for a, b in grudge.links(cut)}
    reached = {node: frozenset(nodes) - cut[node] for node in nodes}
    assert all(2 * len(near) > count and len(near) < count for near in reached.values())
    assert len(set(reached.values())) == count
    assert len(grudge.reachable(cut, nodes)) == 1, "through others everybody is reached"


@given(st.integers(3, 12))
def test_a_bridge_is_all_that_two_halves_have_in_common(count):
    nodes = [f"n{number}" for number in range(count)]
    cut = grudge.bridge(nodes)
    (middle,) = set(nodes) - cut.keys()
    halves = grudge.reachable(cut, [node for node in nodes if node != middle])
    assert len(halves) == 2
    assert abs(len(halves[0]) - len(halves[1])) <= 1
    assert len(grudge.reachable(cut, nodes)) == 1


def test_a_one_way_grudge_is_no_group():
    assert grudge.reachable({"a": frozenset({"b"})}, ("a", "b", "c")) == (("a", "b", "c"),)
    assert grudge.reachable({"a": frozenset({"b"})}, ("a", "b")) == (("a",), ("b",))


def test_rows_are_json_a_line_each(tmp_path):
    rows = plan("random-kill@broker+controller", 3, 3)
    write_plan(rows, tmp_path / "plan.jsonl")
    lines = (tmp_path / "plan.jsonl").read_text().splitlines()
    assert len(lines) == len(rows) == 6
    first = msgspec.json.decode(lines[0])
    assert first["row"] == 1
    assert first["at_s"] == 10
    assert first["roles"] == ["broker", "controller"]
    assert set(first["draw"]) == {"#broker", "#controller", "b1", "b2", "b3", "c1", "c2", "c3"}
