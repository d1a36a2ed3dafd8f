"""Generated transactions hold what was asked for and nothing else, in either notation and under every model."""

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.cli.check import check_command
from chaos.cli.generate import generate_command
from chaos.core.errors import UsageError
from chaos.generate.txn import Wish, write
from chaos.generate.txn_stories import PLANTED
from checkers.imported.judge_file import judge
from checkers.imported.options import Question

MODELS = ("list-append", "rw-register")
BESIDE = {
    ("list-append", "G1b"): ["G-single-item"],
    ("list-append", "dirty-update"): ["G1a"],
    ("list-append", "lost-update"): ["G-single-item"],
    ("rw-register", "lost-update"): ["G2-item"],
}
"""What is found of the same story beside its name."""


def wish_of(**asked):
    return Wish(**{"model": "list-append", "ops": 400, "keys": 3, "seed": 1, "anomalies": {}} | asked)


def judged(wish, notation="edn", **asked):
    """The verdict on a generated history, and its anomalies by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"history.{notation}"
        write(wish, path)
        results = judge(path, Question(format="jepsen", model=wish.model, **asked), "local")
    assert sum(one.ok + one.fail + one.info for one in results.kinds) == wish.ops
    return results.valid, {name: one.count for name, one in results.anomalies.items() if not one.allowed}


def expected(model, anomalies):
    found = dict(anomalies)
    for name, count in anomalies.items():
        for other in BESIDE.get((model, name), ()):
            found[other] = found.get(other, 0) + count
    return found


SHAPES = {
    "model": st.sampled_from(MODELS),
    "keys": st.integers(1, 25),
    "seed": st.integers(0, 2**40),
    "txn_length": st.integers(1, 6),
}


@settings(deadline=None, max_examples=20)
@given(st.fixed_dictionaries({"ops": st.integers(60, 900), **SHAPES}), st.sampled_from(["edn", "json"]))
def test_what_nobody_spoilt_is_strictly_serializable_whatever_is_assumed_of_keys(shape, notation):
    keys = {} if shape["model"] == "list-append" else {"linearizable_keys": True, "wfr_keys": True}
    assert judged(wish_of(**shape), notation, strict=True, **keys) == (True, {})


@settings(deadline=None, max_examples=15)
@given(st.data(), st.fixed_dictionaries(SHAPES))
def test_the_checker_finds_exactly_what_was_planted(data, shape):
    names = st.sampled_from(PLANTED[shape["model"]])
    anomalies = data.draw(st.dictionaries(names, st.integers(1, 3), min_size=1, max_size=6))
    assert judged(wish_of(ops=900, anomalies=anomalies, **shape)) == (False, expected(shape["model"], anomalies))


@pytest.mark.parametrize(("model", "name"), [(model, name) for model in MODELS for name in PLANTED[model]])
def test_each_anomaly_comes_alone(model, name):
    assert judged(wish_of(model=model, anomalies={name: 2}))[1] == expected(model, {name: 2})


def test_the_least_number_of_transactions_is_enough():
    anomalies = dict.fromkeys(PLANTED["list-append"], 1)
    with pytest.raises(UsageError) as caught:
        judged(wish_of(ops=50, anomalies=anomalies))
    least = int(str(caught.value).rpartition(" ")[2])
    assert judged(wish_of(ops=least, anomalies=anomalies))[1] == expected("list-append", anomalies)
    with pytest.raises(UsageError, match=f"take at least {least}"):
        judged(wish_of(ops=least - 1, anomalies=anomalies))


@pytest.mark.parametrize("model", MODELS)
def test_the_command_and_the_checker(model, tmp_path):
    path = tmp_path / "h.edn"
    argv = ["--model", model, "--ops", "500", "--anomaly", "G1c=2", "--txn-length", "2", "--output", str(path)]
    made = CliRunner().invoke(generate_command, argv, standalone_mode=False)
    assert made.return_value == 0, made.exception
    assert "500 operations" in made.stdout
    argv = [str(path), "--format", "jepsen", "--model", model, "--engine", "local"]
    told = CliRunner().invoke(check_command, argv, standalone_mode=False)
    assert told.return_value == 1
    assert "G1c" in told.stdout


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--model", "rw-register", "--anomaly", "G0=1"], "can be planted"),
        (["--model", "list-append", "--sub-via", "assign"], "--sub-via: only for --model kafka"),
        (["--model", "list-append", "--anomaly", "G1c=200"], "too few for that"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_line(argv, said, tmp_path):
    argv = ["--ops", "500", *argv, "--output", str(tmp_path / "h.edn")]
    made = CliRunner().invoke(generate_command, argv, standalone_mode=False)
    assert isinstance(made.exception, UsageError)
    with pytest.raises(UsageError, match=said):
        raise made.exception
