"""Swarms: a few of all faults, drawn from the seed."""

import pytest
from leading import subjects_of

from chaos.core.errors import UsageError
from cluster.host import NodeSpec
from nemesis.faults.params import must_be_given
from nemesis.faults.registry import faults
from nemesis.plan.mix import parse_mix
from nemesis.plan.nemesis_names import catalog, parse
from nemesis.plan.plan import make_plan
from nemesis.plan.swarm import FAULTS, NAMES_MOST, is_survived
from nemesis.targets.topology import Topology

KINDS = {"broker": "replica", "controller": "controller"}
NODES = [NodeSpec(name=f"b{n}", role="broker") for n in (1, 2, 3)]
NODES += [NodeSpec(name=f"c{n}", role="controller") for n in (1, 2, 3)]
TOPOLOGY = Topology.of(NODES, KINDS, subjects_of(NODES))


def rows(seed, **changed):
    times = {"interval_s": 5.0, "duration_s": 8.0, "time_limit_s": 600.0} | changed
    return make_plan("swarm", KINDS, NODES, seed=seed, subjects=subjects_of(NODES), **times)


def test_a_run_has_a_few_faults_each_by_few_names():
    for seed in range(30):
        names = {row.name: row.fault for row in rows(seed)}
        kinds = set(names.values())
        assert len(kinds) <= FAULTS[1]
        assert all(list(names.values()).count(kind) <= NAMES_MOST + 1 for kind in kinds), "a restart may follow"
        assert all(parse(name, TOPOLOGY) for name in names if not name.startswith("fixed-"))


def test_all_faults_that_are_survived_come_over_many_runs():
    survived = [fault for fault in faults().values() if fault.survived != frozenset()]
    wanted = {fault.name for fault in survived if not must_be_given(fault.Params)}
    # Of three nodes no ring can be made, and nothing else is by a ring alone.
    seen = {row.fault for seed in range(100) for row in rows(seed, time_limit_s=200.0)}
    assert seen == wanted


def test_what_takes_synced_data_is_not_among_them():
    unsafe = {"bit-flip", "cut-file", "empty-disk", "stale-disk", "swap-disks", "corrupt"}
    every = [choice.entry for choice in parse_mix("swarm", TOPOLOGY).choices]
    assert unsafe.isdisjoint(entry.fault for entry in every)
    assert not is_survived(catalog()["all-power-failure"])
    assert is_survived(catalog()["leader-power-failure"])


def test_a_seed_gives_a_swarm_and_another_another():
    assert rows(1) == rows(1)
    assert {row.name for row in rows(1)} != {row.name for row in rows(2)}


def test_what_is_missing_here_is_not_drawn():
    names = {row.fault for seed in range(50) for row in rows(seed, missing={"kill": "why", "clock-jump": "why"})}
    assert names
    assert names.isdisjoint({"kill", "clock-jump"})


def test_it_stands_alone():
    with pytest.raises(UsageError, match="swarm is some of all faults on some roles, name it alone"):
        parse_mix("swarm,leader-kill", TOPOLOGY)
