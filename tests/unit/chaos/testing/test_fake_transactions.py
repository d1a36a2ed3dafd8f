"""Whole runs of transactions on a fake system: without a bug valid, with one invalid; asked, shown and judged again."""

import subprocess
import sys

import pytest

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Promises, read_run
from chaos.testing import FakeSystem, answer_from_the_past, lose_acknowledged, lose_answers, refuse_and_do, run
from chaos.testing.fake_transactions import make_money, read_old_snapshots, show_other_halves, tear_transactions

pytestmark = pytest.mark.broad
BOTH = ["list-append", "rw-register"]


@pytest.mark.parametrize("workload", BOTH)
def test_without_a_bug_transactions_fit(workload, tmp_path):
    done = run(tmp_path, FakeSystem(bug=lose_answers(5)), workload=workload, reports=())
    row = done.check("transactions")
    assert (row.valid, row.anomalies) == (True, {})
    assert done.results.counts["info"] > 10


@pytest.mark.parametrize(
    ("workload", "bug", "anomalies"),
    [
        ("list-append", lose_acknowledged(), {"incompatible-order"}),
        ("list-append", answer_from_the_past(2), {"G-single-item-realtime"}),
        ("list-append", refuse_and_do(), {"G1a"}),
        ("list-append", read_old_snapshots(), {"G-single-item"}),
        ("list-append", tear_transactions(), {"G1b"}),
        ("rw-register", lose_acknowledged(), {"cyclic-versions"}),
        ("rw-register", refuse_and_do(), {"G1a"}),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_bug_is_found(workload, bug, anomalies, tmp_path):
    # Long enough for some hundred transactions, which show each of these, on a machine that is starved as well.
    done = run(tmp_path, FakeSystem(bug=bug), workload=workload, time_limit_s=3.0, reports=())
    assert (done.exit_code, done.results.valid) == (1, False)
    assert anomalies <= set(done.check("transactions").anomalies)
    assert anomalies <= set(done.results.anomalies)


OTHERS = ["bank", "long-fork", "monotonic", "multi-register"]


@pytest.mark.parametrize("workload", OTHERS)
def test_without_a_bug_the_other_workloads_fit_too(workload, tmp_path):
    done = run(tmp_path, FakeSystem(bug=lose_answers(5)), workload=workload, reports=())
    row = done.check(workload)
    assert (row.valid, row.anomalies) == (True, {})
    assert done.results.counts["info"] > 10


@pytest.mark.parametrize(
    ("workload", "bug", "anomaly"),
    [
        ("bank", lose_acknowledged(), "out-of-bounds"),
        ("bank", refuse_and_do(), "out-of-bounds"),
        ("bank", make_money(), "wrong-total"),
        ("long-fork", show_other_halves(), "long-fork"),
        ("long-fork", answer_from_the_past(2), "key-order-cycle"),
        ("long-fork", refuse_and_do(), "G1a"),
        ("monotonic", lose_acknowledged(), "key-order-cycle"),
        ("monotonic", answer_from_the_past(2), "key-order-cycle"),
        ("multi-register", lose_acknowledged(), "nonlinearizable"),
        ("multi-register", refuse_and_do(), "nonlinearizable"),
        ("multi-register", tear_transactions(), "nonlinearizable"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_bug_is_found_by_the_other_workloads(workload, bug, anomaly, tmp_path):
    done = run(tmp_path, FakeSystem(bug=bug), workload=workload, time_limit_s=3.0, reports=())
    assert (done.exit_code, done.results.valid) == (1, False)
    assert anomaly in done.check(workload).anomalies


def test_what_the_system_does_not_promise_is_told_and_allowed(tmp_path):
    fake = FakeSystem(bug=answer_from_the_past(2), promises=Promises(consistency_models=("serializable",)))
    done = run(tmp_path, fake, workload="list-append", reports=())
    row = done.check("transactions")
    assert (row.valid, row.anomalies["G-single-item-realtime"].allowed) == (True, True)
    assert "held to serializable" in row.examined


def test_a_model_that_is_asked_for_goes_before_the_promise_and_is_kept(tmp_path):
    fake = FakeSystem(bug=answer_from_the_past(2))
    done = run(tmp_path, fake, workload="list-append", consistency_models=("PL-3", "read-atomic"), reports=())
    assert done.check("transactions").valid is True
    assert read_run(done.folder).consistency_models == ("serializable", "read-atomic")


@pytest.mark.parametrize(
    ("workload", "names", "said"),
    [
        ("list-append", ("serialisable",), "did you mean serializable"),
        ("register", ("serializable",), "makes no transactions"),
    ],
)
def test_a_model_that_cannot_be_is_refused(workload, names, said, tmp_path):
    with pytest.raises(UsageError, match=said):
        run(tmp_path, FakeSystem(), workload=workload, consistency_models=names)


def test_the_page_draws_a_cycle_and_the_history_is_shown(tmp_path):
    done = run(tmp_path, FakeSystem(bug=answer_from_the_past(2)), workload="list-append")
    (name,) = (name for name in done.check("transactions").anomalies if name == "G-single-item-realtime")
    example = done.results.anomalies[name].examples[0]
    page = (done.folder / "report.html").read_text()
    assert '<svg class="ring"' in page
    assert all(edge.kind in ("rw", "wr", "ww", "realtime") for edge in example.circle)
    assert example.circle[0].reason in page.replace("&#39;", "'")
    shown = subprocess.run(
        [sys.executable, "-m", "chaos", "show", str(done.folder), "--around", f"{name}/1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert example.ops[0]["what"].partition(" ")[2] in shown
