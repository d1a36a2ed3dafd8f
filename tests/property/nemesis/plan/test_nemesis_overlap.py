"""Faults at once: when sequences come, in which lanes rows run, and whom a fault takes while others are in force."""

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from leading import leads, subjects_of
from nemesis_texts import plain_names

from chaos.core.errors import UsageError
from cluster.host import NodeSpec
from cluster.network.packet_filter import Rule
from nemesis.faults.active_faults import InForce
from nemesis.plan.choose_targets import choose
from nemesis.plan.nemesis_names import catalog
from nemesis.plan.plan import Row, lanes
from nemesis.plan.sequence import UNTIL, Step, Steps, plan_steps, round_s, rounds, scale_steps, times
from nemesis.targets.selectors import Selector
from nemesis.targets.topology import Topology

KINDS = {"broker": "replica", "controller": "controller"}
SPECS = [NodeSpec(name=f"b{i}", role="broker") for i in range(1, 6)]
SPECS += [NodeSpec(name=f"c{i}", role="controller") for i in range(1, 4)]
TOPOLOGY = Topology.of(SPECS, KINDS, subjects_of(SPECS))
NAMES = sorted(
    name
    for name in plain_names()
    if catalog()[name].fault is not None and catalog()[name].selector not in (Selector.ALL, Selector.FIXED)
)
OF_NODES = [name for name in NAMES if not catalog()[name].how.on_links()]
SECONDS = st.integers(1, 40).map(float)


@st.composite
def step(draw, names=NAMES):
    when = {draw(st.sampled_from(["at", "after"])): draw(st.integers(0, 40).map(float))}
    return Step(nemesis=draw(st.sampled_from(names)), duration=draw(SECONDS), **when)


def sequences(names=NAMES):
    return st.lists(step(names), min_size=1, max_size=6).map(tuple)


def rows(steps, repeat=1, time_limit_s=10_000, seed=1):
    return plan_steps(
        Steps(steps=steps, repeat=repeat),
        KINDS,
        SPECS,
        time_limit_s=time_limit_s,
        seed=seed,
        subjects=subjects_of(SPECS),
    )


@given(sequences())
def test_each_step_comes_at_its_time_and_after_means_the_end_of_the_step_before(steps):
    begun = times(steps)
    for i, one in enumerate(steps):
        before_s = begun[i - 1] + steps[i - 1].duration if i else 0.0
        assert begun[i] == (one.at if one.at is not None else before_s + one.after)
    plan = rows(steps)
    assert [row.row for row in plan] == list(range(1, len(steps) + 1))
    assert [row.at_s for row in plan] == sorted(row.at_s for row in plan)
    assert sorted((row.at_s, row.duration_s, row.name) for row in plan) == sorted(
        (at_s, one.duration, one.nemesis) for at_s, one in zip(begun, steps, strict=True)
    )


@given(sequences(), st.integers(1, 5), st.integers(0, 300))
def test_rounds_are_whole_and_follow_each_other(steps, number, beyond):
    one_s = round_s(steps)
    limit_s = number * one_s + beyond
    asked = Steps(steps=steps, repeat=UNTIL)
    many = rounds(asked, limit_s)
    assert many * one_s <= limit_s < (many + 1) * one_s
    plan = rows(steps, UNTIL, limit_s)
    assert len(plan) == many * len(steps)
    assert max(row.at_s + row.duration_s for row in plan) <= limit_s
    first = [(row.at_s, row.duration_s, row.name) for row in rows(steps)]
    again = [(row.at_s - one_s, row.duration_s, row.name) for row in plan if one_s <= row.at_s < 2 * one_s]
    assert again == (first if many > 1 else [])
    with pytest.raises(UsageError, match="the last heal included"):
        rounds(Steps(steps=steps, repeat=many + 1), limit_s)


@given(sequences(), st.floats(0.01, 1))
def test_a_shorter_sequence_keeps_what_overlaps(steps, factor):
    least_s = 10.0
    short = scale_steps(Steps(steps=steps), factor, least_s).steps
    long_enough = [one.duration for one in steps if one.duration >= least_s]
    assert round_s(short) <= round_s(steps) + 1e-6
    if len(long_enough) == len(steps):
        assert min(one.duration for one in short) >= least_s - 0.001
    ratio = short[0].duration / steps[0].duration
    for at_s, was_s in zip(times(short), times(steps), strict=True):
        assert at_s == pytest.approx(was_s * ratio, rel=0.01, abs=0.05)


@given(sequences())
def test_a_lane_never_overlaps_and_there_are_no_more_lanes_than_faults_at_once(steps):
    plan = rows(steps)
    made = lanes(plan)
    assert sorted(row.row for lane in made for row in lane) == [row.row for row in plan]
    for lane in made:
        for one, following in itertools.pairwise(lane):
            assert one.at_s + one.duration_s <= following.at_s
    at_once = max(sum(other.at_s <= row.at_s < other.at_s + other.duration_s for other in plan) for row in plan)
    assert len(made) == at_once


def test_rows_one_after_the_other_are_one_lane():
    steps = (Step(nemesis="leader-kill", at=10, duration=10), Step(nemesis="random-loss", after=0, duration=5))
    assert len(lanes(rows(steps))) == 1
    assert lanes(()) == ()


@given(sequences(OF_NODES), st.integers(0, 2**16), st.integers(1, 5))
def test_no_node_is_taken_twice_and_a_replica_is_left_by_all_together(steps, seed, master):
    known = leads(master=f"b{master}", controller="c1")
    busy: set[str] = set()
    for row in rows(steps, seed=seed):
        targets = choose(row, TOPOLOGY, known, frozenset(busy))
        alone = choose(row, TOPOLOGY, known)
        assert alone is not None
        if not busy:
            assert targets == alone
        if targets is None:
            continue
        assert targets.names
        assert busy.isdisjoint(targets.names)
        busy |= set(targets.names)
        assert len(busy.intersection(TOPOLOGY.nodes["broker"])) <= len(TOPOLOGY.nodes["broker"]) - 1


def test_a_fault_that_has_too_few_free_nodes_has_no_target_yet():
    row = rows((Step(nemesis="major-kill", at=1, duration=1),))[0]
    known = leads(master="b1")
    assert choose(row, TOPOLOGY, known, frozenset({"b1", "b2"})) is None
    assert len(choose(row, TOPOLOGY, known, frozenset({"b1"})).names) == 3
    led = rows((Step(nemesis="leader-kill", at=1, duration=1),))[0]
    assert choose(led, TOPOLOGY, known, frozenset({"b1"})) is None
    assert choose(led, TOPOLOGY, known, frozenset({"b2", "b3", "b4", "b5"})) is None
    assert choose(led, TOPOLOGY, known, frozenset({"b2", "b3", "b4"})).names == ("b1",)


@given(st.data())
def test_faults_of_links_are_chosen_as_if_alone(data):
    name = data.draw(st.sampled_from(sorted(set(NAMES) - set(OF_NODES))))
    row = rows((Step(nemesis=name, at=1, duration=1),), seed=data.draw(st.integers(0, 99)))[0]
    known = leads(master="b1", controller="c1")
    assert choose(row, TOPOLOGY, known, frozenset({"b1", "b2"})) == choose(row, TOPOLOGY, known)


@pytest.mark.parametrize("name", ["all", "leader-kill,random-loss", "noop"])
def test_a_step_is_one_fault(name):
    with pytest.raises(UsageError, match="a step is one fault"):
        rows((Step(nemesis=name, at=1, duration=1),))


RULES = st.sampled_from(
    [Rule(f"198.18.0.{i}", "INPUT", *how) for i in (1, 2) for how in ((None, None), (0.8, None), (None, 7))]
)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.frozensets(RULES)), max_size=12))
def test_a_filter_holds_what_the_faults_in_force_ask_for_whatever_the_order(moves):
    owners = [object() for _ in range(4)]
    wanted: dict[int, frozenset[Rule]] = {}
    held: list[tuple[Rule, ...]] = [()]
    force = InForce()
    for owner, acts, rules in moves:
        if acts:
            wanted[owner] = rules
            force.hold(owners[owner], "b1", tuple(rules), held.append)
        else:
            wanted.pop(owner, None)
            force.release(owners[owner], "b1", held.append)
        assert set(held[-1]) == frozenset().union(*wanted.values())
        assert len(held[-1]) == len(set(held[-1]))
        order = [2 if rule.queue is not None else 1 if rule.probability is not None else 0 for rule in held[-1]]
        assert order == sorted(order), "cuts, then shares, then queues"
    assert force.look_at("b2", len) == 0


def test_links_are_disturbed_by_others_from_the_act_to_the_heal_and_for_looks_that_began_before():
    force, mine, other = InForce(), object(), object()
    link = ("b1", "b2")
    force.disturb(mine, {link})
    assert force.disturbed(mine, 0) == frozenset()
    assert force.disturbed(other, 2**63) == {link}
    force.calm(mine)
    force.calm(mine)
    assert force.disturbed(other, 0) == {link}
    assert force.disturbed(other, 2**63) == frozenset()


@given(st.data())
def test_rows_that_share_an_instant_do_not_overlap(data):
    number = data.draw(st.integers(1, 8))
    length_s = data.draw(SECONDS)
    assume(number > 0)
    steps = tuple(Step(nemesis="random-loss", after=0.0, duration=length_s) for _ in range(number))
    made: tuple[tuple[Row, ...], ...] = lanes(rows(steps))
    assert [len(lane) for lane in made] == [number]
