"""Files that end too early: unknown, unless an anomaly was found that no continuation can undo."""

import json
import random
from functools import cache

import pytest
from repository import DATA

from chaos.formats import kafka
from checkers.imported.judge_file import judge
from checkers.imported.kafka import may_be_undone
from checkers.imported.options import Question
from checkers.kafka.check import check

SAMPLES = sorted((DATA / "kafka").glob("*.edn"))
LOGS = [json.loads(line) for line in (DATA / "log_cases.jsonl").read_text().splitlines()]
CUTS = 20


def within_records(text, count, rng):
    """Places within records; where one ends, nothing shows that others are missing."""
    places = [at for at in range(1, len(text)) if text[at - 1] not in "}\n"]
    return rng.sample(places, min(count, len(places)))


@cache
def errors_of(path, **options):
    verdict = check(kafka.read(path).columns, keep=0, **options)
    return {name for name, one in verdict.anomalies.items() if not one.allowed}


@pytest.mark.broad
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_that_ends_too_early_shows_only_what_stands(path, tmp_path):
    rng, text, part = random.Random(path.stem), path.read_text(), tmp_path / "part.edn"
    for at in within_records(text, CUTS, rng):
        via, ww_deps, strict = rng.choice(["assign", "subscribe"]), rng.random() < 0.5, rng.random() < 0.3
        part.write_text(text[:at])
        history = kafka.read(part)
        assert history.cut_off
        verdict = check(history.columns, keep=0, sub_via=via, ww_deps=ww_deps, strict=strict)
        loose = may_be_undone(verdict, history.missing)
        standing = {name for name, one in verdict.anomalies.items() if not one.allowed} - loose
        assert standing <= errors_of(path, sub_via=via, ww_deps=ww_deps, strict=strict)


@pytest.mark.parametrize("path", SAMPLES[::9], ids=lambda path: path.stem)
def test_a_sample_that_ends_too_early_is_never_valid(path, tmp_path):
    text, part = path.read_text(), tmp_path / "part.edn"
    question = Question(format="jepsen", model="kafka")
    whole = judge(path, question, "local")
    for at in within_records(text, 4, random.Random(path.stem)):
        part.write_text(text[:at])
        results = judge(part, question, "local")
        assert results.valid == "unknown" or (results.valid is False and whole.valid is False)
        assert "the file ends within the record" in results.reason


@pytest.mark.broad
def test_a_log_that_ends_too_early_shows_only_what_stands(tmp_path):
    path, question = tmp_path / "log.jsonl", Question(format="jsonl", model="log")
    for case in LOGS[::3]:
        text = "".join(f"{json.dumps(op)}\n" for op in case["ops"])
        for at in within_records(text, 8, random.Random(case["id"])):
            path.write_text(text[:at])
            results = judge(path, question, "local")
            assert results.valid == "unknown" or (results.valid is False and not case["linearizable"])


SENT = """\
{:process 0, :type :invoke, :f :send, :value [[:send a 1]], :index 0}
{:process 0, :type :ok, :f :send, :value [[:send a [5 1]]], :index 1}
{:process 0, :type :invoke, :f :send, :value [[:send a 2]], :index 2}
{:process 1, :type :invoke, :f :txn, :value [[:poll]], :index 3}
"""
POLLED = "{:process 1, :type :%s, :f :txn, :value [[:poll {a [[3 2] [5 1]]}]], :index 4}\n"
FAILED = "{:process 0, :type :fail, :f :send, :value [[:send a 2]], :index 5}\n"
SEEN = """\
{:process 2, :type :invoke, :f :poll, :value [[:poll]], :index 6}
{:process 2, :type :ok, :f :poll, :value [[:poll {a [[5 1]]}]], :index 7}
"""


@pytest.fixture
def judged(tmp_path):
    def run(text, **options):
        path = tmp_path / "history"
        path.write_text(text)
        return judge(path, Question(**{"format": "jepsen", "model": "kafka", **options}), "local")

    return run


def test_a_loss_may_be_undone_by_a_later_poll(judged):
    lines = SENT.splitlines(keepends=True)[:2]
    text = "".join(lines + [line.replace("1]", "2]").replace("5 ", "6 ").replace(":index", ":n") for line in lines])
    text = text.replace(":index", ":n")
    whole = judged(text)
    assert (whole.valid, list(whole.anomalies)) == (False, ["unseen"])
    part = judged(text + "{:process 1, :ty")
    assert part.valid == "unknown"
    assert part.anomalies["unseen"].allowed
    assert part.reason == (
        "judged as far as it goes: the file ends within the record that begins on line 5; what precedes it was read; "
        "the rest of the history may undo 2 unseen"
    )


def test_a_duplicate_stands_whatever_follows(judged):
    poll = "{:process 1, :type :%s, :f :poll, :value [[:poll %s]]}\n"
    text = SENT + poll % ("invoke", "") + poll % ("ok", "{a [[5 1] [6 1]]}")
    part = judged(text.replace(", :index", ", :number") + "{:process 1")
    assert part.valid is False
    assert not part.anomalies["duplicate"].allowed


def test_the_order_of_a_send_that_may_yet_fail_is_not_held_against_it(judged):
    """A transaction that was given up saw it below what its process had sent before; it stands once it has ended."""
    text = SENT + POLLED % "info"
    name = "nonmonotonic-send"
    assert not judged(text + SEEN).anomalies[name].allowed
    assert judged(text + SEEN + "{:pro").anomalies[name].allowed
    assert name not in judged(text + FAILED + SEEN).anomalies
    ended = text + FAILED.replace("fail", "info") + SEEN
    assert judged(ended + "{:pro").valid is False


def test_what_is_missing_of_a_file_out_of_order_may_be_anything(judged):
    lines = (SENT + POLLED % "ok").splitlines(keepends=True)
    stands = judged("".join(lines) + "{:pro")
    assert stands.valid == "unknown"  # the send may yet fail, which is another anomaly
    first, second = SEEN.splitlines(keepends=True)
    again = SEEN.replace(":index 6", ":index 8").replace(":index 7", ":index 9")
    assert not judged("".join(lines) + SEEN + again + "{:pro").anomalies["nonmonotonic-poll"].allowed
    assert judged(again + "".join(lines) + first + second + "{:pro").anomalies["nonmonotonic-poll"].allowed


FIFO = """\
{:process 0, :type :invoke, :f :enqueue, :value 1}
{:process 0, :type :ok, :f :enqueue, :value 1}
{:process 0, :type :invoke, :f :enqueue, :value 2}
{:process 0, :type :ok, :f :enqueue, :value 2}
{:process 1, :type :invoke, :f :dequeue, :value nil}
{:process 2, :type :invoke, :f :dequeue, :value nil}
{:process 2, :type :ok, :f :dequeue, :value 2}
"""


def test_a_dequeue_that_is_open_may_have_taken_the_first(judged):
    assert judged(FIFO, model="fifo-queue").valid is False  # Knossos lets an open dequeue take nothing
    assert judged(FIFO + "{:process 1, :type :ok, :f :deq", model="fifo-queue").valid == "unknown"
    assert judged(FIFO + "{:process 1, :type :ok, :f :dequeue, :value 1}\n", model="fifo-queue").valid is True


def test_a_write_that_has_not_said_its_value_may_explain_a_read(judged):
    lines = [
        "{:process 0, :type :invoke, :f :write, :value nil}",
        "{:process 1, :type :invoke, :f :read, :value nil}",
        "{:process 1, :type :ok, :f :read, :value 5}",
        "{:process 0, :type :ok, :f :write, :value 5}",
    ]
    assert judged("\n".join(lines), model="register").valid is True
    assert judged("\n".join(lines)[:-10], model="register").valid == "unknown"


CONSOLE = """\
INFO  jepsen.util - 0\t:invoke\t:write\t12
INFO  jepsen.util - 0\t:ok\t:write\t12
INFO  jepsen.util - 1\t:invoke\t:read\tnil
INFO  jepsen.util - 1\t:ok\t:read\t12
"""
OPENCHAOS = """\
0\tenqueue\tREQUEST\t12\tnull\t1\tnull
0\tenqueue\tRESPONSE\tSUCCESS\t12\tnull\t2\t1\tnull\t0
1\tdequeue\tREQUEST\tnull\tnull\t3\tnull
1\tdequeue\tRESPONSE\tSUCCESS\t12\tnull\t4\t1\tnull\t0
"""


@pytest.mark.parametrize(
    ("format_", "model", "text"), [("porcupine", "register", CONSOLE), ("openchaos", "total-queue", OPENCHAOS)]
)
def test_a_last_line_that_may_go_on_is_not_read(judged, format_, model, text):
    """Without its last digit the console's line is a read of another value."""
    assert judged(text, format=format_, model=model).valid is True
    for less in range(1, 6):
        part = judged(text[:-less], format=format_, model=model)
        assert part.valid == "unknown"
        assert part.reason.startswith("judged as far as it goes: the file ends within line 4")
