"""What is decided by direct addressing, or read only when it is asked for, against the plain definitions."""

import random
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged
from log_model import MUTATIONS, model
from small_logs import shard_of, small_history

from chaos.models.log.words import F
from chaos.storage import history as history_module
from chaos.testing.history_files import write_run_folder
from checkers.engine.local_engine import judge_folder as judged_in
from checkers.history.check_input import Context
from checkers.history.log import Log
from checkers.history.shards import load_shard, load_timeline, materialise, run_of, tables_of
from checkers.history.table import Table
from checkers.log.linearizable import rank_scan
from checkers.log.lost_writes import LossKernel

DECODED = Table.decoded
SEEDS = st.integers(min_value=0, max_value=1 << 32)


def test_a_read_is_said_to_have_returned_all_that_was_acknowledged_only_if_it_did():
    draw, found = random.Random(4), Counter()
    for _ in range(2000):
        ops = sorted(small_history(draw), key=lambda op: op["invoke"])
        log = shard_of(ops).log
        acked = {(op["offset"], op["value"]) for op in ops if op["f"] == "append" and op["type"] == "ok"}
        for read in log.ok_reads.tolist():
            records = list(map(tuple, ops[read]["records"]))
            rising = all(a < b for (a, _), (b, _) in pairwise(records))
            assert log.returned_acked(read) == (not acked or (rising and acked <= set(records))), ops
            found[bool(acked), log.returned_acked(read)] += 1
    assert min(found[True, True], found[True, False]) > 100, found


def ranks(ops):
    """Per operation that has one: its rank to be above, and the rank that its completion shows (none: None)."""
    shown = {value: offset for op in ops for offset, value in sorted(map(tuple, op.get("records", ())))}
    for i, op in enumerate(ops):
        if op["f"] == "append":
            settled = op["type"] == "ok"
            offset = op["offset"] if settled else shown.get(op["value"])
            if offset is not None:
                yield i, 2 * offset, 2 * offset if settled else None
        elif op["type"] == "ok":
            last = max((offset for offset, _ in op["records"]), default=None)
            tail = max(op["from"], -1 if last is None else last + 1)
            yield i, 2 * tail - 1 if op["to_end"] else None, None if last is None else 2 * last + 1


def test_the_scan_is_that_of_every_pair_of_operations():
    draw, found = random.Random(5), 0
    for _ in range(800):
        ops = sorted(small_history(draw), key=lambda op: op["invoke"])
        known = list(ranks(ops))
        late = {
            i
            for i, rank, _ in known
            if rank is not None
            and any(
                shows is not None and shows > rank and ops[j]["complete"] < ops[i]["invoke"] for j, _, shows in known
            )
        }
        scans = rank_scan(shard_of(ops).log)
        assert sorted(op for scan in scans for op in scan.ops.tolist()) == sorted(late), ops
        found += len(late)
    assert found > 100


def test_offsets_far_apart_give_the_same_scan():
    draw, found = random.Random(6), 0
    for _ in range(800):
        ops = sorted(small_history(draw), key=lambda op: op["invoke"])
        steps = np.cumsum([draw.choice([1, 3, 1 << 20, 1 << 50]) for _ in range(40)]).tolist()
        spread = [
            {
                **op,
                **{name: steps[op[name]] for name in ("offset", "from") if op.get(name) is not None},
                **({"records": [(steps[offset], value) for offset, value in op["records"]]} if "records" in op else {}),
            }
            for op in ops
        ]
        for near, far in zip(rank_scan(shard_of(ops).log), rank_scan(shard_of(spread).log), strict=True):
            assert near.ops.tolist() == far.ops.tolist()
            assert near.witnesses.tolist() == far.witnesses.tolist()
            assert near.shown.tolist() == far.shown.tolist()
            found += len(near.ops)
    assert found > 100


def made(seed, mutation):
    """A valid history, or what a mutation made of it."""
    literal = model(seed)
    if mutation is None:
        return literal
    mutated = mutation(random.Random(seed), literal)
    assume(mutated is not None)
    return mutated[0]


def as_told(results):
    """All but how long it took."""
    return msgspec.structs.replace(
        results, checks=tuple(msgspec.structs.replace(row, took_s=0.0) for row in results.checks)
    )


@given(SEEDS, st.sampled_from([None, *MUTATIONS]))
@settings(max_examples=20, deadline=None)
def test_a_verdict_is_the_same_without_the_shortcut(seed, mutation):
    literal = made(seed, mutation)
    short = judged(literal)
    with patch.object(Log, "returned_acked", lambda *_: False):
        assert as_told(short) == as_told(judged(literal))


@given(SEEDS)
@settings(max_examples=5, deadline=None)
def test_columns_are_the_same_whenever_they_are_read(seed):
    with tempfile.TemporaryDirectory() as name:
        write_run_folder(model(seed), Path(name) / "run")
        history = Path(name) / "run" / "history"
        for key in sorted({key for worker in (0,) for key in materialise(history, worker, "log").keys}):
            lazy, eager = (
                load_shard(tables_of(history, "log"), key, lazily=True),
                load_shard(tables_of(history, "log"), key),
            )
            for left, right in ((lazy.operations, eager.operations), (lazy.reads, eager.reads)):
                assert list(left) == list(right)
                assert all(np.array_equal(left[column], right[column]) for column in right)


@given(SEEDS, st.sampled_from([1, 3, 1 << 14]), st.data())
@settings(max_examples=15, deadline=None)
def test_rows_that_are_looked_at_alone_are_those_of_the_whole(seed, long_read, data):
    with tempfile.TemporaryDirectory() as name, patch.object(history_module, "LONG_READ", long_read):
        write_run_folder(model(seed), Path(name) / "run")
        history = Path(name) / "run" / "history"
        alone = 0
        for key in materialise(history, 0, "log").keys:
            whole = load_shard(tables_of(history, "log"), key)
            operations, reads = whole.operations, whole.reads
            for op in np.flatnonzero(operations["f"] == F.DRAIN).tolist():
                fresh = load_shard(tables_of(history, "log"), key, lazily=True).reads
                number = int(operations["op"][op])
                found = fresh.only({"worker": int(operations["worker"][op]), "op": number}, ("offset", "sequence"))
                own = reads["op"] == number
                alone += found is not None
                for column in found or ():
                    assert np.array_equal(found[column], reads[column][own])
                for other in np.flatnonzero(operations["f"] == F.DRAIN).tolist():
                    identities = [{"worker": 0, "op": int(operations["op"][one])} for one in (op, other)]
                    same = reads["op"] == identities[1]["op"]
                    for column in ("offset", "complete_ns"):
                        equal = np.array_equal(reads[column][own], reads[column][same])
                        fresh = load_shard(tables_of(history, "log"), key, lazily=True).reads
                        assert fresh.alike(*identities, [column]) == (equal and found is not None and bool(own.any()))
            some = data.draw(st.lists(st.integers(0, len(operations["f"]) - 1), unique=True, max_size=4))
            fresh = load_shard(tables_of(history, "log"), key, lazily=True).operations
            assert fresh["f"].tolist() == operations["f"].tolist()
            for column in ("deadline_ns", "max_offset", "error", "worker", "pinned"):
                picked = fresh.at(column, np.array(some, dtype=np.int64))
                assert picked.dtype == operations[column].dtype
                assert picked.tolist() == operations[column][some].tolist()
            for column in ("deadline_ns", "complete_ns", "argument"):
                limit = data.draw(st.sampled_from([0, 1 << 62, *operations[column].tolist()]))
                fresh = load_shard(tables_of(history, "log"), key, lazily=True).operations
                said = fresh.none_above(column, np.array(some, dtype=np.int64), limit)
                assert said == (operations[column][some] <= limit).all()
        assert alone or long_read > 1


@given(SEEDS, st.sampled_from([None, *MUTATIONS]))
@settings(max_examples=25, deadline=None)
def test_one_check_that_reads_little_says_what_it_says_among_all(seed, mutation):
    literal = made(seed, mutation)
    with tempfile.TemporaryDirectory() as name, patch.object(history_module, "LONG_READ", 1):
        write_run_folder(literal, Path(name) / "run")
        whole, alone = (as_told(judged_in(Path(name) / "run", only=only).results) for only in ((), ("no-loss",)))
        (among_all,) = (row for row in whole.checks if row.name == "no-loss")
        (row,) = (row for row in alone.checks if row.name == "no-loss")
        assert row == among_all
        for anomaly in ("lost-write", "unseen"):
            assert alone.anomalies.get(anomaly) == whole.anomalies.get(anomaly)


@pytest.mark.parametrize("seed", range(5))
def test_a_clean_queue_costs_one_check_one_final_pass_and_a_few_columns(seed, tmp_path):
    with patch.object(history_module, "LONG_READ", 1):
        write_run_folder(model(seed), tmp_path / "run")
        history = tmp_path / "run" / "history"
        facts = materialise(history, 0, "log")
    run = run_of(tmp_path / "run")
    context = Context(run=run, streams=(facts.facts,), timeline=load_timeline(history, run))
    for key in facts.keys:
        decoded = []

        def decode(table, reader, names, groups, seen=decoded):
            seen.extend((table.path.parent.name, name, tuple(groups)) for name in names)
            return DECODED(table, reader, names, groups)

        with patch.object(Table, "decoded", decode):
            found = LossKernel().examine(load_shard(tables_of(history, "log"), key, lazily=True), context)
        assert found.examined
        assert not found.found
        reads = {(name, groups) for table, name, groups in decoded if table == "reads"}
        assert {name for name, _ in reads} <= {"offset", "writer", "sequence"}
        assert len({groups for _, groups in reads}) == 1, "of two passes that are packed alike one is decoded"
        operations = {name for table, name, _ in decoded if table == "operations"}
        assert "sequence" in operations
        assert not operations & {"deadline_ns", "argument", "scheduled_ns", "process", "error"}
        assert not operations & {"complete_ns", "op", "max_offset"}, "final reads alone are asked for these"
