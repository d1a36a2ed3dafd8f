"""A file cut into ranges, however small, has the verdict of the whole file: no Spark, the tasks run here."""

import pickle
import random
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import msgspec
import pytest
from edn_text import LAYOUTS, edn_lines, kafka_history, written
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kafka_histories import anything, promised
from kafka_mutations import MUTATIONS
from repository import DATA

from chaos.core.errors import ChaosError
from chaos.formats import text
from chaos.formats.edn import Keyword
from chaos.storage.storage_path import place
from checkers.imported.judge_file import judge
from checkers.imported.kafka_tasks import groups
from checkers.imported.options import Question
from checkers.imported.ranges import ranges
from spark_checkers.files import judge_rounds, room_for, verdicts
from spark_checkers.tasks import Failed, answer

SAMPLES = sorted((DATA / "kafka").glob("*.edn"))
SEEDS = st.integers(0, 2**32)
FEWER = settings(max_examples=25)  # each writes files
QUESTIONS = st.builds(
    Question,
    format=st.just("jepsen"),
    model=st.just("kafka"),
    ww_deps=st.booleans(),
    strict=st.booleans(),
    sub_via=st.sampled_from(["assign", "subscribe"]),
)


def in_ranges(path, question, size, share=1):
    """The verdict by ranges of ``size`` bytes, or its error, and how many tasks of each kind it took.

    ``share``: messages of a group of logs, that of one bucket at least.
    """
    kinds = Counter()

    def run(tasks):
        kinds.update(task.kind for task in tasks)
        answers = [answer(task.kind, str(task.history), task.key, task.context) for task in tasks]
        return [pickle.loads(one) for one in answers]  # noqa: S301 - we wrote it

    with tempfile.TemporaryDirectory() as room:
        rounds = judge_rounds(
            path, question, Path(room), lambda total, _: text.spans(total, size), partial(groups, messages=share)
        )
        (verdict,) = verdicts([rounds], run)
        assert not list(Path(room).iterdir())
    return verdict, kinds


def whole(path, question):
    try:
        return judge(path, question, "spark")
    except ChaosError as error:
        return error


def same(one, other):
    return (type(one), str(one)) == (type(other), str(other)) if isinstance(other, ChaosError) else one == other


def worded(value):
    """A value as EDN has it: words are keywords where histories have them."""
    if isinstance(value, str):
        return Keyword(f":{value}")
    if isinstance(value, list):
        return tuple(map(worded, value))
    return {worded(key): worded(one) for key, one in value.items()} if isinstance(value, dict) else value


def lines_of(records):
    return LAYOUTS["lines"](edn_lines([{key: worded(value) for key, value in record.items()} for record in records]))


def timed(records, rng):
    """Times, and what a nemesis did in between: what figures are made of."""
    out = []
    for record in records:
        if rng.random() < 0.2:
            act = {"type": "info", "process": "nemesis", "f": rng.choice(("start", "stop", "kill", "start-partition"))}
            out.append({**act, "value": rng.choice((None, ["n1", "n2"]))})
        out.append(record)
    return [{**record, "index": i, "time": i * 10**8 + rng.randrange(10**7)} for i, record in enumerate(out)]


def _completes_another(records, rng):
    """Completions that name another kind than their invocations do."""
    strange = {"send": "txn", "poll": "txn", "assign": "subscribe", "subscribe": "assign"}
    return [
        {**record, "f": strange.get(record["f"], record["f"])}
        if record["type"] != "invoke" and rng.random() < 0.3
        else record
        for record in timed(records, rng)
    ]


DRESSES = {
    "plain": lambda records, _: records,
    "timed": timed,
    "equal indices": lambda records, rng: [{**record, "index": record["index"] // 3} for record in timed(records, rng)],
    "negative indices": lambda records, rng: [
        {**record, "index": record["index"] - 7} for record in timed(records, rng)
    ],
    "completions of another kind": _completes_another,
}
MARKS = st.sampled_from(["", "\ufeff"])


@FEWER
@given(kafka_history(), st.sampled_from(sorted(LAYOUTS)), st.integers(20, 500), QUESTIONS, MARKS)
def test_any_file_in_ranges_is_judged_as_a_whole(records, layout, size, question, mark):
    with written(mark + LAYOUTS[layout](edn_lines(records))) as path:
        verdict, _ = in_ranges(path, question, size)
        assert same(verdict, whole(path, question))


def test_a_range_that_names_no_log_is_judged_as_the_others():
    first = {
        "index": 0,
        "time": 0,
        "type": Keyword(":invoke"),
        "process": 0,
        "f": Keyword(":send"),
        "value": None,
        "rebalance-log": ({Keyword(":keys"): (1, 7)},),
    }
    last = {**first, "index": 1, "value": ((Keyword(":poll"), {}),)}
    del last["rebalance-log"]
    with written(LAYOUTS["lines"](edn_lines([first, last]))) as path:
        question = Question(format="jepsen", model="kafka")
        verdict, _ = in_ranges(path, question, 60)
        assert same(verdict, whole(path, question))


@FEWER
@given(kafka_history().filter(bool), st.integers(20, 500), st.data())
def test_a_file_that_is_cut_off_says_so_alike(records, size, data):
    words = LAYOUTS["lines"](edn_lines(records))
    with written(words[: data.draw(st.integers(1, len(words)))]) as path:
        question = Question(format="jepsen", model="kafka")
        verdict, _ = in_ranges(path, question, size)
        assert same(verdict, whole(path, question))


@FEWER
@given(SEEDS, st.sampled_from(list(MUTATIONS)), st.integers(60, 600), QUESTIONS)
def test_a_broken_log_in_ranges_is_judged_as_a_whole(seed, mutation, size, question):
    rng = random.Random(seed)
    records = promised(rng, most=40)
    assume(mutation(records, rng))
    with written(lines_of(timed(records, rng))) as path:
        verdict, kinds = in_ranges(path, question, size)
        assert verdict == whole(path, question)
        assert verdict.anomalies
        assert kinds["range"] > 1
        assert kinds["imported"] == 0


@FEWER
@given(SEEDS, st.integers(60, 600), QUESTIONS, st.sampled_from([1, 8, 1000]), st.sampled_from(sorted(DRESSES)), MARKS)
def test_any_log_in_ranges_is_judged_as_a_whole(seed, size, question, share, dress, mark):
    rng = random.Random(seed)
    with written(mark + lines_of(DRESSES[dress](anything(rng), rng))) as path:
        verdict, kinds = in_ranges(path, question, size, share)
        assert verdict == whole(path, question)
        assert kinds["imported"] == 0


def test_every_step_is_taken():
    """Transactions in doubt over several groups of logs, and a poll that ended before its send began."""
    rows = [
        (0, "invoke", "txn", [["send", 0, 1], ["send", 1, 2]]),
        (0, "info", "txn", [["send", 0, 1], ["send", 1, [0, 2]]]),
        (1, "invoke", "poll", [["poll"]]),
        (1, "ok", "poll", [["poll", {0: [[0, 1], [1, 9]]}]]),
        (2, "invoke", "send", [["send", 0, 9]]),
        (2, "ok", "send", [["send", 0, [1, 9]]]),
        (1, "invoke", "poll", [["poll"]]),
        (1, "ok", "poll", [["poll", {1: [[4, 5]]}]]),
        (2, "invoke", "send", [["send", 1, 5]]),
    ]
    names = ("process", "type", "f", "value")
    records = [{"index": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(rows)]
    with written(lines_of(records)) as path:
        question = Question(format="jepsen", model="kafka")
        verdict, kinds = in_ranges(path, question, 100)
        assert verdict == whole(path, question)
        assert set(kinds) == {"range", "pair", "look", "logs", "edges", "verdict"}
        assert {"lost-write", "G1c-realtime"} <= set(verdict.anomalies)
        path.write_text(lines_of([*records[:-2], {**records[-2], "index": 0}]))
        verdict, kinds = in_ranges(path, question, 100)
        assert verdict == whole(path, question)
        assert set(kinds) == {"range", "parts"}


@pytest.mark.parametrize("broken", ["range", "pair", "logs", "verdict"])
def test_a_step_that_fails_leaves_the_file_to_one_task(tmp_path, broken):
    question, kinds = Question(format="jepsen", model="kafka"), []

    def run(tasks):
        kinds.extend(task.kind for task in tasks)
        failed = Failed("OSError: the disk is full", altered=False)
        given = [(task.kind, answer(task.kind, str(task.history), task.key, task.context)) for task in tasks]
        return [failed if kind == broken else pickle.loads(one) for kind, one in given]  # noqa: S301 - we wrote it

    (verdict,) = verdicts(
        [judge_rounds(SAMPLES[0], question, tmp_path, lambda size, _: text.spans(size, size // 3))], run
    )
    assert kinds[-1] == "imported"
    assert "the disk is full" in verdict.engine_note
    assert msgspec.structs.replace(verdict, engine_note="") == whole(SAMPLES[0], question)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("hanging", ["range", "logs", "verdict"])
def test_a_step_that_does_not_end_leaves_the_file_unknown(tmp_path, hanging):
    question, kinds, limits_s = Question(format="jepsen", model="kafka", budget_s=5.0), [], {}

    def run(tasks):
        kinds.extend(task.kind for task in tasks)
        limits_s.update((task.kind, task.limit_s) for task in tasks)
        broken, ended = Failed("broken", altered=False), Failed("its time was up", altered=False, overtime_s=91.6)
        if tasks[0].kind == hanging:
            return [broken, *(ended for _ in tasks[1:])] if len(tasks) > 1 else [ended]
        return [pickle.loads(answer(task.kind, str(task.history), task.key, task.context)) for task in tasks]  # noqa: S301 - ours

    (verdict,) = verdicts(
        [judge_rounds(SAMPLES[0], question, tmp_path, lambda size, _: text.spans(size, size // 3))], run
    )
    assert verdict.valid == "unknown"
    assert "had not ended after 92 s" in verdict.reason
    assert kinds[-1] == hanging
    assert all(one >= limits_s["range"] > 10 for one in limits_s.values())
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_left_a_file_is_one_task(tmp_path):
    for room in (None, tmp_path / "missing"):
        kinds = []

        def run(tasks, kinds=kinds):
            kinds += [task.kind for task in tasks]
            return [True for _ in tasks]

        file = judge_rounds(SAMPLES[0], Question(format="jepsen", model="kafka"), room, lambda size, _: [(0, size)])
        with pytest.raises(TypeError):  # True is no verdict
            verdicts([file], run)
        assert kinds == ["imported"]


def test_a_record_that_breaks_off_far_before_others_is_one_tasks_to_say(tmp_path):
    record = "{:index 0, :type :invoke, :process 0, :f :poll, :value [[:poll]]}\n"
    path = tmp_path / "history.edn"
    path.write_text(record[:-5] + "\n" * 70_000 + record.replace("index 0", "index 1"))
    question = Question(format="jepsen", model="kafka")
    verdict, kinds = in_ranges(path, question, 68_000)
    assert isinstance(verdict, ChaosError)
    assert same(verdict, whole(path, question))
    assert kinds["imported"] == 1


def test_only_what_is_worth_it_is_cut():
    kafka = Question(format="jepsen", model="kafka")
    assert ranges(128 << 20, kafka) == []
    assert ranges(1 << 30, Question(format="jepsen", model="register")) == []
    spans = ranges(1 << 30, kafka)
    assert len(spans) == 64
    assert spans[0] == (0, 16 << 20)
    assert spans[-1][1] == 1 << 30


def test_a_room_is_one_that_all_executors_reach(tmp_path):
    file = tmp_path / "history.edn"
    assert room_for(file, "local[2]", None) == Path(tempfile.gettempdir())
    assert room_for(file, "spark://head:7077", None) == tmp_path
    assert room_for(place("s3://bucket/history.edn"), "spark://head:7077", None) is None
    assert room_for(place("s3://bucket/history.edn"), "local[2]", None) == Path(tempfile.gettempdir())
    assert room_for(file, "spark://head:7077", Path("/shared")) == Path("/shared")


@pytest.mark.parametrize("ww_deps", [False, True])
@pytest.mark.parametrize("sample", SAMPLES[::4], ids=lambda sample: sample.stem)
def test_samples_in_ranges_are_judged_as_a_whole(sample, ww_deps):
    for via in ("assign", "subscribe"):
        question = Question(format="jepsen", model="kafka", ww_deps=ww_deps, sub_via=via)
        verdict, kinds = in_ranges(sample, question, sample.stat().st_size // 5 + 1)
        assert verdict == whole(sample, question)
        assert kinds["range"] == 5
        assert kinds["imported"] == 0
