"""Generated histories of semaphores hold what was asked for and nothing else, and look as if somebody recorded them."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.cli.generate import generate_command
from chaos.core.errors import UsageError
from chaos.core.op import Type
from chaos.generate.semaphore import CYCLE, ENOUGH, PERMITS, PLANTED, SLOTS, plan_of, write
from chaos.models.coordination.semaphore import F
from checkers.engine import local_engine

WISHES = st.dictionaries(st.sampled_from(PLANTED), st.integers(1, 5))


def generated(folder, ops=600, keys=2, seed=1, anomalies=None):
    return write(plan_of(ops, keys, seed, anomalies or {}), folder, ("chaos", "generate"))


def rows(folder):
    """All operations."""
    local_engine.judge(folder)
    return pq.read_table(folder / "history" / "operations" / "w0.parquet").to_pandas()


def counts(results):
    return {name: anomaly.count for name, anomaly in results.anomalies.items()}


@settings(max_examples=10)
@given(WISHES, st.integers(400, 2500), st.integers(1, 6), st.integers(0, 2**40))
def test_the_checker_finds_exactly_what_was_asked_for(anomalies, ops, keys, seed):
    with tempfile.TemporaryDirectory() as folder:
        made = generated(Path(folder) / "run", ops, keys, seed, anomalies)
        results = local_engine.judge(Path(folder) / "run")
    assert counts(results) == anomalies
    assert results.valid is (not anomalies)
    assert results.counts["operations"] == made
    assert ops - keys * SLOTS < made <= ops


def test_every_cycle_may_hold_an_anomaly(tmp_path):
    anomalies = {PLANTED[0]: 9, PLANTED[1]: 7, PLANTED[2]: 6}
    generated(tmp_path / "run", 22 * SLOTS + 2 * PERMITS, 2, 3, anomalies)
    assert counts(local_engine.judge(tmp_path / "run")) == anomalies
    with pytest.raises(UsageError, match="23 do not fit into 226 operations, which hold 22"):
        plan_of(22 * SLOTS + 2 * PERMITS, 2, 1, anomalies | {PLANTED[0]: 10})


def test_fewer_operations_than_a_verdict_needs_are_refused(tmp_path):
    least = 4 * (SLOTS * -(-ENOUGH // 4) + PERMITS)
    with pytest.raises(UsageError, match=f"too few for a verdict over --keys 4; take at least {least}"):
        plan_of(least - 1, 4, 1, {})
    generated(tmp_path / "least", least, 4)
    assert local_engine.judge(tmp_path / "least").valid is True


def test_the_history_is_in_order_and_a_process_without_an_answer_never_comes_back(tmp_path):
    generated(tmp_path / "run", 5000, 3)
    history = rows(tmp_path / "run")
    assert (np.diff(history.sort_values("op")["invoke_ns"]) >= 0).all()
    for _, own in history.sort_values("invoke_ns").groupby("process"):
        assert (own["complete_ns"].to_numpy()[:-1] < own["invoke_ns"].to_numpy()[1:]).all()
        assert (own["type"].to_numpy()[:-1] != Type.INFO).all()
    kinds = set(zip(history["f"], history["type"], strict=True))
    assert kinds == {(f, kind) for f in F for kind in (Type.OK, Type.FAIL, Type.INFO)}
    assert history["type"].value_counts()[Type.INFO] < len(history) / 50
    assert [f for f, _ in CYCLE].count(F.ACQUIRE) == SLOTS / 2


def test_the_same_options_give_the_same_rows(tmp_path):
    for name in ("one", "two"):
        generated(tmp_path / name, seed=5, anomalies={PLANTED[0]: 2})
    generated(tmp_path / "other", seed=6, anomalies={PLANTED[0]: 2})
    one, two, other = (rows(tmp_path / name) for name in ("one", "two", "other"))
    assert one.equals(two)
    assert not one.equals(other)


def test_by_the_command(tmp_path):
    asked = ("--model", "semaphore", "--ops", "600", "--keys", "2", "--output", str(tmp_path / "run"))
    done = CliRunner().invoke(generate_command, [*asked, "--anomaly", "permits-exceeded=1"], standalone_mode=False)
    assert "586 operations, written in" in done.output
    assert counts(local_engine.judge(tmp_path / "run")) == {"permits-exceeded": 1}
    for more, said in (
        (("--anomaly", "lost-write=1"), "no 'lost-write' can be planted"),
        (("--txn-length", "3"), "--txn-length: only for --model kafka"),
    ):
        refused = CliRunner().invoke(generate_command, [*asked, *more], standalone_mode=False)
        assert said in str(refused.exception)
    again = CliRunner().invoke(generate_command, asked, standalone_mode=False)
    assert "it exists" in str(again.exception)
