"""The vectorised tools against the plain loops that define them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.clock import NS_PER_S
from chaos.core.history import NEVER_NS
from checkers.columns import runs, spans, stabbed, suffix_minimum
from checkers.rto import outages

SMALL = st.integers(min_value=0, max_value=30)


def ints(values):
    return np.array(values, dtype=np.int64)


@given(st.lists(st.tuples(SMALL, SMALL, st.integers(-50, 50)), max_size=12), st.integers(min_value=1, max_value=30))
def test_stabbed(intervals, size):
    clipped = [(min(lo, size), min(hi, size), weight) for lo, hi, weight in intervals]
    expected = [
        max((weight for lo, hi, weight in clipped if lo <= at < hi), default=-99) for at in range(size)
    ]
    lo, hi, weight = (ints(column) for column in zip(*clipped, strict=True)) if clipped else (ints([]),) * 3
    assert stabbed(lo, hi, weight, size, none=-99).tolist() == expected


@given(st.lists(SMALL, max_size=12))
def test_suffix_minimum(values):
    expected = [min(values[i:], default=99) for i in range(len(values) + 1)]
    assert suffix_minimum(ints(values), none=99).tolist() == expected


@given(st.lists(st.booleans(), max_size=20))
def test_runs(same):
    starts, ends = runs(np.array(same, dtype=np.bool_))
    covered = [any(a <= i < b for a, b in zip(starts, ends, strict=True)) for i in range(len(same))]
    assert covered == same
    assert all(b < c for b, c in zip(ends[:-1], starts[1:], strict=True))


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 5))
def test_spans_cover_everything_and_are_few(numbers, limit):
    found = spans(ints(numbers), gap=1, limit=limit)
    assert len(found) <= limit
    assert all(any(a <= number <= b for a, b in found) for number in numbers)
    assert all(a in numbers and b in numbers for a, b in found)


def defined(invoke, complete, ok):
    """SEMANTICS 18 read aloud."""
    n, i, out = len(ok), 0, []
    while i < n:
        j = i
        while j < n and not ok[j]:
            j += 1
        length = j - i
        if not (length >= 3 or (length >= 2 and invoke[j - 1] - invoke[i] >= NS_PER_S)):
            i = max(j, i + 1)
            continue
        k = next((k for k in range(i + 1, n - 2) if ok[k] and ok[k + 1] and ok[k + 2]), None)
        out.append((invoke[i], NEVER_NS if k is None else complete[k]))
        if k is None:
            break
        i = k
    return out


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), max_size=40))
def test_outages(steps):
    ok = np.array([good for good, _ in steps], dtype=np.bool_)
    invoke = np.cumsum(ints([gap for _, gap in steps])) * (NS_PER_S // 10)
    complete = invoke + NS_PER_S // 20
    found = outages(invoke, complete, ok)
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == defined(invoke, complete, ok)
