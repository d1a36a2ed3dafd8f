"""Ids against brute force, and a mutation of each kind under its right name."""

import random

import numpy as np
import pytest
from coordination_histories import PATHS, literal_of

from checkers.coordination.distinct_ids import given_twice, out_of_order


def brute(ids):
    """The ids that two operations have, and the operations below one that was answered before they were asked."""
    numbers = [number for number, _, _ in ids]
    twice = {number for number in numbers if numbers.count(number) > 1}
    below = {
        place
        for place, (number, asked, _) in enumerate(ids)
        if any(answered < asked and number < higher for higher, _, answered in ids)
    }
    return twice, below


def columns(ids):
    return [np.array(column, np.int64) for column in zip(*ids, strict=True)] if ids else [np.zeros(0, np.int64)] * 3


def drawn(rng):
    """A few operations whose times and numbers often meet."""
    out = []
    for _ in range(rng.randrange(7)):
        asked = rng.randrange(8)
        out.append((rng.randrange(6), asked, asked + rng.randrange(4)))
    return out


@pytest.mark.broad
def test_small_histories_as_by_brute_force():
    rng = random.Random(31)
    shown = set()
    for _ in range(20_000):
        ids = drawn(rng)
        number, asked, answered = columns(ids)
        twice, below = brute(ids)
        pairs, orders = given_twice(number), out_of_order(number, asked, answered)
        assert {int(number[late]) for _, late in pairs} == twice
        assert {late for _, late in orders} == below
        assert all(number[early] == number[late] and early != late for early, late in pairs)
        assert all(answered[early] < asked[late] and number[early] > number[late] for early, late in orders)
        shown.add((bool(twice), bool(below)))
    assert len(shown) == 4


GOOD = [(number, 10 * number, 10 * number + 15) for number in range(50)]


@pytest.mark.parametrize("place", [1, 20, 49])
def test_an_id_of_a_good_history_that_is_given_again_is_found(place):
    ids = [*GOOD[:place], (GOOD[place - 1][0], *GOOD[place][1:]), *GOOD[place + 1 :]]
    number, asked, answered = columns(ids)
    assert given_twice(number) == [(place - 1, place)]
    assert out_of_order(number, asked, answered) == []


@pytest.mark.parametrize("place", [2, 20, 48])
def test_two_ids_of_a_good_history_that_change_places_are_found(place):
    ids = [(number, *times) for number, (_, *times) in zip(range(50), GOOD, strict=True)]
    ids[place], ids[place + 1] = (ids[place + 1][0], *ids[place][1:]), (ids[place][0], *ids[place + 1][1:])
    number, asked, answered = columns(ids)
    assert out_of_order(number, asked, answered) == [], "neighbours overlap"
    ids[place - 2], ids[place] = (ids[place][0], *ids[place - 2][1:]), (ids[place - 2][0], *ids[place][1:])
    number, asked, answered = columns(ids)
    assert place in {late for _, late in out_of_order(number, asked, answered)}
    assert given_twice(number) == []


def test_both_kinds_have_a_history_that_shows_them():
    shown = {name for path in PATHS for name in literal_of(path)["expect"].get("anomalies", {})}
    assert {"id-given-twice", "id-out-of-order"} <= shown
