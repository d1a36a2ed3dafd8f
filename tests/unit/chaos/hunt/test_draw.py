"""What a hunt draws: the same for the same seed, all of what is offered sooner or later, and nothing impossible."""

from typing import get_args

from leading import subjects_of

from chaos.basics.rand import stream
from chaos.hunt.draw import FAULTS_MOST, Space, options_of
from chaos.hunt.setting import setting_of
from cluster.host import NodeSpec
from nemesis.faults.syscalls.calls import Call
from nemesis.plan.drawn_params import WORDS_MOST, with_params
from nemesis.plan.nemesis_names import parse, words
from nemesis.targets.topology import Topology

NODES = [NodeSpec(name=name, role="broker") for name in ("b1", "b2", "b3")]
TOPOLOGY = Topology.of(NODES, {"broker": "replica"}, subjects_of(NODES))
SPACE = Space(
    workloads=("queue", "ordered"), nemeses=("leader-kill", "random-loss@broker", "all-suspend", "minor-stop")
)


def many(space=SPACE, number=400):
    return [options_of(7, one, space) for one in range(number)]


def test_a_run_is_a_function_of_seed_and_number():
    assert many() == many()
    assert options_of(7, 1, SPACE) != options_of(8, 1, SPACE)
    assert len({one["seed"] for one in many()}) == 400


def test_everything_that_is_offered_is_drawn_and_only_a_part_at_once():
    drawn = many()
    assert {one["workload"] for one in drawn} == {"queue", "ordered"}
    names = [words(one["nemesis"]) for one in drawn]
    assert {name.partition(":")[0] for run in names for name in run} >= {"leader-kill", "random-loss", "all-suspend"}
    assert {len(run) for run in names} == set(range(1, FAULTS_MOST + 1))
    assert all(one["fault_interval_s"] + one["fault_duration_s"] <= one["time_limit_s"] for one in drawn)


def test_what_is_fixed_is_not_drawn_and_leaves_time_for_a_fault():
    space = Space(workloads=("queue",), nemeses=("leader-kill",), fixed={"rate": 30.0, "time_limit_s": 4.0})
    for one in many(space):
        assert (one["rate"], one["time_limit_s"], one["nemesis"]) == (30.0, 4.0, "leader-kill")
        assert one["fault_interval_s"] + one["fault_duration_s"] <= 4.0


def test_shares_are_drawn_unless_they_are_named():
    drawn = {with_params(stream(1, number), "random-loss@broker") for number in range(50)}
    assert drawn == {f"random-loss:probability={share}@broker" for share in (0.1, 0.3, 0.6, 1.0)}
    assert with_params(stream(1), "random-loss:probability=0.2") == "random-loss:probability=0.2"
    assert with_params(stream(1), "leader-kill") == "leader-kill"


def test_words_are_drawn_from_those_that_there_are():
    texts = {with_params(stream(1, number), "leader-syscall-error@broker") for number in range(400)}
    drawn = [dict(parse(text, TOPOLOGY).params) for text in texts]
    assert {text.rpartition("@")[2] for text in texts} == {"broker"}
    taken = [one["call"].split("+") for one in drawn]
    assert {call for calls in taken for call in calls} == set(get_args(Call))
    assert {len(calls) for calls in taken} == set(range(1, WORDS_MOST + 1))
    assert {"EIO", "ENOSPC"} < {one["errno"] for one in drawn}
    assert {one["every"] for one in drawn} == {1}, "a number that is no share keeps its default"
    healed = {with_params(stream(1, number), "leader-staged-heal") for number in range(50)}
    assert healed == {"leader-staged-heal:by=link", "leader-staged-heal:by=node"}
    assert with_params(stream(1), "leader-block-port") == "leader-block-port"
    assert with_params(stream(1), "leader-staged-heal:by=link") == "leader-staged-heal:by=link"


def test_the_runs_of_a_system_can_begin_and_hit_what_hosts_can_do():
    setting = setting_of({"system": "minimq", "backend": "sim", "store": "nowhere"})
    assert setting.simulated
    assert "queue" in setting.space.workloads
    assert "register" not in setting.space.workloads
    assert not any("delay" in name for name in setting.space.nemeses)
    drawn = [setting.drawn(3, number) for number in range(3)]
    assert [setting.drawn(3, number) for number in range(3)] == drawn
    assert all(candidate.rows for _, candidate in drawn)
    bent = setting_of({"system": "minimq", "backend": "sim", "bug": "ack-before-replicate"})
    experiment, _ = bent.drawn(3, 0)
    assert experiment.settings["bug"] == "ack-before-replicate"
