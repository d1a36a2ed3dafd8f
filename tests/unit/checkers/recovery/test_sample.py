"""Operations that are drawn one by one: all of few, of many the same ones however they are added up."""

from functools import reduce

import numpy as np
import pytest

from checkers.recovery.sample import ERROR, Sample, hashes_of, join_samples, points_of


def sample(first: int, number: int, *errors: str) -> Sample:
    """Operations numbered from ``first``; each third has an error in turn."""
    ops = np.arange(first, first + number)
    columns = np.zeros((number, ERROR + 1))
    columns[:, 0] = ops
    columns[:, ERROR] = [1 + i // 3 % len(errors) if errors and i % 3 == 0 else 0 for i in range(number)]
    return Sample(hashes_of(np.zeros(number, dtype=np.int64), ops), columns, errors)


def told(made: Sample) -> dict[float, str]:
    """Operation → error."""
    return {row[0]: (made.errors[int(row[ERROR]) - 1] if row[ERROR] else "") for row in made.columns}


def test_errors_keep_their_operations_when_samples_are_joined() -> None:
    left, right = sample(0, 9, "busy", "gone"), sample(9, 6, "gone", "late")
    assert told(join_samples(left, right, 100)) == told(left) | told(right)


@pytest.mark.parametrize("limit", [1, 7, 30, 1000])
def test_the_same_operations_are_kept_in_whatever_order_samples_are_joined(limit: int) -> None:
    parts = [sample(start, 25, f"error {start}") for start in range(0, 100, 25)]
    one = reduce(lambda a, b: join_samples(a, b, limit), parts)
    other = reduce(lambda a, b: join_samples(b, a, limit), reversed(parts))
    assert len(one.hashes) == min(limit, 100)
    assert told(one) == told(other)
    assert points_of(one) == points_of(other)


def test_points_name_only_the_errors_that_they_have() -> None:
    made = join_samples(sample(0, 3, "zebra", "never met"), sample(3, 3, "ant"), 100)
    points = points_of(made, sample(6, 1, "ant"))
    assert points.errors == ["ant", "zebra"]
    assert points.error == [2, 0, 0, 1, 0, 0, 1]
    assert points.t_s == sorted(points.t_s)
    assert points_of(sample(0, 0)).t_s == []
