"""The binomial bounds against exact rational arithmetic."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.errors import UsageError
from cluster.network.probe_matrix import Matrix, binomial_bounds


def exact(n: int, p: Fraction, alpha: Fraction) -> tuple[int, int]:
    chances = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    low = next(k for k in range(n + 1) if sum(chances[: k + 1]) > alpha / 2)
    high = next(k for k in range(n, -1, -1) if sum(chances[k:]) > alpha / 2)
    return low, high


@given(
    n=st.integers(0, 60),
    p=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    exponent=st.integers(1, 12),
)
def test_bounds_are_exact(n, p, exponent):
    alpha = Fraction(3, 10 ** (exponent + 1))  # not a value that a tail can hit on the head
    assert binomial_bounds(n, float(p), float(alpha)) == exact(n, p, alpha)


@given(n=st.integers(0, 400), p=st.floats(0, 1))
def test_bounds_hold_the_mean_and_stay_in_range(n, p):
    low, high = binomial_bounds(n, p)
    assert 0 <= low <= high <= n
    assert low <= n * p + 1
    assert high >= n * p - 1


def test_nothing_and_everything_are_certain():
    assert binomial_bounds(20, 0.0) == (0, 0)
    assert binomial_bounds(20, 1.0) == (20, 20)


@pytest.mark.parametrize("arguments", [(-1, 0.5), (10, 1.5), (10, 0.5, 0.0)])
def test_impossible_arguments_are_refused(arguments):
    with pytest.raises(UsageError):
        binomial_bounds(*arguments)


def test_silent_and_complete_links():
    matrix = Matrix(20, {("a", "b"): 0, ("b", "a"): 20, ("a", "c"): 7})
    assert matrix.silent() == {("a", "b")}
    assert matrix.complete() == {("b", "a")}
