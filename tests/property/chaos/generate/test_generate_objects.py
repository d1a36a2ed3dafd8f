"""Run folders that any generator makes hold what was asked for and nothing else, whatever their model.

The generators come from the registry, so a new one is tested without being named here. What run folders of objects
have in common is tested of those that ``chaos.generate.objects`` makes.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos import plugins
from chaos.cli.generate import generate_command
from chaos.core.errors import UsageError
from chaos.core.op import Type
from chaos.generate import run_folder
from chaos.generate.generator import HistorySpec
from chaos.generate.objects import generator as object_generators
from chaos.generate.objects.generator import ObjectGenerator
from checkers.engine import local_engine

EVERY = {
    row.name: plugins.load("generators", row.name)
    for row in plugins.list_group("generators")
    if row.help.startswith("Run folders of")
}
OBJECTS = {name: one for name, one in EVERY.items() if isinstance(one, ObjectGenerator)}
PAIRS = [(model, name) for model, one in EVERY.items() for name in one.planted]
ALSO = {"nonmonotonic-send": "nonlinearizable-offset"}
"""Anomalies that the contract reports as another one as well: docs/guide/generate.md says why."""
UNDECIDED = {"unseen"}
"""Anomalies that leave the verdict unknown."""
OPS, KEYS = 3000, 5


def generated(folder, model, anomalies=None, ops=OPS, keys=KEYS, seed=1, processes=1):
    spec = HistorySpec(
        ops=ops, keys=keys, seed=seed, anomalies=anomalies or {}, options={}, argv=("chaos",), processes=processes
    )
    EVERY[model].write(spec, folder)
    return folder


def counts(results):
    return {name: anomaly.count for name, anomaly in results.anomalies.items()}


def rows(folder):
    tables = [pq.read_table(path) for path in sorted((folder / "history" / "operations").glob("*.parquet"))]
    return pa.concat_tables(tables).sort_by("op").to_pandas()


@pytest.mark.parametrize("model", EVERY)
def test_a_history_without_anomaly_is_decided_by_every_check(model, tmp_path):
    results = local_engine.judge(generated(tmp_path / "run", model))
    assert {row.name: row.valid for row in results.checks} == dict.fromkeys((row.name for row in results.checks), True)
    assert (results.valid, counts(results)) == (True, {})


@pytest.mark.parametrize(("model", "name"), PAIRS)
def test_each_anomaly_is_found_by_its_own_name_as_often_as_asked_for(model, name, tmp_path):
    asked = dict.fromkeys((name, ALSO.get(name, name)), 3)
    results = local_engine.judge(generated(tmp_path / "run", model, asked))
    assert counts(results) == asked
    assert results.valid == ("unknown" if name in UNDECIDED else False)


@settings(max_examples=12)
@given(st.data(), st.sampled_from(sorted(OBJECTS)), st.integers(1, 7), st.integers(0, 2**40))
def test_all_at_once(data, model, keys, seed):
    planted = EVERY[model].planted
    if OBJECTS[model].once:
        asked = {planted[0]: data.draw(st.integers(1, keys))}
    else:
        asked = data.draw(st.dictionaries(st.sampled_from(planted), st.integers(1, 4)))
    ops = data.draw(st.integers(1000, 4000))
    with tempfile.TemporaryDirectory() as folder:
        results = local_engine.judge(generated(Path(folder) / "run", model, asked, ops, keys, seed))
    assert counts(results) == asked
    assert results.valid is (not asked)
    assert ops * 0.7 < results.counts["operations"] <= ops


@pytest.mark.parametrize("model", OBJECTS)
def test_whatever_the_check_of_a_model_reports_can_be_planted(model):
    reported = {kind.name for kind in plugins.load("checks", OBJECTS[model].check).anomalies}
    assert set(OBJECTS[model].planted) == reported


@pytest.mark.parametrize("model", OBJECTS)
def test_the_same_options_give_the_same_bytes(model, tmp_path, monkeypatch):
    asked = {EVERY[model].planted[0]: 2}
    monkeypatch.setattr(run_folder, "SMALL", 0)
    folders = [tmp_path / name / "run" for name in ("one", "two", "other")]
    for folder, (seed, processes) in zip(folders, ((3, 1), (3, 1), (4, 1)), strict=True):
        folder.parent.mkdir()
        generated(folder, model, asked, seed=seed, processes=processes)
    one, two, other = ({path.name: path.read_bytes() for path in one.rglob("*.*") if path.is_file()} for one in folders)
    assert one == two
    assert one["w0.parquet"] != other["w0.parquet"]


def test_processes_of_their_own_write_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "SMALL", 0)
    for processes in (1, 2):
        generated(tmp_path / str(processes), "counter", ops=600, keys=2, processes=processes)
    assert rows(tmp_path / "1").equals(rows(tmp_path / "2"))


@pytest.mark.parametrize("model", OBJECTS)
def test_pieces_change_nothing_but_what_is_drawn(model, tmp_path, monkeypatch):
    """Whatever is known of an object goes from a piece to the next, but a set is held whole."""
    if OBJECTS[model].longest * len(OBJECTS[model].cycle) <= OPS:
        return
    monkeypatch.setattr(object_generators, "PIECE", 2 * len(OBJECTS[model].cycle))
    asked = dict.fromkeys(OBJECTS[model].planted, 2)
    assert counts(local_engine.judge(generated(tmp_path / "run", model, asked))) == asked


@pytest.mark.parametrize("model", OBJECTS)
def test_operations_are_numbered_in_order_of_time_and_processes_take_turns(model, tmp_path):
    history = rows(generated(tmp_path / "run", model, ops=8000, keys=3))
    assert (np.diff(history["op"]) > 0).all()
    assert (np.diff(history["invoke_ns"]) >= 0).all()
    kinds = set(zip(history["f"], history["type"], strict=True))
    assert {int(f) for f in OBJECTS[model].model.words} == {f for f, kind in kinds if kind == Type.OK}
    assert {kind for _, kind in kinds} >= {Type.OK, Type.INFO}
    own = history.sort_values(["process", "invoke_ns"])
    same = own["process"].to_numpy()[1:] == own["process"].to_numpy()[:-1]
    assert (own["complete_ns"].to_numpy()[:-1] < own["invoke_ns"].to_numpy()[1:])[same].all()
    assert (own["type"].to_numpy()[:-1] != Type.INFO)[same].all()
    by_key = history.sort_values(["key", "invoke_ns"])
    following = by_key["key"].to_numpy()[1:] == by_key["key"].to_numpy()[:-1]
    beside = by_key["complete_ns"].to_numpy()[:-1] > by_key["invoke_ns"].to_numpy()[1:]
    assert beside[following].any(), "some operations overlap"


@pytest.mark.parametrize("model", OBJECTS)
def test_too_few_operations_and_too_many_anomalies_are_refused(model, tmp_path):
    one, name = OBJECTS[model], EVERY[model].planted[0]
    least = 4 * (3 * len(one.cycle) + len(one.last))
    with pytest.raises(UsageError, match=f"too few for a verdict over --keys 4; take at least {least}"):
        generated(tmp_path / "few", model, ops=least - 1, keys=4)
    assert local_engine.judge(generated(tmp_path / "least", model, ops=least, keys=4)).valid is True
    room, more = (4, "keys") if one.once else (12, "ops")
    assert counts(local_engine.judge(generated(tmp_path / "full", model, {name: room}, least, 4))) == {name: room}
    with pytest.raises(UsageError, match=f"{room + 1} do not fit, .* more --{more}"):
        generated(tmp_path / "many", model, {name: room + 1}, least, 4)


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
