"""Who holds what for certain, and who began while too many held: against brute force."""

import random

import numpy as np
import pytest

from checkers.coordination.holds import held_until, too_many
from checkers.coordination.lock import overlaps


def columns(rows):
    return (np.array([one[side] for one in rows], np.int64) for side in (0, 1))


@pytest.mark.broad
def test_who_holds_a_lock_as_by_brute_force():
    rng = random.Random(32)
    shown = set()
    for _ in range(20_000):
        grants = [(rng.randrange(12), rng.randrange(12)) for _ in range(rng.randrange(6))]
        begins, ends = columns(grants)
        pairs = overlaps(begins, ends)
        common = [
            (i, j) for i in range(len(grants)) for j in range(i) if max(begins[i], begins[j]) < min(ends[i], ends[j])
        ]
        assert bool(pairs) == bool(common)
        assert all(i != j and max(begins[i], begins[j]) < min(ends[i], ends[j]) for i, j in pairs)
        assert len({late for _, late in pairs}) == len(pairs) <= len(common)
        shown.add(bool(common))
    assert len(shown) == 2


def beyond(grants, most):
    """The grants that begin while so many that began before hold, in order of beginning."""
    own = sorted((begin, place) for place, (begin, end) in enumerate(grants) if begin < end)
    return [
        place
        for rank, (begin, place) in enumerate(own)
        if sum(grants[other][1] > begin for _, other in own[:rank]) >= most
    ]


@pytest.mark.broad
def test_who_begins_while_too_many_hold_as_by_brute_force():
    rng, shown = random.Random(57), set()
    for _ in range(20_000):
        most = rng.randrange(1, 4)
        grants = [(rng.randrange(12), rng.randrange(12)) for _ in range(rng.randrange(9))]
        found = too_many(*columns(grants), most)
        assert [late for *_, late in found] == beyond(grants, most), (grants, most)
        for *holders, late in found:
            assert len({*holders, late}) == most + 1
            assert all(grants[one][0] <= grants[late][0] < grants[one][1] for one in holders)
            assert [grants[one][1] for one in holders] == sorted((grants[one][1] for one in holders), reverse=True)
        shown.add((most, min(len(found), 2)))
    assert len(shown) == 9


def test_intervals_that_only_meet_do_not_overlap():
    assert too_many(*columns([(0, 5), (5, 9)]), 1) == []
    assert too_many(*columns([(0, 6), (5, 9)]), 1) == [(0, 1)]


@pytest.mark.broad
def test_until_when_a_grant_holds_as_by_brute_force():
    rng = random.Random(33)
    for _ in range(5_000):
        grants = [(rng.randrange(4), rng.randrange(20)) for _ in range(rng.randrange(5))]
        back = [(rng.randrange(4), rng.randrange(20)) for _ in range(rng.randrange(5))]
        expected = [min([ends, *(at for name, at in back if name == token)]) for token, ends in grants]
        assert held_until(*columns(grants), *columns(back)).tolist() == expected
