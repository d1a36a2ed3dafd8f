"""Plans whose one fault is never healed."""

import pytest

from chaos.core.errors import UsageError
from chaos.options.config_file import Config
from chaos.options.experiment import as_yaml
from chaos.options.planning import plan_of
from chaos.options.resolve import experiment_of
from chaos.options.system_under_test import system_of
from cluster.simulation.backend import SimBackend
from nemesis.plan.plan_file import read_plan, write_plan


def planned(nemesis, **more):
    """The plan of a run on simulated hosts, and the run as it was resolved."""
    asked = {"backend": "sim", "nemesis": nemesis, "never_heal": True, "time_limit_s": 60.0, "fault_interval_s": 10.0}
    experiment = experiment_of({**asked, **more})
    return plan_of(experiment, system_of(experiment), SimBackend(), lambda _line: None), experiment


def test_one_fault_lasts_from_the_interval_to_the_end():
    ((row,), experiment) = planned("minor-kill")
    assert (row.at_s, row.duration_s, row.heals, row.identity.heals) == (10.0, 50.0, False, False)
    assert experiment.fault_duration_s == 50.0
    assert "fault-duration" in as_yaml(experiment).replace("_", "-")


def test_it_may_wait_for_an_occasion():
    ((row,), _) = planned("leader-kill@controller", fault_when="first-ack", fault_within_s=5.0)
    assert (row.at_s, row.within_s, row.duration_s, row.end_s, row.heals) == (10.0, 5.0, 45.0, 60.0, False)


def test_other_plans_heal(tmp_path):
    rows, _ = planned("minor-kill", never_heal=False)
    assert {row.heals for row in rows} == {True}
    write_plan(rows[:1], tmp_path / "plan.jsonl")
    old = (tmp_path / "plan.jsonl").read_text().replace(',"heals":true', "")
    assert "heals" not in old
    (tmp_path / "plan.jsonl").write_text(old)
    assert read_plan(tmp_path / "plan.jsonl") == rows[:1], "a plan of an older version"


def test_a_plan_keeps_it(tmp_path):
    rows, _ = planned("minor-kill")
    write_plan(rows, tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl") == rows


@pytest.mark.parametrize(
    ("nemesis", "more", "why"),
    [
        ("leader-kill,minor-suspend", {}, "one fault is left in force; --nemesis leader-kill,minor-suspend is not one"),
        ("noop", {}, "one fault is left in force; --nemesis noop is not one"),
        ("all", {}, "one fault is left in force; --nemesis all is not one"),
        ("random-kill", {}, "random-kill may hit more than a minority; take one of minor-kill, leader-kill"),
        ("all-suspend", {}, "all-suspend may hit more than a minority"),
        ("major-partition", {}, "major-partition may hit more than a minority"),
        ("minor-restart", {}, "minor-restart ends by itself; take e.g. minor-kill"),
        ("leader-rolling-restart", {}, "leader-rolling-restart ends by itself"),
        ("minor-staged-heal", {}, "minor-staged-heal ends by itself"),
        ("minor-kill", {"fault_duration_s": 5.0}, "the fault lasts to the end; leave --fault-duration out"),
        ("minor-kill", {"plan": "plan.jsonl"}, "the plan of --plan says which faults are healed"),
    ],
)
def test_what_cannot_be_is_refused(nemesis, more, why):
    with pytest.raises(UsageError, match=f"--never-heal: {why}"):
        planned(nemesis, **more)


def test_a_sequence_is_refused():
    step = {"steps": [{"nemesis": "minor-kill", "at": 1, "duration": 5}]}
    config = Config(values={"nemesis": "sequence", "sequence": step})
    with pytest.raises(UsageError, match="--never-heal: goes with one fault by its name"):
        experiment_of({"backend": "sim", "never_heal": True}, config)


def test_faults_of_clients_and_of_administration_are_refused():
    with pytest.raises(UsageError, match="--never-heal: load-step"):
        planned("load-step")
