"""Leaders of subjects: whom ``leader-`` hits over all shapes of clusters and subjects (SEMANTICS 21)."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nemesis_texts import plain_names

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Subject
from cluster.host import NodeSpec
from cluster.leaders import Lead
from nemesis.plan.choose_targets import choose
from nemesis.plan.left_out import left_out
from nemesis.plan.nemesis_names import catalog, parse
from nemesis.plan.plan import NO_LEADERS, make_plan
from nemesis.plan.plan_file import read_plan, write_plan
from nemesis.targets.selectors import Selector
from nemesis.targets.topology import Topology

KINDS = {"broker": "replica", "controller": "controller"}
LEADERS = sorted(name for name in plain_names() if catalog()[name].selector is Selector.LEADER)
OF_NODES = [name for name in LEADERS if not catalog()[name].how.on_links()]
TIMES = {"interval_s": 5, "duration_s": 5, "time_limit_s": 200, "rhythm": "even"}


class Shape:
    """A cluster in which each of some partitions may be led by any broker, or by those of a group of its own."""

    def __init__(self, brokers, controllers, subjects, grouped):
        self.brokers = [f"b{i + 1}" for i in range(brokers)]
        self.controllers = [f"c{i + 1}" for i in range(controllers)]
        self.nodes = [NodeSpec(name=name, role="controller") for name in self.controllers]
        self.nodes += [NodeSpec(name=name, role="broker") for name in self.brokers]
        own = [tuple(self.brokers[i::subjects]) for i in range(subjects)] if grouped else [()] * subjects
        self.partitions = [Subject(name=f"partition-{i}", nodes=own[i], keys=(i,)) for i in range(subjects)]
        ensemble = Subject(name="quorum", kind="controller", nodes=tuple(self.controllers))
        self.subjects = (*self.partitions, *([ensemble] if controllers else []))
        self.topology = Topology.of(self.nodes, KINDS, self.subjects)

    def plan(self, nemesis, seed=1, **times):
        return make_plan(nemesis, KINDS, self.nodes, seed=seed, subjects=self.subjects, **(TIMES | times))

    def leads(self, pick):
        """Somebody who may leads each subject; ``pick`` decides who."""
        out = {}
        for place, subject in enumerate(self.subjects):
            among = subject.nodes or self.brokers
            leader = among[(pick + place * 7) % len(among)]
            out[subject.name] = Lead(subject=subject.name, kind=subject.kind, leader=leader, epoch=1)
        return out


@st.composite
def shapes(draw, least_controllers=0):
    brokers, grouped = draw(st.integers(2, 9)), draw(st.booleans())
    subjects = draw(st.integers(1, brokers if grouped else 40))
    return Shape(brokers, draw(st.integers(least_controllers, 5)), subjects, grouped)


FOLLOWERS = [name.replace("leader-", "follower-", 1) for name in LEADERS if name.startswith("leader-")]
FOLLOWERS = [name for name in FOLLOWERS if name in catalog()]


@given(shapes(), st.sampled_from(FOLLOWERS), st.integers(0, 2**32), st.integers(0, 99))
def test_a_follower_is_a_node_of_the_subject_that_does_not_lead_it(shape, nemesis, seed, pick):
    assume(all(len(one.nodes or shape.brokers) > 1 for one in shape.partitions))
    leads = shape.leads(pick)
    for row in shape.plan(nemesis, seed):
        (subject,) = row.subjects
        targets = choose(row, shape.topology, leads)
        (name,) = targets.names
        assert name != leads[subject].leader
        assert name in (shape.topology.subjects[subject].nodes or shape.brokers)
        assert choose(row, shape.topology, {}) is None, "nobody is known to lead"
        assert choose(row, shape.topology, leads) == targets


@given(shapes(), st.integers(0, 99))
def test_a_follower_is_free_and_every_one_comes_up(shape, pick):
    assume(all(len(one.nodes or shape.brokers) > 2 for one in shape.partitions))
    leads, hit = shape.leads(pick), {}
    for row in shape.plan("follower-suspend", time_limit_s=2000):
        (name,) = choose(row, shape.topology, leads).names
        hit.setdefault(row.subjects[0], set()).add(name)
        other = choose(row, shape.topology, leads, frozenset({name}))
        assert other is None or other.names != (name,)
    if len(shape.partitions) == 1:
        assert hit[shape.partitions[0].name] == set(shape.brokers) - {leads[shape.partitions[0].name].leader}


def test_a_subject_of_one_node_has_no_follower():
    shape = Shape(2, 0, 2, grouped=True)
    with pytest.raises(UsageError, match="follower-kill: partition-0 has one node and no follower"):
        shape.plan("follower-kill")


@given(shapes(), st.sampled_from(LEADERS), st.integers(0, 2**32), st.integers(0, 99))
def test_without_a_suffix_the_leader_of_one_drawn_subject_is_hit(shape, nemesis, seed, pick):
    leads = shape.leads(pick)
    for row in shape.plan(nemesis, seed):
        (subject,) = row.subjects
        assert subject in {one.name for one in shape.partitions}
        targets = choose(row, shape.topology, leads)
        assert targets is not None
        assert targets.names == (leads[subject].leader,)
        assert len(shape.partitions) == 1 or f"leader of {subject} " in targets.description


@given(shapes(), st.sampled_from(LEADERS), st.integers(0, 2**32), st.integers(0, 99), st.data())
def test_of_a_named_subject_its_own_leader_is_hit_whoever_else_leads(shape, nemesis, seed, pick, data):
    name = data.draw(st.sampled_from(shape.partitions)).name
    leads = shape.leads(pick)
    for row in shape.plan(f"{nemesis}@{name}", seed):
        assert row.subjects == (name,)
        targets = choose(row, shape.topology, leads)
        assert targets is not None
        assert targets.names == (leads[name].leader,)
        assert choose(row, shape.topology, {one: lead for one, lead in leads.items() if one != name}) is None


@given(shapes(), st.sampled_from(OF_NODES), st.integers(0, 99))
def test_with_all_every_leader_is_hit_once_and_nobody_else(shape, nemesis, pick):
    leads = shape.leads(pick)
    (row, *_) = shape.plan(f"{nemesis}@all")
    targets = choose(row, shape.topology, leads)
    assert targets is not None
    wanted = {leads[subject.name].leader for subject in shape.partitions}
    assert set(targets.names) == wanted
    assert len(targets.names) == len(wanted)


@given(shapes(least_controllers=1), st.sampled_from(OF_NODES), st.integers(0, 99))
def test_controllers_are_named_by_their_role_or_by_their_subject(shape, nemesis, pick):
    leads = shape.leads(pick)
    for suffix in ("controller", "quorum"):
        (row, *_) = shape.plan(f"{nemesis}@{suffix}")
        targets = choose(row, shape.topology, leads)
        assert targets is not None
        assert targets.names == (leads["quorum"].leader,)
        assert row.roles == ("controller",)


@given(shapes(least_controllers=1), st.integers(0, 2**32))
def test_in_a_mix_faults_of_controllers_are_followed_by_no_restart_of_brokers(shape, seed):
    plan = shape.plan("leader-partition@quorum,leader-restart@quorum", seed, rhythm="mixed", time_limit_s=600)
    assert {row.subjects for row in plan} == {("quorum",)}, "each row is one that was named"


@given(shapes(), st.integers(0, 2**32))
def test_every_subject_comes_up_in_time_and_the_same_seed_draws_the_same(shape, seed):
    assume(len(shape.partitions) <= 4)
    rows = shape.plan("leader-kill", seed, time_limit_s=2000)
    assert rows == shape.plan("leader-kill", seed, time_limit_s=2000)
    assert {row.subjects[0] for row in rows} == {subject.name for subject in shape.partitions}


@given(shapes(), st.sampled_from(LEADERS), st.integers(0, 2**32))
def test_rows_survive_the_file(shape, nemesis, seed):
    rows = shape.plan(f"{nemesis}@{shape.partitions[-1].name}", seed)
    assert {row.identity.kind for row in rows} == {catalog()[nemesis].fault}


def test_rows_of_subjects_are_read_back(tmp_path):
    rows = Shape(3, 3, 4, grouped=False).plan("leader-kill@all,leader-stop@partition-2")
    write_plan(rows, tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl") == rows


@given(st.integers(1, 9), st.sampled_from(LEADERS))
def test_where_nobody_leads_that_is_said_in_one_line(brokers, nemesis):
    nodes = [NodeSpec(name=f"b{i}", role="broker") for i in range(brokers)]
    with pytest.raises(UsageError) as error:
        make_plan(nemesis, KINDS, nodes, seed=1, **TIMES)
    assert str(error.value) == f"--nemesis {nemesis}: {NO_LEADERS}"


def test_all_has_no_faults_of_leaders_where_nobody_leads():
    nodes = [NodeSpec(name=f"n{i}", role="broker") for i in range(5)]
    rows = make_plan("all", KINDS, nodes, seed=1, **TIMES)
    assert rows
    assert not [row.name for row in rows if row.selector is Selector.LEADER]
    told = left_out("all", KINDS, nodes, {})
    assert any(line.startswith("all leaves out what needs a leader: leader-") for line in told)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader-kill@partition-7", "no role or subject 'partition-7' here that a fault may hit; did you mean"),
        ("random-kill@partition-1", "no role 'partition-1'"),
        ("random-kill@all", "no role 'all'"),
        ("leader-kill@partition-1+broker", "name roles or subjects, not both"),
        ("leader-kill@partition-1+partition-1", "partition-1 is named twice"),
        ("leader-kill@all+partition-1", "all is every subject, name it alone"),
        ("leader-kill@x", "subjects: partition-0, partition-1, partition-2, quorum, all"),
    ],
)
def test_what_names_no_subject_is_said_in_one_line(text, said):
    with pytest.raises(UsageError) as error:
        parse(text, Shape(3, 3, 3, grouped=False).topology)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_thousand_subjects_fill_no_message():
    with pytest.raises(UsageError, match=r"partition-7 and 994 more$"):
        parse("leader-kill@x", Shape(3, 3, 1000, grouped=False).topology)
