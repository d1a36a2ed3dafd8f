"""Whether two samples differ by more than chance explains, held against scipy and against counting by hand."""

import itertools
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reports.across.noise import as_numbers, difference, rank_p

VALUES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=5)


def by_hand(first: list[float], second: list[float]) -> float:
    """Every way to deal the values to two samples of these sizes, counted."""
    both = [*first, *second]
    rank = {one: sum(other < one for other in both) + (sum(other == one for other in both) + 1) / 2 for one in both}
    middle = len(first) * (len(both) + 1) / 2
    away = abs(sum(rank[one] for one in first) - middle)
    dealt = list(itertools.combinations(both, len(first)))
    return sum(abs(sum(rank[one] for one in some) - middle) >= away - 1e-9 for some in dealt) / len(dealt)


@given(VALUES, VALUES)
def test_the_exact_test_counts_every_way_to_deal_the_values(first: list[float], second: list[float]) -> None:
    assert rank_p(first, second) == pytest.approx(by_hand(first, second))
    assert rank_p(first, second) == pytest.approx(rank_p(second, first))


@pytest.mark.broad
@given(
    st.lists(st.integers(0, 40).map(float), min_size=40, max_size=60),
    st.lists(st.integers(10, 60).map(float), min_size=40, max_size=60),
)
def test_of_many_values_it_is_as_scipys(first: list[float], second: list[float]) -> None:
    assume(len({*first, *second}) > 1)  # of equal values scipy says nan
    from scipy.stats import mannwhitneyu  # a second of its own, so only where it is asked

    theirs = mannwhitneyu(first, second, use_continuity=False, method="asymptotic").pvalue
    assert rank_p(first, second) == pytest.approx(theirs, abs=1e-9)


def test_no_outage_is_shortest_and_no_recovery_is_longest() -> None:
    assert as_numbers((2.5, None, "never")) == (2.5, 0.0, math.inf)
    none, never = as_numbers((None,) * 5), as_numbers(("never",) * 5)
    assert difference(none, never, "faults").word == "higher"
    assert difference(never, none, "faults").word == "lower"
    assert difference(never, never, "faults").word == "no clear difference"


def test_four_faults_each_are_too_few_whatever_they_show() -> None:
    few = difference([0.1, 0.2, 0.3, 0.4], [90.0, 91.0, 92.0, 93.0], "faults")
    assert (few.word, few.p) == ("too few", None)
    assert few.why == "too few to tell: 4 and 4 faults; 5 each are enough"
    assert difference([], [1.0], "faults").word == "too few"
    assert difference([0.1, 0.2, 0.3, 0.4, 0.5], [90.0, 91.0, 92.0, 93.0, 94.0], "faults").word == "higher"


def test_a_difference_that_the_spread_explains_is_none() -> None:
    first, second = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert difference(first, second, "faults").why == "within the spread of 6 and 6 faults"


def test_medians_closer_than_they_are_precise_do_not_differ() -> None:
    first, second = [1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.1, 2.2, 2.3, 2.4]
    assert difference(first, second, "faults", precision=1.5).word == "within precision"
    assert difference(first, second, "faults", precision=0.5).word == "higher"
