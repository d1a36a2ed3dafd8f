"""Histories of other tools on Spark: the same verdicts as here, files of one job, read in executors only."""

from functools import partial

import msgspec
import pytest
from repository import DATA

import checkers.imported.judge_file
from chaos.core.errors import HistoryError
from chaos.formats import text
from chaos.run import judging
from checkers.imported.options import Question
from spark_checkers import engine, files

SAMPLES = sorted((DATA / "kafka").glob("*.edn"))
pytestmark = pytest.mark.spark
REGISTER = """\
{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value %s}
"""


def comparable(results):
    return msgspec.to_builtins(msgspec.structs.replace(results, engine="", engine_note=""))


@pytest.mark.parametrize("ww_deps", [False, True])
def test_kafka_samples_are_judged_alike(ww_deps):
    question = Question(format="jepsen", model="kafka", ww_deps=ww_deps)
    here = judging.judge_imported(SAMPLES, question, "local")
    there = judging.judge_imported(SAMPLES, question, "spark")
    assert len(SAMPLES) == 63
    assert {results.engine for results in there} == {"spark"}
    assert [comparable(one) for one in there] == [comparable(one) for one in here]
    assert {results.valid for results in here} >= {True, False}


@pytest.mark.parametrize("promised", [(), ("read-atomic", "causal-cerone", "causal")])
@pytest.mark.parametrize("model", ["list-append", "rw-register"])
def test_samples_of_transactions_are_judged_alike(model, promised):
    samples = sorted((DATA / "txn").glob(f"{'la' if model == 'list-append' else 'rw'}-*.edn"))
    question = Question(format="jepsen", model=model, consistency_models=promised)
    here = judging.judge_imported(samples, question, "local")
    there = judging.judge_imported(samples, question, "spark")
    assert len(samples) > 20
    assert {results.engine for results in there} == {"spark"}
    assert [comparable(one) for one in there] == [comparable(one) for one in here]
    assert {results.valid for results in here} >= {True, False}


def test_a_large_file_is_several_tasks_and_small_ones_are_one_each(monkeypatch):
    kinds = []
    perform = engine._run

    def watched(tasks):
        kinds.append(sorted({task.kind for task in tasks}))
        return perform(tasks)

    large = max(SAMPLES, key=lambda path: path.stat().st_size)
    monkeypatch.setattr(engine, "_run", watched)
    monkeypatch.setattr(
        engine,
        "judge_rounds",
        partial(
            files.judge_rounds,
            cut=lambda size, _: text.spans(size, 20_000) if size == large.stat().st_size else [],
        ),
    )
    question = Question(format="jepsen", model="kafka", ww_deps=True)
    here = judging.judge_imported([large, SAMPLES[0]], question, "local")
    there = judging.judge_imported([large, SAMPLES[0]], question, "spark")
    assert kinds[0] == ["imported", "range"]
    assert all("imported" not in later for later in kinds[1:])
    assert [comparable(one) for one in there] == [comparable(one) for one in here]


def test_objects_are_judged_alike_and_a_broken_file_disturbs_no_other(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("good", "bad", "broken", "missing")]
    for path, value in zip(paths, ("1", "2", "}"), strict=False):
        path.write_text(REGISTER % value)
    question = Question(format="jepsen", model="register")
    here = judging.judge_imported(paths, question, "local")

    def never(*_):
        raise AssertionError("the driver opened a file")

    monkeypatch.setattr(checkers.imported.judge_file, "judge", never)
    there = judging.judge_imported(paths, question, "spark")
    assert [comparable(one) for one in there[:2]] == [comparable(one) for one in here[:2]]
    assert [one.valid for one in there[:2]] == [True, False]
    for one, other, path in zip(here[2:], there[2:], paths[2:], strict=True):
        assert isinstance(one, HistoryError)
        assert isinstance(other, HistoryError)
        assert str(one) == str(other)
        assert str(path) in str(one)
