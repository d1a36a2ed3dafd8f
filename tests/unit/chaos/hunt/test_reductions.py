"""Which smaller runs are tried, driven by rules instead of runs."""

import msgspec
import pytest

from chaos.hunt.candidate import Candidate, experiment_for, last_end_s
from chaos.hunt.reductions import LEAST_RATE, fewer_targets_of, reduce_run
from chaos.options.experiment import as_yaml
from chaos.options.planning import draw_plan
from chaos.options.resolve import experiment_of
from chaos.options.system_under_test import system_of
from cluster.leaders import subjects_of
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan_file import read_plan, write_plan
from nemesis.targets.topology import Topology


def planned(nemesis="all", seed=3, **more):
    experiment = experiment_of({"backend": "sim", "nemesis": nemesis, "seed": seed, **more})
    system = system_of(experiment)
    topology = Topology.of(
        system.topology(experiment.settings),
        system.roles,
        subjects_of(system, experiment.settings, experiment.keys),
    )
    start = Candidate(
        rows=draw_plan(experiment, system),
        seed=seed,
        time_limit_s=experiment.time_limit_s,
        rate=50.0,
        clients=8,
        keys=4,
    )
    return experiment, topology, start


def driven(start, topology, fails):
    """The smallest, and all that were tried."""
    search, tried = reduce_run(start, topology), []
    try:
        wanted = next(search)
        while True:
            tried.append(wanted)
            wanted = search.send(wanted if fails(wanted) else None)
    except StopIteration as ended:
        return ended.value, tried


def test_a_run_that_always_fails_shrinks_to_nothing():
    _, topology, start = planned()
    found, tried = driven(start, topology, lambda _: True)
    assert found == Candidate(rows=(), seed=3, time_limit_s=1.0, rate=LEAST_RATE, clients=1, keys=1)
    assert tried[0].rows == ()


def test_a_run_of_which_all_is_needed_stays_and_each_part_was_tried():
    _, topology, start = planned()
    found, tried = driven(start, topology, lambda one: False)
    assert found == start
    kept = [{(row.at_s, row.name) for row in one.rows} for one in tried]
    for row in start.rows:
        assert any((row.at_s, row.name) not in names and len(names) >= len(start.rows) - 2 for names in kept)


def test_what_is_needed_is_left_and_nothing_else():
    _, topology, start = planned("leader-kill,random-suspend", time_limit_s=120.0)
    suspends = lambda one: [row for row in one.rows if row.fault == "suspend"]  # noqa: E731

    def fails(one):
        return any(row.duration_s >= 1.5 for row in suspends(one)) and one.rate >= 20 and one.clients >= 3

    found, _ = driven(start, topology, fails)
    (row,) = found.rows
    assert (row.fault, row.at_s) == ("suspend", 1.0)
    assert 1.5 <= row.duration_s < 3
    assert (found.rate, found.clients, found.keys) == (25.0, 4, 1)
    assert found.time_limit_s == last_end_s(found.rows)
    targets = choose(row, topology, {})
    assert targets is not None
    assert len(targets.names) == 1


def test_every_run_that_is_tried_can_be_written_and_begun(tmp_path):
    _, topology, start = planned(time_limit_s=90.0)
    rules = [lambda _: True, lambda _: False, lambda one: len(one.rows) > 1 and one.clients > 2]
    for rule in rules:
        for one in driven(start, topology, rule)[1]:
            write_plan(one.rows, tmp_path / "plan.jsonl")
            assert read_plan(tmp_path / "plan.jsonl") == one.rows
            assert last_end_s(one.rows) <= one.time_limit_s + 1e-6
            assert [row.row for row in one.rows] == list(range(1, len(one.rows) + 1))
            assert all(row.at_s >= 0 and row.duration_s > 0 for row in one.rows)
            assert {row.follows for row in one.rows} <= {0, *(row.row for row in one.rows)}


def test_a_fault_that_follows_another_goes_with_it():
    _, _, start = planned(time_limit_s=300.0)
    followers = [row for row in start.rows if row.follows]
    assert followers
    followed = followers[0].follows
    left = start.with_rows(row for row in start.rows if row.row != followed)
    assert len(left.rows) <= len(start.rows) - 2
    assert {row.follows for row in left.rows} <= {0, *(row.row for row in left.rows)}
    both = start.with_rows(row for row in start.rows if row.row in (followed, followers[0].row))
    assert [row.follows for row in both.rows] == [0, 1]


@pytest.mark.parametrize("nemesis", ["all-suspend", "major-kill", "all-loss", "major-partition"])
def test_fewer_targets_are_those_of_before_but_one(nemesis):
    _, topology, start = planned(nemesis)
    row = start.rows[0]
    before = choose(row, topology, {})
    assert before is not None
    fewer = fewer_targets_of(row, topology)
    assert len(fewer) == len(before.names)
    for one in fewer:
        targets = choose(one, topology, {})
        assert targets is not None
        assert set(targets.names) < set(before.names)
        assert len(targets.names) == len(before.names) - 1
        assert one.name.startswith("fixed-")


@pytest.mark.parametrize("nemesis", ["leader-kill", "minor-kill", "partition-majorities-ring"])
def test_of_one_target_and_of_rings_nobody_is_left_out(nemesis):
    _, topology, start = planned(nemesis)
    assert fewer_targets_of(start.rows[0], topology) == ()


def test_of_leaders_of_several_subjects_one_is_left():
    _, topology, start = planned("leader-kill@all")
    subjects = (*topology.led_by("broker"), *topology.led_by("controller"))
    row = msgspec.structs.replace(start.rows[0], subjects=subjects, roles=("broker", "controller"))
    assert [(one.subjects, one.roles) for one in fewer_targets_of(row, topology)] == [
        (subjects[:1], ("broker",)),
        (subjects[1:], ("controller",)),
    ]


def test_the_run_of_a_candidate_is_one_that_a_file_can_ask_for(tmp_path):
    experiment, _, start = planned("leader-kill,random-loss:probability=0.3@broker")
    small = start.with_rows(start.rows[:1])
    asked = experiment_for(experiment, small, tmp_path / "plan.jsonl")
    assert asked.nemesis == start.rows[0].name
    assert (asked.plan, asked.seed, asked.workers) == (str(tmp_path / "plan.jsonl"), 3, 1)
    (tmp_path / "config.yaml").write_text(as_yaml(asked))
    again = experiment_of({"driver": str(tmp_path / "config.yaml")})
    assert msgspec.structs.replace(again, origins={}) == msgspec.structs.replace(asked, origins={})
    assert experiment_for(experiment, start.with_rows(()), tmp_path / "plan.jsonl").nemesis == "noop"
