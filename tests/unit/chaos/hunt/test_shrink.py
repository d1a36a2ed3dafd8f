"""Which runs are made, how often, and when the search ends; runs are answered by rules, but for one test."""

import msgspec
import pytest
from click.testing import CliRunner

from chaos.cli.main import cli
from chaos.cli.shrink import anomaly_of, summary_of
from chaos.core.errors import UsageError
from chaos.core.verdict import Anomaly, Results
from chaos.hunt.candidate import candidate_of
from chaos.hunt.shrink import Shrinker, Shrunk, Wanted, least_of, shrink
from chaos.hunt.trial import Trial, found_in, found_in_folder
from chaos.options.planning import draw_plan
from chaos.options.resolve import experiment_of
from chaos.options.system_under_test import system_of
from chaos.run import phases_of_a_run
from chaos.run.watching import Quiet
from cluster.leaders import subjects_of
from cluster.simulation.backend import SimBackend
from nemesis.targets.topology import Topology

WANTED = Wanted(anomaly="lost-write", times=3, least=2, new_seeds=False, budget_s=600.0, rate_of=10)


def planned(**more):
    experiment = experiment_of({"backend": "sim", "nemesis": "leader-kill", "seed": 3, **more})
    system = system_of(experiment)
    subjects = subjects_of(system, experiment.settings, experiment.keys)
    topology = Topology.of(system.topology(experiment.settings), system.roles, subjects)
    return experiment, topology, candidate_of(experiment, draw_plan(experiment, system))


class Runs:
    """Answers runs by a rule of the run and of how often it was made."""

    def __init__(self, rule, took_s=0.0):
        self.rule, self.took_s, self.made = rule, took_s, []

    def __call__(self, base, candidate, room, interrupts):
        number = sum(one == candidate for one in self.made)
        self.made.append(candidate)
        room.mkdir(parents=True)
        failed = self.rule(candidate, number)
        return Trial(anomalies=("lost-write",) if failed else ("order",), folder=room, took_s=self.took_s)


def shrinker(tmp_path, runs, said=None, **changes):
    experiment = planned()[0]
    say = (said if said is not None else []).append
    return Shrinker(experiment, msgspec.structs.replace(WANTED, **changes), tmp_path, say, runs)


def test_a_run_counts_if_two_of_three_fail_and_no_more_are_made_than_decide(tmp_path):
    _, topology, start = planned()
    one_of_three = Runs(lambda _, number: number == 2)
    assert shrinker(tmp_path / "a", one_of_three).shrink(start, topology) is False
    assert len(one_of_three.made) == 2, "two passes decide"
    runs = Runs(lambda candidate, number: number > 0 and len(candidate.rows) == 1)
    whole = shrinker(tmp_path / "b", runs)
    assert whole.shrink(start, topology) is False
    assert whole.best is None
    runs = Runs(lambda candidate, number: number != 1 and len(candidate.rows) >= 1)
    whole = shrinker(tmp_path / "c", runs)
    assert whole.shrink(start, topology) is True
    assert whole.best is not None
    assert len(whole.best[0].rows) == 1
    assert max(runs.made.count(one) for one in runs.made) <= 3
    assert list((tmp_path / "c").iterdir()) == [whole.best[1].folder], "the smallest is kept, all others are removed"


def test_another_anomaly_is_no_find(tmp_path):
    _, topology, start = planned()
    runs = Runs(lambda candidate, _: len(candidate.rows) == len(start.rows))
    whole = shrinker(tmp_path, runs, times=1, least=1)
    whole.shrink(start, topology)
    assert whole.best is not None
    assert len(whole.best[0].rows) == len(start.rows)


def test_new_seeds_are_those_that_follow_and_stay_with_what_failed(tmp_path):
    _, topology, start = planned()
    runs = Runs(lambda candidate, _: candidate.seed == 5)
    whole = shrinker(tmp_path, runs, least=1, new_seeds=True)
    assert whole.shrink(start, topology) is True
    assert [one.seed for one in runs.made[:4]] == [3, 4, 5, 5]
    assert whole.best is not None
    assert whole.best[0].rows == ()
    made = len(runs.made)
    assert whole.repeat() == (0, 10)
    assert [one.seed for one in runs.made[made:]] == list(range(6, 16))


def test_the_rate_is_that_of_the_same_run_where_the_seed_decides_nothing(tmp_path):
    _, topology, start = planned()
    whole = shrinker(tmp_path, Runs(lambda _, number: number < 5), times=1, least=1)
    assert whole.shrink(start, topology) is True
    assert whole.repeat() == (4, 10), "the first of its five was made before"


def test_no_run_begins_that_would_end_after_the_budget(tmp_path):
    _, topology, start = planned()
    runs = Runs(lambda _, __: True, took_s=50.0)
    whole = shrinker(tmp_path, runs, times=1, least=1, budget_s=60.0)
    assert whole.shrink(start, topology) is False
    assert len(runs.made) == 1
    assert whole.best is not None
    assert whole.repeat()[1] == 10, "there is time left for these"
    tight = shrinker(tmp_path / "tight", Runs(lambda _, __: True, took_s=700.0), times=1, least=1)
    tight.shrink(start, topology)
    assert tight.repeat() == (0, 0)


def test_findings_are_headlines_first_and_none_that_is_allowed(tmp_path):
    some = {
        "order": Anomaly(count=1, allowed=False, part_of="lost-write"),
        "lost-write": Anomaly(count=1, allowed=False),
        "duplicate": Anomaly(count=1, allowed=True),
        "too-little-traffic": Anomaly(count=1, allowed=False),
    }
    results = Results(valid=False, sentence="", reason="", model="log", engine="local", anomalies=some)
    assert found_in(results) == ("lost-write", "order")
    (tmp_path / "results.json").write_bytes(msgspec.json.encode(results))
    assert anomaly_of(tmp_path, None) == "lost-write"
    assert anomaly_of(tmp_path, "order") == "order"
    with pytest.raises(UsageError, match=r"--anomaly duplicate: .* has lost-write, order"):
        anomaly_of(tmp_path, "duplicate")
    (tmp_path / "results.json").unlink()
    with pytest.raises(UsageError, match="it has no anomaly to look for; name a run that is FAIL"):
        anomaly_of(tmp_path, None)


def test_the_summary_says_how_to_repeat_it_and_how_often_it_fails(tmp_path):
    _, _, start = planned()
    small = start.with_rows(start.rows[:1])
    shrunk = Shrunk(
        candidate=small, folder=tmp_path, sentence="one was lost", failed=7, repeated=10, runs=31, needed=True
    )
    lines = summary_of(start, shrunk, "lost-write", simulated=True)
    assert "lost-write: one was lost" in lines
    assert f"again    chaos replay {tmp_path}" in lines
    assert "rate     fails 7 of 10 with the 10 seeds after 3" in lines
    assert "fault 1  leader-kill, at 10 s for 10 s" in lines
    assert any("31 runs, each part of it is needed" in line for line in lines)


@pytest.mark.broad
def test_a_simulated_run_shrinks_to_one_that_can_be_replayed(tmp_path):
    experiment, topology, start = planned(
        bug="ack-before-replicate", nemesis="leader-kill", rate=50.0, time_limit_s=30.0, seed=1, store=str(tmp_path)
    )
    experiment = msgspec.structs.replace(experiment, reports=("summary",))
    lines: list[str] = []
    wanted = Wanted(anomaly="lost-write", times=2, least=1, new_seeds=True, budget_s=120.0, rate_of=1)
    wanted = msgspec.structs.replace(wanted, anomaly=_anomaly(experiment, tmp_path / "first"))
    shrunk = shrink(experiment, start, topology, wanted, lines.append)
    assert shrunk is not None
    assert len(shrunk.candidate.rows) <= len(start.rows)
    assert wanted.anomaly in found_in_folder(shrunk.folder)
    assert not (shrunk.folder / "report.html").exists(), "only a summary was asked for"
    again = experiment_of({"driver": str(shrunk.folder / "config.yaml"), "store": str(tmp_path / "again")})
    folder, results, _ = phases_of_a_run.run(again, SimBackend(), ("chaos", "run"), Quiet())
    assert results is not None
    assert wanted.anomaly in found_in(results)
    for name in ("history/w0.ops", "plan.jsonl"):
        assert (folder / name).read_bytes() == (shrunk.folder / name).read_bytes()


def _anomaly(experiment, store):
    _, results, _ = phases_of_a_run.run(
        msgspec.structs.replace(experiment, store=str(store)), SimBackend(), ("chaos", "run"), Quiet()
    )
    assert results is not None
    return found_in(results)[0]


def test_how_many_repetitions_must_fail():
    assert [least_of(times, None, new_seeds=True) for times in (1, 5)] == [1, 1]
    assert [least_of(times, None, new_seeds=False) for times in (1, 2, 5)] == [1, 2, 3]
    assert least_of(5, 4, new_seeds=True) == 4
    with pytest.raises(UsageError, match="--at-least 6: it cannot fail more often than --confirm 5"):
        least_of(5, 6, new_seeds=True)


def test_a_hunt_refuses_what_can_never_be_confirmed_before_its_first_run(tmp_path):
    argv = ["hunt", "--confirm", "2", "--at-least", "3", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(cli, argv, standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "--at-least 3" in str(done.exception)
    assert not (tmp_path / "store").exists()
