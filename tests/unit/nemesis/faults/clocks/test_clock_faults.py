"""Faults of clocks: what each asks of whom, and which runs cannot have them."""

import pytest
from click.testing import CliRunner

from chaos.cli.plan import plan_command
from chaos.core.errors import UsageError
from cluster.cluster import Cluster, Node
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.fault import Scene
from nemesis.faults.params import read
from nemesis.faults.registry import faults
from nemesis.runner import LAST_LOOK_S
from nemesis.targets.targets import Targets


def made(name, names=("a", "b", "c", "d", "e"), **params):
    fault = faults()[name]
    nodes = {one: Node(None, None, None) for one in names}
    targets = Targets(names=names, participants=(), grudge={}, description="")
    scene = Scene(Cluster("run", nodes, {}), targets, None, params=read(fault.Params, params))
    return fault(scene)


def test_what_is_asked_of_the_program():
    assert made("clock-jump").shift("a") == Shift(base_ns=60_000_000_000)
    assert made("clock-jump", seconds=-86_400).shift("a") == Shift(base_ns=-86_400_000_000_000)
    assert made("clock-drift", ppm=500).shift("a") == Shift(rate=0.0005)
    assert made("clock-strobe", seconds=-2, period_ms=50).shift("a") == Shift(
        delta_ns=-2_000_000_000, half_ns=25_000_000
    )


@pytest.mark.parametrize("count", range(1, 8))
def test_offsets_differ_and_none_is_nothing(count):
    names = tuple("abcdefg"[:count])
    offsets = [made("clock-offset", names, seconds=6).shift(name).base_ns for name in names]
    assert len(set(offsets)) == count
    assert 0 not in offsets
    assert max(map(abs, offsets)) == 6_000_000_000


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("clock-jump", {"seconds": 0}),
        ("clock-offset", {"seconds": 0}),
        ("clock-drift", {"ppm": 0}),
        ("clock-strobe", {"seconds": 0}),
    ],
)
def test_at_zero_nothing_is_asked(name, params):
    assert {made(name, **params).shift(one) for one in "abcde"} == {None}


@pytest.mark.parametrize("period_ms", [1, 100, 1_000])
def test_a_last_look_has_its_time(period_ms):
    strobe = made("clock-strobe", period_ms=period_ms)
    assert period_ms / 1e3 <= strobe.span_s(quick=True) < LAST_LOOK_S * 0.6
    assert 2 * period_ms / 1e3 <= strobe.span_s(quick=False)
    assert all(
        made(name).span_s(quick=True) < LAST_LOOK_S / 4 for name in ("clock-jump", "clock-offset", "clock-drift")
    )


def test_none_is_part_of_all():
    assert not any(fault.in_all for name, fault in faults().items() if name.startswith("clock-"))


def plan(*words):
    return CliRunner().invoke(
        plan_command, ["--system", "rocketmq", "--nemesis", "leader-clock-jump", *words], standalone_mode=False
    )


@pytest.mark.parametrize("workload", ["delayed", "pop"])
def test_what_is_judged_by_brokers_clocks_is_refused(workload):
    done = plan("--workload", workload)
    assert type(done.exception) is UsageError
    assert f"{workload} is judged by the brokers' clocks" in str(done.exception)


def test_other_workloads_are_not():
    done = plan("--workload", "queue")
    assert done.exception is None
    assert "leader-clock-jump" in done.output
