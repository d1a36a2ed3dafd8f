"""Registers, sets and counters from the recorder to the verdict: real streams, tables and checks.

tests/unit/chaos/testing has whole runs on them.
"""

import itertools

import msgspec
import pytest
from command_lines import said_here

from chaos.core.events import RUN_EVENTS, EventLog, Phase
from chaos.core.model import word_table
from chaos.core.op import Completion, Invocation, Type
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from chaos.models.registry import model_named
from chaos.plugins import load
from chaos.storage.manifest import write_manifest
from chaos.storage.recorder import Recorder
from chaos.storage.runinfo import read_run, write_run
from chaos.testing.history_files import run_info
from chaos.testing.history_literal import RunLiteral
from checkers.engine.installed_checks import check_named
from checkers.history.check_input import Context
from checkers.history.shards import load_shard, materialise, tables_of
from checkers.history.timeline import timeline_of

pytestmark = pytest.mark.broad

OK, FAIL, INFO = Type.OK, Type.FAIL, Type.INFO


def verdict(history, name):
    """The row of a check over all keys of the tables that the streams become."""
    model = model_named(name)
    made = [materialise(history, worker, name) for worker in (0,)]
    run = msgspec.structs.replace(run_info(RunLiteral(), "run"), model=name, words=word_table(model), origin_ns=0)
    context = Context(run=run, streams=tuple(one.facts for one in made), timeline=timeline_of([], run))
    kernel, tables = check_named(name), tables_of(history, name, context.streams)
    assert kernel.applies(context) is None
    summaries = [kernel.examine(load_shard(tables, key), context) for key in made[0].keys]
    total = summaries[0]
    for summary in summaries[1:]:
        total = kernel.merge(total, summary)
    return kernel.conclude(total, context)


def written(folder, name, *ops):
    """Record operations one after the other: (f, argument, type or None without an end, result)."""
    recorder, clock = Recorder(folder, 0, ("m1",), model_named(name)), itertools.count(1_000_000_000, 10_000_000)
    for process, (f, argument, kind, result) in enumerate(ops):
        op = Invocation(process=process, client=0, f=f, key=4, deadline_ns=0, argument=argument)
        at_ns = next(clock)
        number, _ = recorder.invoke(op, at_ns, pinned=False, at_ns=at_ns)
        if kind is not None:
            recorder.complete(number, op, Completion(type=kind, node="m1", result=result), at_ns=next(clock))
    recorder.close()
    return verdict(folder, name)


R, S, C = register.F, sets.F, counter.F


def write(value, kind=OK):
    return R.WRITE, register.Write(value=value), kind, None


def read(value):
    return R.READ, None, OK, Found(value)


def cas(expected, value, kind=OK):
    return R.CAS, register.Cas(expected=expected, value=value), kind, None


@pytest.mark.parametrize(
    "ops",
    [
        (read(None), write(1), read(1)),
        (write(1), write(2, INFO), read(1), read(2)),
        (write(1), write(2, INFO), read(2), read(2)),
        (write(1), write(2, None), read(1), read(1)),
        (write(1), write(2, FAIL), cas(1, 3), cas(1, 4, FAIL), read(3)),
        (write(1), cas(1, 2, INFO), read(2)),
        (write(1), write(2, Type.NOT_SENT), read(1)),
        (write(1), (R.READ, None, OK, None), (R.READ, None, FAIL, Found(7)), read(1)),
    ],
)
def test_registers_that_have_an_order(ops, tmp_path):
    assert written(tmp_path, "register", *ops).valid is True


@pytest.mark.parametrize(
    ("ops", "guilty"),
    [
        ((write(1), write(2), read(1)), "read 1"),
        ((write(1), read(None)), "read nil"),
        ((write(1), write(2, FAIL), read(2)), "read 2"),
        ((write(1), write(2, INFO), read(2), read(1)), "read 1"),
        ((write(1), cas(2, 3)), "cas [2 3]"),
    ],
)
def test_a_stale_or_impossible_answer_of_a_register_is_named(ops, guilty, tmp_path):
    row = written(tmp_path, "register", *ops)
    assert row.valid is False
    assert set(row.anomalies) == {"nonlinearizable"}
    (anomaly,) = row.anomalies.values()
    (example,) = anomaly.examples
    assert (example.key, guilty.split()[0] in example.sentence) == (4, True)
    assert example.sentence.startswith("key 4: ")
    assert any(op["f"] == guilty.split()[0] for op in example.ops)


def add(element, kind=OK):
    return S.ADD, sets.Add(element=element), kind, None


def elements(*found):
    return S.READ, None, OK, sets.Elements(list(found))


@pytest.mark.parametrize(
    ("ops", "anomalies"),
    [
        ((add(1), elements(1), add(2, INFO), elements(1, 2), elements(2, 1)), {}),
        ((add(1), add(2, INFO), elements(1), elements(1)), {}),
        ((add(1), elements(), elements(1)), {"stale-read": 1}),
        ((add(1), add(2), elements(1, 2), elements(2)), {"lost-write": 1}),
        ((add(1), elements(1, 9)), {"phantom": 1}),
        ((add(1), elements(1, 1)), {"duplicate": 1}),
        ((add(1), add(2, FAIL), elements(1, 2), elements(1, 2)), {"G1a": 1}),
        ((add(1), add(2, FAIL), add(2, INFO), elements(1, 2)), {}),
    ],
)
def test_sets(ops, anomalies, tmp_path):
    row = written(tmp_path, "set", *ops)
    assert {name: one.count for name, one in row.anomalies.items()} == anomalies
    assert row.valid is not bool(anomalies)


def more(amount, kind=OK):
    return C.ADD, counter.Add(amount=amount), kind, None


def total(value):
    return C.READ, None, OK, Found(value)


@pytest.mark.parametrize(
    ("ops", "count"),
    [
        ((total(None), more(2), total(2), more(3, INFO), total(2), total(5)), 0),
        ((more(2), more(3, FAIL), total(2)), 0),
        ((more(2), total(None)), 1),
        ((more(2), total(1), total(3)), 2),
        ((more(2), more(3, FAIL), total(5)), 1),
    ],
)
def test_counters(ops, count, tmp_path):
    row = written(tmp_path, "counter", *ops)
    assert {name: one.count for name, one in row.anomalies.items()} == ({"out-of-bounds": count} if count else {})
    assert row.valid is (count == 0)


def run_folder(folder, name, *ops):
    """A whole run folder of these operations, with its final phase."""
    model = model_named(name)
    (folder / "history").mkdir(parents=True)
    written(folder / "history", name, *ops)
    info = msgspec.structs.replace(run_info(RunLiteral(), "run"), model=name, words=word_table(model), workload=name)
    write_run(folder, msgspec.structs.replace(info, checks=load("workloads", name).checks, keys=5, origin_ns=10**9))
    log = EventLog(folder / "history" / RUN_EVENTS)
    for at_ns, phase, edge in ((1, "load", "start"), (2, "load", "end"), (3, "drain", "start"), (4, "drain", "end")):
        log.emit(Phase(time_ns=10**9 + at_ns, name=phase, edge=edge))
    log.close()
    write_manifest(folder)
    return str(folder)


def test_the_history_of_a_register_is_shown_in_its_words(tmp_path):
    folder = run_folder(tmp_path / "run", "register", write(7), cas(7, 8, INFO), read(8))
    code, out, _ = said_here("show", folder)
    lines = [line.split() for line in out.splitlines()[1:] if "==" not in line]
    assert code == 0
    assert [line[4:-1] for line in lines] == [
        ["write", "k4", "7", "ok"],
        ["cas", "k4", "7->8", "info"],
        ["read", "k4", "->", "8", "ok"],
    ]
    assert sum("k4" in line for line in said_here("show", folder, "--f", "cas")[1].splitlines()) == 1
    said = said_here("show", folder, "--f", "poll")[2]
    assert said == "chaos: --f poll: no such operation on a register; known: cas, read, write\n"
    code, _, said = said_here("show", folder, "--around", "3:7")
    assert (code, said.count("\n")) == (254, 1)


def test_a_whole_run_of_registers_is_judged(tmp_path):
    folder = run_folder(tmp_path / "run", "register", write(7), cas(7, 8), read(8))
    code, out, said = said_here("check", folder, "--engine", "local")
    assert (code, said) == (0, "")
    told = " ".join(out.split())
    assert "All answers of 1 register fit the 2 writes that were acknowledged; no fault was asked for." in told
    assert "register PASS 3 operations of 1 key every key has an order that agrees with real time" in told
    assert (tmp_path / "run" / "report.html").exists()


def test_a_stale_register_is_found_in_a_whole_run(tmp_path):
    folder = run_folder(tmp_path / "run", "register", write(7), read(7), write(8), read(7))
    code, out, _ = said_here("check", folder, "--engine", "local")
    assert code == 1
    assert "1 object without an order: key 4:" in " ".join(out.split())


def test_a_key_that_nobody_read_at_last_is_unknown(tmp_path):
    folder = run_folder(tmp_path / "run", "register", write(7), write(8))
    code, out, _ = said_here("check", folder, "--engine", "local")
    assert code == 2
    assert "key 4 not read after the last heal" in " ".join(out.split())


def test_a_run_whose_words_have_other_numbers_is_refused(tmp_path):
    folder = run_folder(tmp_path / "run", "register", write(7))
    path = tmp_path / "run"
    write_run(path, msgspec.structs.replace(read_run(path), words={"read": 2, "write": 1, "cas": 3}))
    code, _, said = said_here("show", folder)
    assert (code, said.count("\n")) == (254, 1)
    assert "2 means read" in said
