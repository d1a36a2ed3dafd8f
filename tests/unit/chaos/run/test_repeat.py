"""Many runs: which seeds they have, what is kept of them, and what is said."""

import msgspec
import pytest

from chaos.basics.rand import SEEDS
from chaos.core.errors import UsageError
from chaos.core.verdict import INTERRUPTED
from chaos.options.resolve import experiment_of
from chaos.run.repeat import Count, Ended, argv_of_one, check_repeatable, lines_of, repeat

ARGV = ("chaos", "run", "--backend", "sim", "--nemesis", "leader-kill")


def ended(verdict, code, seed=1, broken=()):
    return Ended(seed=seed, verdict=verdict, sentence="", code=code, folder="", simulated_s=10.0, broken=broken)


@pytest.mark.parametrize(
    "more",
    [["--repeat", "5"], ["--repeat=5", "--until-failure"], ["--jobs", "2", "--repeat", "5"], ["--jobs=2"]],
)
def test_the_command_of_one_run_asks_for_no_others(more):
    assert argv_of_one([*ARGV, *more]) == ARGV
    assert argv_of_one([*ARGV[:2], *more, *ARGV[2:]]) == ARGV


def test_a_failure_beats_all_else_and_anything_beats_a_pass():
    count = Count()
    codes = []
    for one in (ended("PASS", 0), ended("UNKNOWN", 2), ended("broke", 255), ended("FAIL", 1), ended("UNKNOWN", 2)):
        count.add(one)
        codes.append(count.worst)
    assert codes == [0, 2, 255, 1, 1]
    assert count.line(5.0) == "5 runs: 1 PASS, 1 FAIL, 2 UNKNOWN, 1 broke; 50 s simulated in 5 s, 10 times as fast"


def test_runs_that_broke_an_invariant_are_counted_whatever_their_verdict():
    count = Count()
    count.add(ended("PASS", 0))
    assert "invariant" not in count.line(5.0)
    for one in (ended("PASS", 0, broken=("two lead term 3",)), ended("FAIL", 1, broken=("a", "b"))):
        count.add(one)
    assert count.line(5.0) == (
        "3 runs: 2 PASS, 1 FAIL, 0 UNKNOWN; 2 broke an invariant; 30 s simulated in 5 s, 6 times as fast"
    )


@pytest.mark.parametrize(("verdict", "code"), [("PASS", 0), ("FAIL", 1)])
def test_a_broken_invariant_is_told_whether_or_not_a_client_saw_it(verdict, code):
    lines = lines_of(ended(verdict, code, seed=7, broken=("c1 and c2 lead term 3",)), ARGV)
    assert lines[0].startswith(f"{verdict:<7} seed 7: ")
    assert lines[1:] == [
        "        invariant broken: c1 and c2 lead term 3",
        "        " + " ".join([*ARGV, "--seed", "7"]),
    ]


def test_nothing_is_said_of_a_run_that_passed_or_was_interrupted():
    assert lines_of(ended("PASS", 0), ARGV) == []
    assert lines_of(ended("UNKNOWN", INTERRUPTED), ARGV) == []
    assert lines_of(ended("UNKNOWN", 2), ARGV) != []


@pytest.mark.broad
def test_a_simulated_run_counts_the_invariants_that_it_broke(tmp_path):
    said = []
    bent = asked(tmp_path, bug="forget-vote", nemesis="all-kill@controller", time_limit_s=20.0, rate=20.0, seed=1)
    repeat(bent, ARGV, 6, 1, said.append, until_failure=False)
    assert "broke an invariant" in said[-1]
    assert any(line.startswith("        invariant broken: ") and "lead term" in line for line in said)


def test_backends_with_hosts_are_refused():
    with pytest.raises(UsageError, match="only with --backend sim; chaos matrix repeats runs on docker"):
        check_repeatable(experiment_of({"backend": "docker"}), object())


def asked(tmp_path, **more):
    wanted = {"backend": "sim", "nemesis": "leader-kill", "seed": 3, "time_limit_s": 30.0, "reports": ("summary",)}
    return experiment_of({**wanted, "store": str(tmp_path / "store"), **more})


@pytest.mark.broad
def test_what_passes_leaves_nothing_and_what_fails_is_kept(tmp_path):
    said = []
    experiment = asked(tmp_path, rate=50.0)
    assert repeat(experiment, ARGV, 1, 1, said.append, until_failure=False) == 0
    assert list((tmp_path / "store").iterdir()) == []
    bent = asked(tmp_path, rate=50.0, bug="stuck-after-failover", time_limit_s=60.0)
    assert repeat(bent, ARGV, 3, 1, said.append, until_failure=True) == 1
    failed = next(line for line in said if line.startswith("FAIL"))
    seed = failed.split()[2].rstrip(":")
    assert f"        chaos run --backend sim --nemesis leader-kill --seed {seed}" in said
    kept = (tmp_path / "store" / "latest").resolve()
    assert msgspec.json.decode((kept / "run.json").read_bytes())["seed"] == int(seed)
    assert (kept / "results.json").is_file()
    assert not (kept / "report.html").exists(), "only a summary was asked for"
    assert said[-1].startswith(f"{int(seed) - 2} runs: ")


@pytest.mark.broad
def test_jobs_run_the_seeds_that_follow_and_go_round(tmp_path):
    said = []
    experiment = asked(tmp_path, seed=SEEDS - 1, nemesis="noop", time_limit_s=10.0)
    broken = msgspec.structs.replace(experiment, fault_nodes=("b9",), nemesis="fixed-kill")
    with pytest.raises(UsageError):
        repeat(broken, ARGV, 2, 2, said.append, until_failure=False)
    repeat(experiment, ARGV, 3, 2, said.append, until_failure=False)
    assert said[-1].startswith("3 runs: ")
