"""What a hunt draws: the same for the same seed, all of what is offered sooner or later, and nothing impossible."""

from chaos.core.rand import stream
from chaos.hunt.draw import FAULTS_MOST, Space, options_of, with_share
from chaos.hunt.setting import setting_of
from nemesis.plan.nemesis_names import words

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
    drawn = {with_share(stream(1, number), "random-loss@broker") for number in range(50)}
    assert drawn == {f"random-loss:probability={share}@broker" for share in (0.1, 0.3, 0.6, 1.0)}
    assert with_share(stream(1), "random-loss:probability=0.2") == "random-loss:probability=0.2"
    assert with_share(stream(1), "leader-kill") == "leader-kill"


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
