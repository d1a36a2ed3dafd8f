"""The vectorised tools against the plain loops that define them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.clock import NS_PER_S
from chaos.storage.history import NEVER_NS
from checkers.history.columns import are_distinct, distinct, largest_covering, runs, spans, stable_order, suffix_minimum
from checkers.history.values import Names, distinct_pairs
from checkers.recovery.rto import outages

SMALL = st.integers(min_value=0, max_value=30)


def ints(values):
    return np.array(values, dtype=np.int64)


@given(st.lists(st.tuples(SMALL, SMALL, st.integers(-50, 50)), max_size=12), st.integers(min_value=1, max_value=30))
def test_stabbed(intervals, size):
    clipped = [(min(lo, size), min(hi, size), weight) for lo, hi, weight in intervals]
    expected = [max((weight for lo, hi, weight in clipped if lo <= at < hi), default=-99) for at in range(size)]
    lo, hi, weight = (ints(column) for column in zip(*clipped, strict=True)) if clipped else (ints([]),) * 3
    assert largest_covering(lo, hi, weight, size, none=-99).tolist() == expected


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


NUMBERS = st.lists(st.integers(-5, 40) | st.integers(-(1 << 40), 1 << 60), max_size=30)


@given(NUMBERS, st.booleans())
def test_distinct_numbers_are_those_of_a_set(numbers, ascending):
    values = np.array(sorted(numbers) if ascending else numbers, dtype=np.int64)
    assert distinct(values).tolist() == sorted(set(numbers))
    assert are_distinct(values) == (len(set(numbers)) == len(numbers))


@given(NUMBERS)
def test_a_stable_order_is_that_of_sorting(numbers):
    order = stable_order(np.array(numbers, dtype=np.int64)).tolist()
    assert order == sorted(range(len(numbers)), key=numbers.__getitem__)


@given(st.lists(st.tuples(st.integers(0, 9) | st.sampled_from([1 << 20, 1 << 39, 1 << 62]), st.integers(0, 5))))
def test_distinct_pairs_are_those_of_a_set(pairs):
    offsets, vids = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    found = distinct_pairs(offsets, vids, 6)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(set(pairs))


VALUES = st.tuples(st.integers(-1, 4) | st.integers(0, 1 << 18), st.integers(-1, 6) | st.integers(0, 1 << 38))


@given(st.lists(VALUES.filter(lambda one: min(one) >= 0), unique=True), st.lists(VALUES))
def test_values_are_looked_up_as_in_a_dictionary(sent, read):
    known = {value: position for position, value in enumerate(sent)}
    read = [*read, *sent[::2]]
    columns = [np.array([value[i] for value in values], dtype=np.int64) for values in (sent, read) for i in (0, 1)]
    assert Names(*columns[:2]).positions(*columns[2:]).tolist() == [known.get(value, -1) for value in read]
