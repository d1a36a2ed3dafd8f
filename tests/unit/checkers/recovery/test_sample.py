"""Which operations the report draws, and the slowest of each step: looked for among few, the same as among all."""

import numpy as np
import pytest

from chaos.core.op import Type
from checkers.recovery.histogram import BUCKETS, bucket_of
from checkers.recovery.sample import _lowest, hashes_of
from checkers.recovery.series import _latencies


@pytest.mark.parametrize("limit", [1, 100, 9_000, 9_999])
def test_the_lowest_hashes_are_kept_however_many_there_are(limit):
    hashes = hashes_of(np.repeat(np.arange(4), 2_500), np.tile(np.arange(2_500), 4))
    kept = _lowest(hashes, limit)
    assert len(set(kept.tolist())) == limit
    assert sorted(hashes[kept].tolist()) == sorted(hashes.tolist())[:limit]


def test_hashes_that_are_not_even_lose_none():
    high = np.arange(10_000, dtype=np.uint64) + np.uint64(2**64 - 10_000)
    assert sorted(_lowest(high, 50).tolist()) == list(range(50))


def test_the_slowest_of_each_step_is_that_of_all_ok_operations():
    draw, steps = np.random.default_rng(7), 5
    latency_ms = draw.exponential(20.0, 3_000)
    at = draw.integers(0, steps - 1, 3_000)  # in the last step nothing was answered
    code = (draw.choice([0, 3], 3_000) * 16 + draw.choice([Type.OK, Type.FAIL, Type.INFO], 3_000)).astype(np.int16)
    code[at == 1] = 16 * 3 + Type.FAIL
    histograms, slowest = _latencies(code, at, latency_ms, steps)
    ok = code % 16 == Type.OK
    expected = [max(latency_ms[ok & (at == step)].tolist(), default=-1.0) for step in range(steps)]
    assert slowest.tolist() == expected
    assert expected[1] == expected[4] == -1.0
    assert set(histograms) == {(one // 16, one % 16) for one in code.tolist()}
    for (f, kind), counted in histograms.items():
        mine = code == f * 16 + kind
        cells = list(zip(at[mine].tolist(), bucket_of(latency_ms[mine]).tolist(), strict=True))
        assert counted.shape == (steps, BUCKETS)
        assert [(step, bucket) for step, bucket in np.argwhere(counted).tolist()] == sorted(set(cells))
        assert counted.sum() == len(cells)
