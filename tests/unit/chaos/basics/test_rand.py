"""What is drawn is what Python's own generator draws: a seed asks for the same load as ever."""

import random

from hypothesis import given
from hypothesis import strategies as st

from chaos.basics.rand import draw_below


@given(st.integers(0, 2**32), st.lists(st.integers(1, 2**20) | st.integers(1, 9), max_size=20))
def test_below_draws_what_randrange_and_choice_draw(seed: int, ends: list[int]) -> None:
    ours, ranges, choices = (random.Random(seed) for _ in range(3))
    drawn = [draw_below(ours, end) for end in ends]
    assert drawn == [ranges.randrange(end) for end in ends] == [choices.choice(range(end)) for end in ends]
    assert ours.getstate() == ranges.getstate()
