"""Each message kept once says the same as all rows: on columns that no client could have made, too."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_literals import columns as literals
from repository import BENCHMARKS

from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE, KafkaColumns, KafkaF, Mop, Mops, Ops
from checkers.kafka import per_log, polled
from checkers.kafka.per_log import Options
from checkers.kafka.rows import Records, shards

sys.path.insert(0, str(BENCHMARKS))

import made_up_kafka

QUICK = Options(edges=False)
HUGE = np.iinfo(np.int64).max
OFFSETS = {
    "dense": st.integers(0, 9),
    "some missing": st.one_of(st.integers(0, 9), st.just(NONE)),
    "sparse": st.sampled_from([NONE + 1, -5, 0, 1, 2, 3, 1 << 40, HUGE - 1, HUGE]),
}


@st.composite
def polls_and_sends(draw):
    """Records of sends or of polls, of any outcome; half of them with polls that go upwards and repeat each other."""
    offsets, keys = OFFSETS[draw(st.sampled_from(sorted(OFFSETS)))], draw(st.integers(1, 3))
    straight = draw(st.booleans())
    ranges = st.builds(lambda begin, count: range(begin, begin + count), st.integers(0, 6), st.integers(1, 5))
    ops, mops = [], []
    kinds = [Type.OK] * 6 + [Type.FAIL, Type.INFO] if draw(st.booleans()) else [Type.OK]
    for process in draw(st.lists(st.integers(-1, 3), max_size=12)):
        f = draw(st.sampled_from([KafkaF.SEND, KafkaF.POLL, KafkaF.POLL, KafkaF.POLL, KafkaF.TXN]))
        ops.append((Type.INVOKE, process, f))
        kind = draw(st.sampled_from(kinds))
        if not (f == KafkaF.POLL and straight) and draw(st.integers(0, 9)) == 0:
            continue
        row = len(ops) - draw(st.integers(0, 20)) // 20  # now and then it is the invocation that names messages
        ops.append((kind, process, f))
        for _ in range(draw(st.integers(0, 3))):
            key = draw(st.integers(0, keys - 1))
            if f == KafkaF.SEND:
                offset = draw(offsets)
                mops.append((row, Mop.SEND, key, offset % 7 if straight else draw(st.integers(0, 6)), offset))
            elif straight and (f == KafkaF.POLL or draw(st.booleans())):
                some = draw(st.one_of(ranges, st.sets(st.integers(0, 9), min_size=1, max_size=4)))
                mops += [(row, Mop.POLLED, key, offset % 7, offset) for offset in sorted(some)]
            else:
                mine = [Mop.SEND] * 3 * (f == KafkaF.TXN)
                what = draw(st.sampled_from([Mop.POLLED] * 3 + [Mop.EMPTY, Mop.NOTHING] + mine))
                mops.append((row, what, key, draw(st.integers(0, 6)), draw(offsets)))
    columns = np.array(ops, dtype=np.int64).reshape(-1, 3).T
    told = np.array(mops, dtype=np.int64).reshape(-1, 5).T
    kind, nothing = told[1].astype(np.int8), np.zeros(len(told[0]), dtype=np.int32)
    return KafkaColumns(
        Ops(
            np.arange(len(ops)),
            np.full(len(ops), NONE),
            columns[0].astype(np.int8),
            columns[1],
            columns[2].astype(np.int8),
            np.zeros(len(ops), dtype=np.int8),
        ),
        Mops(told[0], kind, nothing, np.where(kind == Mop.NOTHING, -1, told[2]).astype(np.int32), told[3], told[4]),
        tuple(range(keys)),
        (),
    )


def edges_of(parts):
    return [[one.source.tolist(), one.target.tolist(), one.key.tolist()] for one in parts]


def summaries(columns, *, once, options=QUICK):
    records = Records(columns)
    logs = list(shards(records, once=once))
    proven = np.unique(np.concatenate([per_log.first_look(shard) for shard in logs]))
    silent = per_log.empty_polls(records)
    found = [per_log.examine(shard, proven, silent, options) for shard in logs]
    return [(replace(one, ww=[], wr=[]), edges_of(one.ww), edges_of(one.wr)) for one in found]


@pytest.mark.parametrize("options", [QUICK, Options(), Options(ww_deps=True)], ids=["no edges", "wr", "ww"])
@given(polls_and_sends(), st.sampled_from([1, 3, 1 << 17]))
@settings(max_examples=200)
def test_what_is_kept_once_is_judged_as_the_rows_are(options, columns, rows_together):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polled, "_ROWS", rows_together)
        found = summaries(columns, once=True, options=options)
    assert found == summaries(columns, once=False, options=options)


@given(polls_and_sends())
@settings(max_examples=200)
def test_what_is_kept_once_is_what_the_rows_say(columns):
    records = Records(columns)
    for shard in shards(records, once=True):
        polls, once = shard.polls, shard.polls.once
        rows = list(zip(polls.offset.tolist(), polls.value.tolist(), polls.op.tolist(), strict=True))
        assert len(polls) == len(rows)
        if once is None:
            continue
        first = {(offset, value): op for offset, value, op in reversed(rows)}
        kept = zip(once.offset.tolist(), once.value.tolist(), strict=True)
        assert dict(zip(kept, once.op.tolist(), strict=True)) == first
        assert once.offset.tolist() == sorted({offset for offset, _, _ in rows})
        by_record = {op: [value for _, value, at in rows if at == op] for op in polls.op.tolist()}
        told = zip(once.begin.tolist(), once.end.tolist(), once.count.tolist(), strict=True)
        assert once.polls.tolist() == list(by_record)
        assert list(told) == [(own[0], own[-1], len(own)) for own in by_record.values()]


@pytest.mark.parametrize("kind", made_up_kafka.KINDS)
def test_of_a_clean_history_every_message_is_kept_once(kind):
    records = Records(made_up_kafka.KINDS[kind](70_000))
    logs = list(shards(records, once=True))
    for shard in logs:
        once, polls = shard.polls.once, shard.polls
        offset, first = np.unique(polls.offset, return_index=True)
        assert np.array_equal(once.offset, offset)
        assert np.array_equal(once.op, polls.op[first])
        assert np.array_equal(once.value, polls.value[first])


MISSING = "no offset"
BREAKS = {
    "another value": lambda mops, at: mops.value.__setitem__(at, mops.value[at] + 1),
    MISSING: lambda mops, at: mops.offset.__setitem__(at, NONE),
    "far away": lambda mops, at: mops.offset.__setitem__(at, HUGE),
    "another log's": lambda mops, at: mops.key.__setitem__(at, (mops.key[at] + 1) % 20),
    "lost to the poll": lambda mops, at: mops.kind.__setitem__(at, Mop.EMPTY),
}


@pytest.mark.parametrize("what", BREAKS)
def test_one_message_that_is_otherwise_is_judged_the_same_either_way(what):
    columns = made_up_kafka.whole_log_polls(20_000)
    many = np.flatnonzero(columns.mops.kind == Mop.POLLED)
    for at in (int(many[1]), int(many[len(many) // 2]), int(many[-2])):
        broken = made_up_kafka.whole_log_polls(20_000)
        BREAKS[what](broken.mops, at)
        once = summaries(broken, once=True)
        assert once == summaries(broken, once=False)
        assert (once == summaries(columns, once=True)) == (what == MISSING)


def test_a_record_that_polls_a_log_again_and_goes_back_is_looked_at_row_by_row():
    sends = [
        {"process": 1, "type": kind, "f": "send", "value": [["send", 0, [at, at]]]}
        for at in range(6)
        for kind in ("invoke", "ok")
    ]
    first, again = {0: [[0, 0], [5, 5]], 1: [[0, 9]]}, {0: [[2, 2]]}  # as far from first to last as there are messages
    polls = [
        {"process": 0, "type": kind, "f": "poll", "value": value}
        for kind, value in (("invoke", []), ("ok", [["poll", first], ["poll", again]]))
    ]
    history = literals([*sends, *polls])
    (log, *_), *_ = summaries(history, once=True)
    assert (log.cases.found["int-poll-skip"].count, log.cases.found["int-nonmonotonic-poll"].count) == (1, 1)
    assert summaries(history, once=True) == summaries(history, once=False)


def test_a_log_that_cannot_be_kept_once_leaves_the_others_be():
    columns = made_up_kafka.whole_log_polls(20_000)
    mops = columns.mops
    wrong = int(np.flatnonzero((mops.kind == Mop.POLLED) & (mops.key == 3))[40])
    mops.value[wrong] += 1
    records = Records(columns)
    messages = polled.Polled(mops, len(columns.keys), records.stretches, records.polls)
    found = polled.sightings_of(messages, records.type == Type.OK)
    assert [key for key, one in enumerate(found) if one is None] == [3]
