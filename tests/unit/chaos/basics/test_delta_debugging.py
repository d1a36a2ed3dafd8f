"""Delta debugging against brute force: what is left still fails, and without any single part it does not."""

import itertools

import pytest

from chaos.basics.delta_debugging import ddmin, lower_value, smallest, split


def minimal(items, fails):
    return driven(ddmin(items), fails)


def driven(search, fails):
    """What is left, and how often was asked."""
    asked = 0
    try:
        wanted = next(search)
        while True:
            asked += 1
            wanted = search.send(fails(wanted))
    except StopIteration as ended:
        return ended.value, asked


@pytest.mark.parametrize("size", range(7))
def test_every_set_of_needed_items_is_found_exactly(size):
    items = tuple(range(size))
    for number in range(size + 1):
        for needed in itertools.combinations(items, number):
            found, asked = minimal(items, lambda part, needed=needed: set(needed) <= set(part))
            assert found == needed
            assert asked <= 1 + 4 * size * size


def test_whatever_fails_nothing_single_can_be_left_out():
    items = tuple(range(8))
    for mask in range(1, 256, 7):  # any odd rule: sums that a number divides, and the whole
        rule = lambda part, mask=mask: part == items or (sum(1 << i for i in part) & mask) % 5 == 3  # noqa: E731
        found, _ = minimal(items, rule)
        assert rule(found)
        assert not any(rule(tuple(i for i in found if i != one)) for one in found)


def test_the_empty_list_is_tried_first():
    assert minimal((1, 2, 3), lambda _: True) == ((), 1)
    assert minimal((), lambda _: True) == ((), 0)


@pytest.mark.parametrize("size", range(1, 7))
def test_where_nothing_at_all_shows_nothing_the_needed_items_are_found(size):
    items = tuple(range(size))
    for number in range(1, size + 1):
        for needed in itertools.combinations(items, number):
            assert smallest(items, lambda part, needed=needed: set(needed) <= set(part), lambda: True) == needed


def test_when_no_more_may_be_asked_what_is_left_is_shown():
    asked = []
    found = smallest(range(16), lambda part: not asked.append(part) and 3 in part, lambda: len(asked) < 3)
    assert len(asked) == 3
    assert found == asked[-1] if 3 in asked[-1] else found in asked
    assert 3 in found


def test_chunks_hold_each_item_once_and_differ_by_one_at_most():
    for size in range(1, 9):
        for parts in range(1, size + 1):
            chunks = split(tuple(range(size)), parts)
            assert [item for chunk in chunks for item in chunk] == list(range(size))
            assert len(chunks) == parts
            assert max(map(len, chunks)) - min(map(len, chunks)) <= 1


@pytest.mark.parametrize(
    ("value", "least", "needed", "found"),
    [(50, 10, 0, 10), (50, 10, 25, 25), (50, 10, 26, 50), (50, 10, 11, 12.5), (8, 1, 2, 2), (1, 1, 0, 1), (1, 5, 0, 1)],
)
def test_a_number_is_halved_as_long_as_it_may_be(value, least, needed, found):
    assert driven(lower_value(value, least), lambda wanted: wanted >= needed)[0] == found
