"""What is decided by direct addressing, or read only when it is asked for, against the plain definitions."""

import random
import tempfile
from pathlib import Path
from unittest.mock import patch

import msgspec
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged
from log_model import MUTATIONS, model
from small_logs import shard_of, small_history

from chaos.testing import write_run_folder
from checkers.linearizable import rank_scan
from checkers.log import Log
from checkers.shards import load_shard, materialise
from checkers.values import Names

SEEDS = st.integers(min_value=0, max_value=1 << 32)
VALUES = st.tuples(st.integers(0, 3) | st.just(1 << 20), st.integers(0, 6) | st.just(1 << 62))
READ = st.tuples(st.integers(-1, 4) | st.just(1 << 20), st.integers(-1, 8) | st.just(1 << 62))


def columns(values):
    pairs = np.array(values, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0].astype(np.int32), pairs[:, 1].copy()


@given(st.lists(VALUES), st.lists(READ), st.booleans(), st.data())
def test_values_are_said_to_be_all_there_only_if_they_are(sent, read, whole, data):
    read = [*read, *sent] if whole else read
    which = data.draw(st.lists(st.sampled_from(range(len(sent))), unique=True) if sent else st.just([]))
    said = Names(*columns(sent)).all_among(np.array(sorted(which), dtype=np.int64), *columns(read))
    there = all(sent[position] in read for position in which)
    last = {value: position for position, value in enumerate(sent)}
    clear = len(last) == len(sent)
    assert not said or (there and (clear or not which))
    if clear and read and max((max(value) for value in sent), default=0) < 10:
        assert said == there


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
            i for i, rank, _ in known if rank is not None and any(
                shows is not None and shows > rank and ops[j]["complete"] < ops[i]["invoke"] for j, _, shows in known
            )
        }  # fmt: skip
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


def as_told(results):
    """All but how long it took."""
    return msgspec.structs.replace(
        results, checks=tuple(msgspec.structs.replace(row, took_s=0.0) for row in results.checks)
    )


@given(SEEDS, st.sampled_from([None, *MUTATIONS]))
@settings(max_examples=20, deadline=None)
def test_a_verdict_is_the_same_without_the_shortcut(seed, mutation):
    literal = model(seed)
    if mutation is not None:
        mutated = mutation(random.Random(seed), literal)
        assume(mutated is not None)
        literal = mutated[0]
    short = judged(literal)
    with patch.object(Log, "returned_all", lambda *_: False):
        assert as_told(short) == as_told(judged(literal))


@given(SEEDS)
@settings(max_examples=5, deadline=None)
def test_columns_are_the_same_whenever_they_are_read(seed):
    with tempfile.TemporaryDirectory() as name:
        write_run_folder(model(seed), Path(name) / "run")
        history = Path(name) / "run" / "history"
        for key in sorted({key for worker in (0,) for key in materialise(history, worker).keys}):
            lazy, eager = load_shard(history, key, lazily=True), load_shard(history, key)
            for left, right in ((lazy.operations, eager.operations), (lazy.reads, eager.reads)):
                assert list(left) == list(right)
                assert all(np.array_equal(left[column], right[column]) for column in right)
