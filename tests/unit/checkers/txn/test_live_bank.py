"""Banks from the recorder to the verdict: totals, and accounts between what was acknowledged and what was tried."""

import random

import msgspec
import pytest

from chaos.core.model import word_table
from chaos.core.op import Completion, Invocation, Type
from chaos.models.registry import model_named
from chaos.models.transactions.bank import ACCOUNTS, MODEL, OPENING, Balances, F, Transfer
from chaos.storage.recorder import Recorder
from chaos.storage.runinfo import Promises
from chaos.testing.history_files import run_info
from chaos.testing.history_literal import RunLiteral
from checkers.engine.installed_checks import check_named
from checkers.history.check_input import Context
from checkers.history.shards import load_shard, materialise, tables_of
from checkers.history.timeline import timeline_of

OK, FAIL, INFO = Type.OK, Type.FAIL, Type.INFO
START_NS, STEP_NS = 1_000_000_000, 1_000


def move(source, target, amount, invoke, complete, kind=OK):
    return F.TRANSFER, Transfer(source=source, target=target, amount=amount), invoke, complete, kind, None


def read(invoke, complete, kind=OK, **changed):
    """``a3=15``: account 3 held 15; the others what they held at first."""
    balances = [changed.get(f"a{account}", OPENING) for account in range(ACCOUNTS)]
    return F.READ, None, invoke, complete, kind, Balances(balances)


def recorded(folder, ops, **changes):
    """Record literals as worker 0 of a run; what checks know beside the columns, and the columns."""
    recorder = Recorder(folder, 0, ("m1",), model_named(MODEL))
    events = [(op[2], 0, i) for i, op in enumerate(ops)] + [(op[3], 1, i) for i, op in enumerate(ops)]
    begun = {}
    for at, ends, i in sorted(events):
        f, argument, _, _, kind, result = ops[i]
        at_ns = START_NS + at * STEP_NS
        if not ends:
            op = Invocation(process=i, client=0, f=f, key=0, deadline_ns=0, argument=argument)
            begun[i] = op, recorder.invoke(op, at_ns, pinned=False, at_ns=at_ns)[0]
        else:
            op, number = begun[i]
            recorder.complete(number, op, Completion(type=kind, node="m1", result=result), at_ns=at_ns)
    recorder.close()
    made = materialise(folder, 0, MODEL)
    run = msgspec.structs.replace(
        run_info(RunLiteral(), "run"), model=MODEL, words=word_table(model_named(MODEL)), origin_ns=0
    )
    run = msgspec.structs.replace(run, **changes)
    context = Context(run=run, streams=(made.facts,), timeline=timeline_of([], run))
    return context, load_shard(tables_of(folder, MODEL, context.streams), 0)


def row_of(folder, ops, **changes):
    context, shard = recorded(folder, ops, **changes)
    check = check_named("bank")
    assert check.applies(context) is None
    return check.conclude(check.examine(shard, context), context)


def correct(rng, count=60):
    """Transfers and reads that overlap, each at a moment within its time; some transfers are in doubt or fail."""
    held, ops = [OPENING] * ACCOUNTS, []
    for at in range(0, 10 * count, 10):
        begun, ended = at + rng.randrange(5), at + 6 + rng.randrange(12)
        if rng.random() < 1 / 3:
            ops.append((F.READ, None, begun, ended, OK, Balances(list(held))))
            continue
        source, target = rng.sample(range(ACCOUNTS), 2)
        amount = rng.randint(1, 5)
        kind = FAIL if held[source] < amount else rng.choice([OK, OK, OK, FAIL, INFO])
        if kind is OK or (kind is INFO and rng.random() < 1 / 2):
            held[source] -= amount
            held[target] += amount
        ops.append(move(source, target, amount, begun, ended, kind))
    return [*ops, (F.READ, None, 10 * count + 20, 10 * count + 30, OK, Balances(held))]


@pytest.mark.parametrize("seed", range(20))
def test_a_bank_that_does_what_it_says_is_right(seed, tmp_path):
    row = row_of(tmp_path, correct(random.Random(seed)))
    assert (row.valid, row.anomalies, row.reason) == (True, {}, "")


BAD = {
    "money is made": ("wrong-total", [move(0, 1, 5, 0, 5), read(10, 15, a1=25)]),
    "money is lost": ("wrong-total", [move(0, 1, 5, 0, 5), read(10, 15, a0=15)]),
    "half of a transfer is seen while it goes on": ("wrong-total", [move(0, 1, 5, 0, 90), read(10, 15, a0=15)]),
    "an account is overdrawn": ("negative-balance", [move(0, 1, 25, 0, 5), read(10, 15, a0=-5, a1=45)]),
    "an acknowledged transfer is gone": ("out-of-bounds", [move(0, 1, 5, 0, 5), read(10, 15)]),
    "a transfer that failed was done": ("out-of-bounds", [move(0, 1, 5, 0, 5, FAIL), read(10, 15, a0=15, a1=25)]),
    "a transfer was done twice": ("out-of-bounds", [move(0, 1, 5, 0, 5), read(10, 15, a0=10, a1=30)]),
    "a transfer was seen before it began": ("out-of-bounds", [read(0, 5, a0=15, a1=25), move(0, 1, 5, 10, 15)]),
    "a read is of the past": (
        "out-of-bounds",
        [move(0, 1, 5, 0, 5), read(10, 15, a0=15, a1=25), move(2, 3, 4, 20, 25), read(30, 35, a0=15, a1=25)],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_found_under_its_name(name, tmp_path):
    anomaly, ops = BAD[name]
    row = row_of(tmp_path, ops)
    assert row.valid is False
    assert anomaly in row.anomalies
    assert anomaly == "wrong-total" or set(row.anomalies) == {anomaly}, "a wrong total leaves bounds as well"
    example = row.anomalies[anomaly].examples[0]
    assert example.key == 0
    assert "read" in {op["f"] for op in example.ops}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("account", range(0, ACCOUNTS, 3))
def test_one_wrong_balance_among_many_is_found(seed, account, tmp_path):
    ops, rng = correct(random.Random(seed)), random.Random(seed + account)
    at = rng.choice([at for at, op in enumerate(ops) if op[0] is F.READ])
    ops[at][5].balances[account] += rng.choice([-1, 1])
    assert "wrong-total" in row_of(tmp_path, ops).anomalies


@pytest.mark.parametrize("seen", [{}, {"a0": 15, "a1": 25}])
def test_a_transfer_in_doubt_or_on_its_way_may_be_seen_or_not(seen, tmp_path):
    for number, one in enumerate((move(0, 1, 5, 0, 5, INFO), move(0, 1, 5, 0, 90))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert row_of(folder, [one, move(2, 3, 1, 6, 8), read(10, 15, **seen, a2=19, a3=21)]).valid is True


def test_what_a_read_was_told_that_failed_proves_nothing(tmp_path):
    ops = [move(0, 1, 5, 0, 5), read(10, 15, FAIL, a0=99), read(20, 25, INFO, a0=98), read(30, 35, a0=15, a1=25)]
    assert row_of(tmp_path, ops).valid is True


def test_reads_of_the_past_are_allowed_where_they_are_not_ruled_out_and_wrong_totals_never(tmp_path):
    weak = Promises(consistency_models=("serializable",))
    row = row_of(tmp_path, BAD["an acknowledged transfer is gone"][1], promises=weak)
    assert (row.valid, row.anomalies["out-of-bounds"].allowed) == (True, True)
    (tmp_path / "other").mkdir()
    assert row_of(tmp_path / "other", BAD["money is made"][1], promises=weak).valid is False


def test_a_bank_that_nobody_read_is_unknown(tmp_path):
    row = row_of(tmp_path, [move(0, 1, 5, 0, 5)])
    assert row.valid == "unknown"
    assert "not read after the last heal" in row.reason


def test_columns_are_what_was_asked_and_told_and_lines_say_it(tmp_path):
    _, shard = recorded(tmp_path, [move(3, 5, 2, 0, 5), read(10, 15, a3=18, a5=22), read(20, 25, FAIL)])
    columns = shard.operations
    assert [columns[name].tolist() for name in ("source", "target", "amount")] == [[3, 0, 0], [5, 0, 0], [2, 0, 0]]
    assert list(columns["balances"][1]) == [20, 20, 20, 18, 20, 22, 20, 20]
    rows = [{"key": 0, **{name: columns[name][row] for name in columns}} for row in range(2)]
    lines = [model_named(MODEL).line(row) for row in rows]
    assert lines == ["transfer k0 3 -> 5: 2", "read k0 -> [20 20 20 18 20 22 20 20]"]
