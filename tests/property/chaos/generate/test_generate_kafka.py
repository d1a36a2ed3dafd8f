"""Generated Kafka-style histories hold what was asked for and nothing else, in either notation."""

import errno
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.cli.check import check_command
from chaos.cli.generate import generate_command
from chaos.core.errors import ChaosError, UsageError
from chaos.core.op import Type
from chaos.formats import kafka as reader
from chaos.generate import kafka_stories
from chaos.generate.kafka import CLIENTS, Wish, _History, write
from chaos.generate.kafka_lines import Lines
from chaos.generate.kafka_stories import LONGEST, PLANTED, STORIES, UNSEEN
from chaos.generate.record_lines import RecordLines
from checkers.kafka.check import check

LEVELS = {"G1c": "PL-2-cycle-exists", "G1c-realtime": "strong-PL-2-cycle-exists"}
"""What the checker says of the same circle beside its name."""


def wish_of(**asked):
    return Wish(**{"ops": 400, "keys": 3, "seed": 1, "anomalies": {}} | asked)


def found(wish, notation="edn", *, ww_deps=False):
    """The anomalies of a generated history by name, and its columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"history.{notation}"
        write(wish, path)
        columns = reader.read(path).columns
    verdict = check(columns, sub_via=wish.sub_via, ww_deps=ww_deps, strict=True)
    return verdict.valid, {name: one.count for name, one in verdict.anomalies.items()}, columns


def expected(anomalies):
    return dict(anomalies) | {LEVELS[name]: count for name, count in anomalies.items() if name in LEVELS}


SHAPES = {
    "keys": st.integers(1, 25),
    "seed": st.integers(0, 2**40),
    "txn_length": st.integers(1, 4),
    "sub_via": st.sampled_from(["assign", "subscribe"]),
}


@settings(max_examples=20)
@given(st.fixed_dictionaries({"ops": st.integers(60, 900), **SHAPES}), st.booleans(), st.sampled_from(["edn", "json"]))
def test_what_nobody_spoilt_is_valid_by_the_strictest_reading(shape, ww_deps, notation):
    valid, anomalies, columns = found(wish_of(**shape), notation, ww_deps=ww_deps)
    assert (valid, anomalies) == (True, {})
    assert int((columns.ops.type == Type.INVOKE).sum()) == shape["ops"]


@settings(max_examples=20)
@given(st.dictionaries(st.sampled_from(PLANTED), st.integers(1, 3), max_size=6), st.fixed_dictionaries(SHAPES))
def test_the_checker_finds_exactly_what_was_planted(anomalies, shape):
    _, there, columns = found(wish_of(ops=900, anomalies=anomalies, **shape))
    assert there == expected(anomalies)
    assert int((columns.ops.type == Type.INVOKE).sum()) == 900


@pytest.mark.parametrize("name", PLANTED)
def test_each_anomaly_comes_alone(name):
    for txn_length in (1, 3):
        assert found(wish_of(anomalies={name: 2}, txn_length=txn_length))[1] == expected({name: 2})


@pytest.mark.parametrize("name", STORIES)
def test_no_story_is_longer_than_was_reckoned(name):
    lines = Lines(RecordLines(lambda _: None, "edn"))
    history = _History(wish_of(), lines)
    before_the_story = 4  # an assignment, a poll, letting go, taking up again
    STORIES[name](history, 0)
    assert lines.begun + before_the_story <= LONGEST


def test_the_least_number_of_operations_is_enough():
    anomalies = dict.fromkeys(PLANTED, 1)
    with pytest.raises(UsageError) as caught:
        found(wish_of(ops=100, anomalies=anomalies))
    least = int(str(caught.value).rpartition(" ")[2])
    assert found(wish_of(ops=least, anomalies=anomalies))[1] == expected(anomalies)
    with pytest.raises(UsageError, match=f"take at least {least}"):
        found(wish_of(ops=least - 1, anomalies=anomalies))


def test_both_notations_say_the_same():
    edn, json = (found(wish_of(txn_length=3, anomalies={"G1a": 1}), notation)[2] for notation in ("edn", "json"))
    for table in ("ops", "mops"):
        for name in getattr(edn, table).__slots__:
            assert (getattr(getattr(edn, table), name) == getattr(getattr(json, table), name)).all()


def test_memory_does_not_grow_with_the_history():
    """What is held is what was sent and not polled yet."""
    waiting = []
    for ops in (2_000, 20_000):
        history = _History(wish_of(ops=ops, keys=20), Lines(RecordLines(lambda _: None, "edn")))
        most = 0
        while history._lines.begun < ops:
            history._round(CLIENTS)
            most = max(most, sum(len(own) for client in history._clients for own in client.waiting.values()))
        waiting.append(most)
    assert waiting[1] < 3 * waiting[0]


def run(*argv):
    return CliRunner().invoke(generate_command, ["--model", "kafka", *map(str, argv)], standalone_mode=False)


def test_the_command_and_the_checker_of_jepsen_histories(tmp_path):
    path = tmp_path / "h.edn"
    made = run("--ops", 500, "--anomaly", "lost-write=2,unseen=1", "--txn-length", 2, "--output", path)
    assert made.return_value == 0, made.exception
    assert "500 operations" in made.stdout
    argv = [str(path), "--format", "jepsen", "--model", "kafka", "--engine", "local"]
    judged = CliRunner().invoke(check_command, argv, standalone_mode=False)
    assert judged.return_value == 1
    assert "lost-write" in judged.stdout


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--output", "h.txt"], r"ends in \.edn or \.json"),
        (["--output", "no/where.edn"], "No such file"),
        (["--output", "h.edn", "--anomaly", "lost-wriet=1"], "did you mean"),
        (["--output", "h.edn", "--anomaly", "corrupt=1"], "can be planted"),
        (["--output", "there.edn"], "it exists"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_line(argv, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("there.edn").touch()
    made = run("--ops", 500, *argv)
    assert isinstance(made.exception, UsageError)
    assert "\n" not in str(made.exception)
    with pytest.raises(UsageError, match=said):
        raise made.exception


def test_options_of_the_other_model_are_refused(tmp_path):
    argv = ["--ops", "500", "--txn-length", "2", "--output", str(tmp_path / "run")]
    made = CliRunner().invoke(generate_command, argv, standalone_mode=False)
    assert isinstance(made.exception, UsageError)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Lines, "transact", full)
    with pytest.raises(ChaosError, match="No space left"):
        write(wish_of(), tmp_path / "h.edn")
    assert list(tmp_path.iterdir()) == []


def test_unseen_has_no_story():
    assert UNSEEN not in kafka_stories.STORIES
