"""Generated histories hold what was asked for and nothing else, and look as if somebody had recorded them."""

import errno
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.cli.generate import generate_command
from chaos.core.errors import ChaosError, UsageError
from chaos.core.op import Type
from chaos.generate import folder as folder_module
from chaos.generate import outcomes, rows, run_folder
from chaos.generate.folder import write
from chaos.generate.plan import LOST, PLANTED, REORDERED, SENT_BACK, UNSEEN, parse_anomalies, plan_of
from chaos.models.log.words import F
from chaos.storage.runinfo import read_run
from checkers.engine import local_engine

PIECES = st.sampled_from([2, 5, outcomes.PIECE])


def generated(folder, piece=outcomes.PIECE, **asked):
    plan = plan_of(**{"ops": 1500, "keys": 2, "seed": 1, "anomalies": {}} | asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcomes, "PIECE", piece)
        patch.setattr(rows, "PIECE", piece)
        write(plan, folder, ("chaos", "generate"), 1)
    return folder


def tables(folder, name):
    return pa.concat_tables([pq.read_table(path) for path in sorted((folder / "history" / name).iterdir())])


def counts(results):
    return {name: anomaly.count for name, anomaly in results.anomalies.items()}


@st.composite
def wishes(draw):
    anomalies = draw(st.dictionaries(st.sampled_from(PLANTED), st.integers(1, 3), max_size=5))
    if SENT_BACK in anomalies:
        anomalies[REORDERED] = anomalies[SENT_BACK] + draw(st.integers(0, 2))
    return anomalies


@settings(max_examples=8)
@given(wishes(), st.integers(800, 2500), st.integers(2, 6), st.integers(0, 2**40), PIECES)
def test_the_checker_finds_exactly_what_was_asked_for(anomalies, ops, keys, seed, piece):
    with tempfile.TemporaryDirectory() as folder:
        path = generated(Path(folder) / "run", piece, ops=ops, keys=keys, seed=seed, anomalies=anomalies)
        results = local_engine.judge(path)
    assert counts(results) == anomalies
    assert results.valid == (True if not anomalies else "unknown" if set(anomalies) == {UNSEEN} else False)
    assert results.counts["operations"] == ops


@pytest.mark.parametrize("name", PLANTED)
def test_each_anomaly_is_found_by_its_own_name(name, tmp_path):
    anomalies = {name: 2} | ({REORDERED: 2} if name == SENT_BACK else {})
    assert counts(local_engine.judge(generated(tmp_path / "run", anomalies=anomalies))) == anomalies


def test_as_many_as_there_are_cycles(tmp_path):
    anomalies = {"duplicate": 10, "lost-write": 8, REORDERED: 4}
    assert counts(local_engine.judge(generated(tmp_path / "run", ops=22 * 17 + 4, anomalies=anomalies))) == anomalies
    with pytest.raises(UsageError, match="23 do not fit into 378 operations, which hold 22"):
        plan_of(22 * 17 + 4, 2, 1, anomalies | {"phantom": 1})


def test_operations_are_numbered_in_order_of_time_and_processes_take_turns(tmp_path):
    history = tables(generated(tmp_path / "run", ops=5000, keys=7), "operations").to_pandas()
    for _, own in history.sort_values("op").groupby("worker"):
        assert own["op"].tolist() == list(range(1, len(own) + 1))
        assert (np.diff(own["invoke_ns"]) >= 0).all()
    kinds = set(zip(history["f"], history["type"], strict=True))
    assert {(F.SEND, Type.FAIL), (F.SEND, Type.INFO), (F.SEND, Type.OK), (F.POLL, Type.OK)} <= kinds
    for _, own in history.sort_values("invoke_ns").groupby("process"):
        assert (own["complete_ns"].to_numpy()[:-1] < own["invoke_ns"].to_numpy()[1:]).all()
        assert (own["type"].to_numpy()[:-1] != Type.INFO).all()
    sends = history[history["f"] == F.SEND]
    assert not sends.duplicated(["writer", "sequence"]).any()
    acked = sends[sends["type"] == Type.OK].sort_values(["key", "invoke_ns"])
    assert (acked.groupby("key")["offset"].diff() < 0).any(), "sends that are under way together may change places"


def test_the_seed_decides_every_row(tmp_path):
    asked = {"anomalies": {"phantom": 2, "lost-write": 1}}
    one, same = (generated(tmp_path / name, 5, seed=3, **asked) for name in ("one", "same"))
    other = generated(tmp_path / "other", 5, seed=4, **asked)
    for name in ("operations", "reads"):
        assert tables(one, name).equals(tables(same, name))
        assert not tables(one, name).equals(tables(other, name))


def test_rows_are_in_order_and_a_row_group_has_one_queue(tmp_path):
    folder = generated(tmp_path / "run", 3, ops=3000, keys=6)
    for path in folder.glob("history/*/w*.parquet"):
        keys = [
            set(pq.ParquetFile(path).read_row_group(i)["key"].to_pylist())
            for i in range(pq.ParquetFile(path).num_row_groups)
        ]
        assert all(len(one) == 1 for one in keys)
        table = pq.read_table(path).to_pandas()
        order = table.sort_values(["key", "invoke_ns", "op"], kind="stable")
        assert (order.index == table.index).all()


def test_what_cannot_be_had_is_refused_in_a_line(tmp_path):
    for texts, says in (
        (["lost-wirte=1"], "did you mean lost-write?"),
        (["lost-write"], "say how many, as in lost-write=3"),
        (["phantom=0"], "say how many"),
        (["phantom=1", "phantom=2"], "phantom is given twice"),
    ):
        with pytest.raises(UsageError, match=says.replace("?", r"\?")):
            parse_anomalies(texts)
    with pytest.raises(UsageError, match="nonmonotonic-send=2: each is a nonlinearizable-offset as well"):
        plan_of(1000, 1, 1, {SENT_BACK: 2, REORDERED: 1})
    with pytest.raises(UsageError, match="take --keys 3 or more"):
        plan_of(1000, 2, 1, {UNSEEN: 7})
    with pytest.raises(UsageError, match="lost-write=1: in a queue with unseen messages no loss is certain"):
        plan_of(1000, 1, 1, {UNSEEN: 2, LOST: 1})
    with pytest.raises(UsageError, match="too few for a verdict over --keys 4; take at least 212"):
        plan_of(211, 4, 1, {})
    assert local_engine.judge(generated(tmp_path / "least", ops=212, keys=4)).valid is True
    with pytest.raises(UsageError, match="it exists"):
        generated(tmp_path / "least")


def test_a_history_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folder_module, "write_run_of", full)
    with pytest.raises(ChaosError, match=r"No space left on device; nothing of it is left"):
        generated(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_what_check_judges(tmp_path, capsys):
    folder = tmp_path / "made"
    asked = ["--ops", "1000", "--anomaly", "stale-tail=1", "--anomaly", "G1a=2", "--seed", "9", "--output", str(folder)]
    assert generate_command.main(asked, standalone_mode=False) == 0
    assert "1000 operations" in capsys.readouterr().out
    assert counts(local_engine.judge(folder)) == {"stale-tail": 1, "G1a": 2}
    assert "--anomaly stale-tail=1 --anomaly G1a=2 --seed 9" in " ".join(read_run(folder).argv)


def test_processes_of_their_own_write_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "SMALL", 0)
    plan = plan_of(400, 2, 1, {"phantom": 1})
    for processes in (1, 2):
        write(plan, tmp_path / str(processes), ("chaos",), processes)
    assert tables(tmp_path / "1", "reads").equals(tables(tmp_path / "2", "reads"))
