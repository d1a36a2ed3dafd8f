"""Transactions from the recorder to the verdict; the same verdict as of the same history in Jepsen's notation."""

import random

import msgspec
import numpy as np
import pytest
from live_transactions import as_edn, context_of, key_numbers, recorded, shard_of, verdict
from txn_histories import MUTATIONS, REGISTER_MUTATIONS, added, append, correct, got, read, write
from txn_literals import FAIL, INFO, r, t

from chaos.formats.txn_columns import MicroKind
from chaos.models.transactions.words import Do
from chaos.storage.runinfo import Promises
from checkers.engine.installed_checks import check_named
from checkers.imported.options import Question
from checkers.imported.transactions import judge as judge_file
from checkers.txn.judge import Options, judge
from checkers.txn.live import options_of
from checkers.txn.models import MODELS
from checkers.txn.of_run import transactions_of
from checkers.txn.transactions import NEVER, NIL, columns

STRICT = "strict-serializable"
CASES = [(True, *one) for one in MUTATIONS.items()] + [(False, *one) for one in REGISTER_MUTATIONS.items()]


def test_micro_operations_have_one_numbering():
    assert [(one.name, one.value, one.word) for one in Do] == [(one.name, one.value, one.word) for one in MicroKind]


def counts(anomalies):
    return {name: one.count for name, one in anomalies.items()}


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_correct_history_is_valid(seed, lists, tmp_path):
    row = verdict(tmp_path, correct(random.Random(seed), lists=lists), lists=lists)
    assert (row.valid, row.anomalies, row.reason) == (True, {}, "")


@pytest.mark.parametrize(("lists", "name", "mutate"), CASES)
def test_each_mutation_is_found_under_its_name(lists, name, mutate, tmp_path):
    row = verdict(tmp_path, mutate(correct(random.Random(3), lists=lists)), lists=lists)
    assert row.valid is False
    found = row.anomalies
    assert name in found or (not lists and "cyclic-versions" in found), found
    assert all(example.ops and example.key == 0 for one in found.values() for example in one.examples)


@pytest.mark.parametrize("model", [STRICT, "snapshot-isolation"])
@pytest.mark.parametrize(("lists", "name", "mutate"), CASES)
def test_the_verdict_is_that_of_the_same_history_from_jepsen(lists, name, mutate, model, tmp_path):
    rows = mutate(correct(random.Random(4), lists=lists))
    (tmp_path / "run").mkdir()
    live = verdict(tmp_path / "run", rows, lists=lists, consistency_models=(model,))
    file = tmp_path / "history.edn"
    file.write_text(as_edn(rows))
    options = options_of((model,))
    question = Question(
        format="jepsen",
        model="list-append" if lists else "rw-register",
        consistency_models=(model,),
        **{one: getattr(options, one) for one in ("wfr_keys", "sequential_keys", "linearizable_keys")},
    )
    told = judge_file(file, question, "local")
    assert live.valid == told.valid
    more = {name for name in live.anomalies if name not in told.anomalies}
    assert not any(not live.anomalies[name].allowed for name in more)
    assert model != STRICT or not more
    own = {name: one for name, one in live.anomalies.items() if name not in more}
    for tell in (
        counts,
        lambda every: {name: one.allowed for name, one in every.items()},
        lambda every: {name: [len(example.circle) for example in one.examples] for name, one in every.items()},
    ):
        assert tell(own) == tell(told.anomalies)


@pytest.mark.parametrize("lists", [True, False])
def test_columns_are_those_of_the_literals(lists, tmp_path):
    rows = sorted(correct(random.Random(9), lists=lists, count=60), key=lambda one: one.invoke)
    recorded(tmp_path, rows, lists=lists)
    context, _ = context_of(tmp_path)
    found, wanted = transactions_of(shard_of(tmp_path, context).operations), columns(rows)
    t_, numbers = found.transactions, key_numbers(rows)
    assert found.lists is lists
    for name in ("process", "type", "first", "kind", "known", "read_first"):
        assert getattr(t_, name).tolist() == getattr(wanted, name).tolist(), name
    assert [t_.keys[one] for one in t_.key.tolist()] == [numbers[wanted.keys[one]] for one in wanted.key.tolist()]
    assert list(map(t_.shown, t_.value.tolist())) == list(map(wanted.shown, wanted.value.tolist()))
    assert list(map(t_.shown, t_.elements.tolist())) == list(map(wanted.shown, wanted.elements.tolist()))


def test_an_info_transaction_has_no_end_and_what_it_read_does_not_count(tmp_path):
    rows = [t("ax1", 0, 5), msgspec.structs.replace(t("rx1 ry", 10, 15), type=INFO, complete=15)]
    recorded(tmp_path, rows, lists=True)
    context, _ = context_of(tmp_path)
    found = transactions_of(shard_of(tmp_path, context).operations).transactions
    assert found.complete.tolist()[1] == NEVER
    assert found.known.tolist() == [True, False, False]
    assert found.elements.tolist() == []


@pytest.mark.parametrize("kind", [INFO, FAIL])
def test_who_could_not_commit_may_have_been_told_anything(kind, tmp_path):
    """A leader that is cut off answers by what it will lose, and then cannot say that the transaction was done."""
    rows = [t("ax1", 0, 5), t("rx12 ax3", 10, 15), t("rx123", 20, 25), t("ax4", 30, 35), t("rx14", 40, 45)]
    rows = [row if i not in (1, 2) else msgspec.structs.replace(row, type=kind) for i, row in enumerate(rows)]
    assert verdict(tmp_path, rows, lists=True).valid is True


def test_numbers_that_are_too_large_or_negative_are_judged_too(tmp_path):
    rows = [r("wx1", 0, 5), r("rx1", 10, 15)]
    rows[1] = msgspec.structs.replace(rows[1], micros=(got("x", -(2**40)),))
    recorded(tmp_path, rows, lists=False)
    context, _ = context_of(tmp_path)
    found = transactions_of(shard_of(tmp_path, context).operations).transactions
    assert list(map(found.shown, found.value.tolist())) == [1, -(2**40)]
    assert NIL not in found.value.tolist()
    assert "phantom" in judge(found, "rw-register", Options()).anomalies


def held(tmp_path, rows, *, asked=(), promised=None):
    return verdict(
        tmp_path,
        rows,
        lists=True,
        consistency_models=asked,
        promises=Promises(consistency_models=promised),
    )


STALE = [t("ax1", 0, 5), t("rx", 10, 15), t("rx1", 20, 25)]


@pytest.mark.parametrize(
    ("asked", "promised", "valid"),
    [
        ((), None, False),
        ((), (STRICT,), False),
        ((), ("serializable",), True),
        ((), (), True),
        ((STRICT,), (), False),
        (("serializable",), None, True),
        (("serializable", "strong-snapshot-isolation"), None, False),
        (("PL-3",), None, True),
    ],
)
def test_what_is_asked_for_goes_before_what_is_promised(asked, promised, valid, tmp_path):
    row = held(tmp_path, STALE, asked=asked, promised=promised)
    assert row.valid is valid
    assert {name: one.allowed for name, one in row.anomalies.items()} == {"G-single-item-realtime": valid}
    assert "held to" in row.examined


def test_a_value_that_nobody_wrote_is_an_error_whatever_is_promised(tmp_path):
    rows = added(list(STALE), (append("a", 1),), (read("a", 1, 9),))
    assert held(tmp_path, rows, promised=()).valid is False


@pytest.mark.parametrize("name", ["linearizable", "PRAM", "1SR"])
def test_a_model_that_no_anomaly_breaks_is_never_said_to_hold(name, tmp_path):
    row = held(tmp_path, STALE, asked=(name,))
    assert row.valid == "unknown"
    assert name in row.reason


def test_without_a_dependency_nothing_is_known(tmp_path):
    row = held(tmp_path, [t("ax1", 0, 5)])
    assert (row.valid, row.anomalies) == ("unknown", {})
    assert "no transaction depends on another" in row.reason


def test_an_order_inferred_from_the_model_rules_out_no_weaker_one(tmp_path):
    rows = [r("wx1", 0, 5), r("wx2", 10, 15), r("rx1", 20, 25)]
    row = verdict(tmp_path, rows, lists=False)
    assert (row.valid, set(row.anomalies)) == (False, {"cyclic-versions"})
    assert "rules out" not in row.found
    (tmp_path / "weaker").mkdir()
    row = verdict(tmp_path / "weaker", rows, lists=False, consistency_models=("serializable",))
    assert (row.valid, row.anomalies["cyclic-versions"].allowed) == (True, True)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_asked_for(name, tmp_path):
    assert held(tmp_path, STALE, asked=(name,)).valid in (True, False, "unknown")


def test_two_spaces_are_added_up(tmp_path):
    check, summaries = check_named("transactions"), []
    for space, rows in enumerate((STALE, added(list(STALE), (append("a", 1), read("a"))))):
        folder = tmp_path / str(space)
        folder.mkdir()
        recorded(folder, rows, lists=True, space=space)
        context, _ = context_of(folder)
        summaries.append(check.examine(shard_of(folder, context, space), context))
    row = check.conclude(check.merge(*summaries), context)
    assert counts(row.anomalies) == {"G-single-item-realtime": 2, "internal": 1}
    assert {example.key for example in row.anomalies["G-single-item-realtime"].examples} == {0, 1}


def test_registers_and_lists_in_one_space_are_not_judged(tmp_path):
    recorded(tmp_path, [t("ax1 rx", 0, 5)], lists=True)
    context, _ = context_of(tmp_path)
    shard = shard_of(tmp_path, context)
    mixed = {name: [*column, *column] for name, column in shard.operations.items()}

    def as_array(values):
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made if isinstance(values[0], list) else np.array(values)

    ready = {name: as_array(values) for name, values in mixed.items()}
    ready["f"] = np.array([1, 3], dtype=np.int64)
    assert transactions_of(ready).lists is None


def test_a_cycle_is_told_with_its_edges_in_words(tmp_path):
    rows = added(correct(random.Random(3), lists=True), (read("a"), append("b", 1)), (read("b"), append("a", 1)))
    example = verdict(tmp_path, rows, lists=True).anomalies["G2-item"].examples[0]
    numbers = {row["op"]: row for row in example.ops}
    assert [edge.kind for edge in example.circle] == ["rw", "rw"]
    assert all(edge.before in numbers and edge.after in numbers and edge.reason for edge in example.circle)
    assert {row["f"] for row in example.ops} == {"list-txn"}
    assert all({"what", "value", "invoke_s", "node", "process"} <= row.keys() for row in example.ops)
    assert "append" in example.ops[0]["what"]


def test_writes_that_nobody_read_are_no_reason_to_doubt(tmp_path):
    rows = added(correct(random.Random(3), lists=False), (write("z", 1),))
    assert verdict(tmp_path, rows, lists=False).valid is True
