"""Spaces in a store that others change too: what a correct store answers is valid, and what is wrong is found."""

import random

import pytest
from support.shared_space import fits_an_order, made_up, spoiled, undoing_request

from checkers.objects.rules import Budget
from checkers.revisions.judge import judge_operations


def found(report):
    return judge_operations(report, Budget(30), shared=True).found


def as_every_order_says(seeds, *, loose):
    """How many were valid, and how many not."""
    told = {True: 0, False: 0}
    for seed in seeds:
        rng = random.Random(seed)
        report = made_up(rng, rng.randrange(3, 9), loose=loose)
        if seed % 3:
            report = spoiled(rng, report)
        right, wrong = fits_an_order(report), found(report)
        assert (not wrong) == right, (seed, loose, right, [(one.kind, one.sentence) for one in wrong])
        told[right] += 1
    return told


@pytest.mark.parametrize("loose", [False, True])
def test_what_a_store_answers_is_valid(loose):
    for seed in range(40):
        report = made_up(random.Random(seed), 60, most_open=12, loose=loose)
        assert found(report) == [], seed


@pytest.mark.parametrize("loose", [False, True])
def test_small_spaces_are_judged_as_every_order_says(loose):
    assert min(as_every_order_says(range(150), loose=loose).values()) > 20


@pytest.mark.broad
@pytest.mark.parametrize("loose", [False, True])
def test_small_spaces_are_judged_as_every_order_says_for_more(loose):
    as_every_order_says(range(150, 3000), loose=loose)


@pytest.mark.broad
def test_changes_in_doubt_that_undo_each_other_are_no_error():
    """Nothing is called wrong that has an order. That a transaction would have to be at two revisions is not seen."""
    told = {True: 0, False: 0}
    missed = []
    for seed in range(1500):
        rng = random.Random(seed)
        report = made_up(rng, rng.randrange(3, 8), most_open=3, ask=undoing_request)
        if seed % 3:
            report = spoiled(rng, report)
        right, wrong = fits_an_order(report), found(report)
        assert not (right and wrong), (seed, [(one.kind, one.sentence) for one in wrong])
        told[right] += 1
        missed += [] if right or wrong else [seed]
    assert min(told.values()) > 200, told
    assert len(missed) <= 2, missed
