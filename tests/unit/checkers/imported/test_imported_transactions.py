"""Histories of transactions as files: what is read, what is refused, what stands of one that is cut off."""

import json

import pytest
from repository import DATA

from chaos.core.errors import HistoryError, UsageError
from chaos.core.verdict import UNKNOWN
from chaos.formats import registry as formats
from checkers.imported.judge_file import judge
from checkers.imported.options import Question, model_for
from checkers.imported.transactions_of import of_history, of_paired
from checkers.txn.models import MODELS, boundary, forbidden_anomalies, model_named

EDN = """\
{:process 0, :type :invoke, :f :txn, :value [[:append :x 1] [:r :y nil]], :index 0}
{:process 1, :type :invoke, :f :txn, :value [[:append :y 1] [:r :x nil]], :index 1}
{:process :nemesis, :type :info, :f :start, :value nil, :index 2}
{:process 0, :type :ok, :f :txn, :value [[:append :x 1] [:r :y nil]], :index 3}
{:process 1, :type :ok, :f :txn, :value [[:append :y 1] [:r :x []]], :index 4}
"""
SKEW = Question(format="jepsen", model="list-append")


def written(tmp_path, text, name="history.edn"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_file_is_judged_and_told(tmp_path):
    results = judge(written(tmp_path, EDN), SKEW, "local")
    assert results.valid is False
    assert set(results.anomalies) == {"G2-item"}
    (example,) = results.anomalies["G2-item"].examples
    assert [row["op"] for row in example.ops] == [0, 1]
    assert example.ops[0]["value"] == [["append", ":x", 1], ["r", ":y", []]]
    assert {edge.kind for edge in example.circle} == {"rw"}
    assert results.ruled_out["not"] == ("repeatable-read",)
    assert "strong-serializable" in results.ruled_out["also-not"]


def test_a_weaker_model_allows_it(tmp_path):
    question = Question(format="jepsen", model="list-append", consistency_models=("snapshot-isolation",))
    results = judge(written(tmp_path, EDN), question, "local")
    assert results.valid is True
    assert results.anomalies["G2-item"].allowed


@pytest.mark.parametrize("names", [("PRAM",), ("sequential",), ("linearizable", "snapshot-isolation"), ("1SR",)])
def test_a_model_that_nothing_breaks_is_never_said_to_hold(tmp_path, names):
    question = Question(format="jepsen", model="list-append", consistency_models=names)
    results = judge(written(tmp_path, EDN), question, "local")
    assert results.valid == UNKNOWN
    assert results.reason == f"no anomaly that is looked for breaks {names[0]}"
    wrong = Question(format="jepsen", model="list-append", consistency_models=(*names, "serializable"))
    assert judge(written(tmp_path, EDN), wrong, "local").valid is False, "what is wrong is wrong beside it"


def test_json_lines_of_other_languages_mean_the_same(tmp_path):
    rows = [
        {"f": "txn", "type": "ok", "process": p, "invoke": p, "complete": 9 - p, "value": value}
        for p, value in enumerate([[["append", "x", 1], ["r", "y", None]], [["append", "y", 1], ["r", "x", []]]])
    ]
    path = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "history.jsonl")
    results = judge(path, Question(format="jsonl", model="list-append"), "local")
    assert set(results.anomalies) == {"G2-item"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[[:w :x 1]]", ":w is no micro-operation of --model list-append"),
        ("[[:cas :x 1]]", "is no micro-operation of a transaction"),
        ("[[:r :x 3]]", "a read of a list gives a list, not 3"),
        ("[[:append :x nil]]", ":append :x has no value"),
        ("7", "7 is no micro-operation of a transaction"),
    ],
)
def test_what_is_no_transaction_is_refused_in_a_line(tmp_path, value, words):
    text = (
        f"{{:process 0, :type :invoke, :f :txn, :value {value}}}\n{{:process 0, :type :ok, :f :txn, :value {value}}}\n"
    )
    with pytest.raises(HistoryError, match=r"history\.edn:1: ") as refused:
        judge(written(tmp_path, text), SKEW, "local")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ("{:process 0, :type :ok, :f :txn, :value []}", "record 0: process 0 completes a txn it never invoked"),
        (
            "{:process 0, :type :invoke, :f :txn, :value []}\n{:process 0, :type :ok, :f :read, :value []}",
            "record 1: process 0 completes a read, but began a txn",
        ),
    ],
)
def test_a_completion_that_fits_no_invocation_is_refused_in_a_line(tmp_path, records, words):
    with pytest.raises(HistoryError, match=words):
        judge(written(tmp_path, records), SKEW, "local")


def test_a_line_without_a_process_is_refused_in_a_line(tmp_path):
    path = written(tmp_path, '{"f": "txn", "type": "ok", "invoke": 0, "complete": 1, "value": []}\n', "history.jsonl")
    with pytest.raises(HistoryError, match='operation 1: a transaction has a "process", an integer from 0'):
        judge(path, Question(format="jsonl", model="list-append"), "local")


def test_what_a_completion_does_not_say_the_invocation_says(tmp_path):
    """An info completion names an error, a failed one nothing, an ok one is believed."""
    text = """\
{:process 0, :type :invoke, :f :txn, :value [[:append 1 1]]}
{:process 0, :type :info, :f :txn, :value :timeout, :error [:timeout "a b"]}
{:process 1, :type :invoke, :f :txn, :value [[:append 1 2]]}
{:process 1, :type :fail, :f :txn, :value nil}
{:process 2, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 2, :type :ok, :f :txn, :value [[:r 1 [1 2]]]}
"""
    results = judge(written(tmp_path, text), SKEW, "local")
    assert results.anomalies["G1a"].count == 1
    assert [(kind.f, kind.ok, kind.fail, kind.info) for kind in results.kinds] == [("txn", 1, 1, 1)]


@pytest.mark.parametrize("path", sorted((DATA / "txn").glob("*.edn")), ids=lambda path: path.stem)
def test_records_are_the_transactions_that_paired_operations_are(path):
    lists = path.name.startswith("la-")
    found = of_history(formats.read_transactions(path, lists=lists))
    paired = of_paired(formats.read(path, "jepsen"), lists=lists)
    for name in (
        "process",
        "type",
        "invoke",
        "complete",
        "number",
        "completion",
        "first",
        "kind",
        "known",
        "read_first",
    ):
        one, other = (getattr(each.transactions, name).tolist() for each in (found, paired))
        assert (name, one) == (name, other)
    micros = [
        [
            (t.keys[t.key[j]], t.shown(int(t.value[j])), [t.shown(one) for one in t.read_of(j)])
            for j in range(len(t.kind))
        ]
        for t in (found.transactions, paired.transactions)
    ]
    assert micros[0] == micros[1]
    assert found.answered.tolist() == paired.answered.tolist()
    assert [one.f for one in found.load.kinds] == [one.f for one in paired.load.kinds]


def test_keys_and_values_of_any_kind_are_told_apart(tmp_path):
    text = (
        EDN.replace(":x 1]", '"x" :one]').replace("[:r :x []]", '[:r "x" [:one]]').replace("[:r :y nil]", "[:r y nil]")
    )
    results = judge(written(tmp_path, text), SKEW, "local")
    assert results.valid is True, "y and :y are two keys"


def test_a_history_that_is_cut_off_keeps_what_stands(tmp_path):
    """The transaction that is open may yet fail; what its element shows is nothing until somebody reads it."""
    open_one = "{:process 2, :type :invoke, :f :txn, :value [[:append :x 2] [:append :z 1]], :index 5}\n"
    reader = (
        "{:process 3, :type :invoke, :f :txn, :value [[:r :z nil] [:r :x nil]], :index 6}\n"
        "{:process 3, :type :ok, :f :txn, :value [[:r :z %s] [:r :x [1]]], :index 7}\n"
    )
    cut = "{:process 4, :type :inv"
    seen = judge(written(tmp_path, EDN + open_one + reader % "[1]" + cut), SKEW, "local")
    assert seen.valid is False
    assert not seen.anomalies["G-single-item"].allowed
    assert "cut off" in seen.reason or "ends within" in seen.reason
    phantom = judge(written(tmp_path, reader % "[1]" + cut), SKEW, "local")
    assert phantom.valid == "unknown"
    assert phantom.anomalies["phantom"].allowed, "who appended it may follow"


def test_transactions_are_of_jepsen_or_lines_of_json():
    assert model_for("jepsen", "list-append") == "list-append"
    assert model_for("jsonl", "rw-register") == "rw-register"
    with pytest.raises(UsageError, match="jepsen or jsonl, not porcupine"):
        model_for("porcupine", "list-append")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("PL-2.99", "repeatable-read"),
        (":snapshot-isolation", "snapshot-isolation"),
        ("strong-serializable", "strict-serializable"),
        ("Serializable", "serializable"),
        ("conflict-serializable", "serializable"),
    ],
)
def test_models_have_several_names(name, model):
    assert model_named(name) == model


def test_a_model_that_there_is_not_gets_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean serializable"):
        model_named("serializabel")


def test_a_stronger_model_forbids_all_that_a_weaker_one_does():
    assert forbidden_anomalies(["strict-serializable"]) == set().union(
        *(forbidden_anomalies([model]) for model in MODELS)
    )
    assert "G2-item" not in forbidden_anomalies(["snapshot-isolation"])
    assert "G-single-item" in forbidden_anomalies(["snapshot-isolation"])
    assert forbidden_anomalies(["read-uncommitted"]) == {
        "G0",
        "duplicate-elements",
        "cyclic-versions",
        "phantom",
        "PL-1-cycle-exists",
    }


def test_the_boundary_is_where_models_begin_to_fail():
    assert boundary(["lost-update"]).weakest == ("cursor-stability", "update-atomic")
    assert boundary(["G2-item-realtime"]) == (("strict-serializable",), ())
    assert boundary([]) == ((), ())
