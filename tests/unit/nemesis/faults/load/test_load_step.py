"""Steps of the load: when they are planned, how much more is due, and what proves it."""

from itertools import takewhile

import pytest
from leading import subjects_of

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.models.log.words import SENDS, F
from chaos.workload.base import LoadSpec, OpenLoop
from cluster.host import NodeSpec
from nemesis.faults.load.load_step import judge
from nemesis.plan.plan import load_steps, make_plan
from nemesis.plan.sequence import Step, Steps, plan_steps

KINDS = {"broker": "replica"}
NODES = [NodeSpec(name=f"b{n}", role="broker") for n in (1, 2, 3)]
MIX = {F.SEND: 1.0, F.POLL: 0.5}


def planned(nemesis="load-step:factor=4", **changed):
    times = {"interval_s": 10.0, "duration_s": 8.0, "time_limit_s": 40.0} | changed
    return make_plan(nemesis, KINDS, NODES, seed=1, subjects=subjects_of(NODES), **times)


def arrivals(steps, until_s=30.0, clients=(0, 1, 2), rate=50.0):
    spec = LoadSpec(
        keys=4,
        clients=4,
        seed=7,
        body_bytes=0,
        op_timeout_s=3.0,
        operations=frozenset(MIX),
        quiet=((20.0, 22.0),),
        steps=steps,
    )
    loop = OpenLoop(spec, MIX, frozenset(SENDS))
    return list(takewhile(lambda one: one.at_ns < until_s * NS_PER_S, loop.arrivals(list(clients), rate)))


def test_a_plan_says_when_the_load_is_higher():
    assert load_steps(planned()) == ((10.0, 18.0, 4.0), (28.0, 36.0, 4.0))
    assert load_steps(planned("random-kill")) == ()
    assert load_steps(planned("load-step:factor=1")) == ()


def test_in_a_step_so_many_times_as_much_is_due_and_elsewhere_the_same():
    usual, more = arrivals(()), arrivals(((10.0, 18.0, 4.0),))
    inside = [one for one in more if 10 * NS_PER_S <= one.at_ns < 18 * NS_PER_S]
    before = [one for one in usual if 10 * NS_PER_S <= one.at_ns < 18 * NS_PER_S]
    assert len(inside) == pytest.approx(4 * len(before), rel=0.02)
    assert {one.f for one in inside} == {F.SEND, F.POLL}
    assert [one for one in more if one not in inside] == [one for one in usual if one not in before]
    assert [one.at_ns for one in more] == sorted(one.at_ns for one in more)


def test_a_step_waits_for_nothing():
    with pytest.raises(UsageError, match="a step of it cannot wait"):
        planned(when="role-change", within_s=5.0)
    step = Step(nemesis="load-step", at=5.0, duration=5.0, when="role-change", within=5.0)
    with pytest.raises(UsageError, match="it cannot wait"):
        plan_steps(Steps(steps=(step,)), KINDS, NODES, time_limit_s=30.0, seed=1, subjects=subjects_of(NODES))


@pytest.mark.parametrize(
    ("begun_s", "factor", "wanted", "proven"),
    [
        (600, 3, True, True),
        (200, 3, True, False),
        (340, 3, True, False),
        (200, 3, False, True),
        (600, 3, False, False),
        (200, 1, True, False),
        (200, 1, False, True),
    ],
)
def test_a_step_is_proven_by_what_is_begun(begun_s, factor, wanted, proven):
    evidence = judge(begun_s, 200, factor, wanted=wanted)
    assert evidence.proven is proven
    assert evidence.summary
