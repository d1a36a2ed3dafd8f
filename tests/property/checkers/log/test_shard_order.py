"""Shards out of order: the scan finds a message before an earlier one of its shard exactly where a loop does."""

from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judged

from chaos.testing.history_files import Expected, HistoryLiteral, OpLiteral, Range, RunLiteral

SHARDS = st.lists(st.tuples(st.integers(1, 3), st.integers(10, 400), st.booleans()), min_size=1, max_size=10)


@given(SHARDS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_what_is_found_before_an_earlier_one_is_found_here(sent, rng):
    places = rng.sample(range(len(sent)), len(sent))
    number, ops, spans = dict.fromkeys((1, 2, 3), 0), [], []
    for i, ((shard, took_ms, waits), place) in enumerate(zip(sent, places, strict=True)):
        at = (1000 + i * 200, 1000 + i * 200 + (100 if waits else took_ms))  # whole ms, so that ties are ties
        ops.append(OpLiteral(at=(at[0] / 1000, at[1] / 1000), send=f"{shard}:{number[shard]}", ok=place, client=shard))
        spans.append((shard, *at, place, ops[-1].send))
        number[shard] += 1
    content = " ".join(f"{place}={name}" for *_, place, name in sorted(spans, key=lambda span: span[3]))
    ops.append(OpLiteral(at=(9.0, 9.1), poll=Range(begin=0, got=content), client=9))
    results = judged(
        HistoryLiteral(
            name="x",
            rules=(8,),
            about="",
            ops=tuple(ops),
            expect=Expected(valid=True),
            run=RunLiteral(workload="ordered"),
        )
    )
    furthest = {}
    expected = 0
    for shard, began, ended, place, _ in spans:
        before = furthest.get(shard)
        expected += before is not None and place < before[0] and before[1] < began
        if before is None or place > before[0]:
            furthest[shard] = (place, ended)
    found = results.anomalies.get("order")
    assert (found.count if found else 0) == expected
