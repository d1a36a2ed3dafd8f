"""Banks, long forks and keys that only grow, against their definitions looked up pair by pair."""

import random
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects import bank, long_fork, monotonic
from checkers.objects.calls import Call, Calls
from checkers.objects.rules import Budget, Rules

SEEDS = st.integers(0, 2**32)


def call(number, f, argument, output, times, outcome=Type.OK):
    invoke, complete = times
    return Call(number, number, f, argument, output, outcome, invoke, complete if outcome is Type.OK else NEVER)


def counts(model, calls, **rules):
    answer = model.check(Calls(calls), Rules(**rules), Budget())
    for one in answer.found.values():
        assert one.examples
        assert all(sentence and shown for sentence, shown in one.examples)
    return {name: one.count for name, one in answer.found.items()}, answer.reason


@given(st.lists(st.tuples(st.integers(-2, 6), st.integers(-2, 6)), min_size=1, max_size=8))
def test_reads_of_a_bank_are_held_to_the_total_that_is_said(states):
    reads = [call(n, "read", None, {"a": a, "b": b}, (n, n)) for n, (a, b) in enumerate(states)]
    wrong = sum(a + b != 5 for a, b in states)
    negative = sum(a + b == 5 and min(a, b) < 0 for a, b in states)
    expected = {"wrong-total": wrong, "negative-balance": negative}
    assert counts(bank, reads, init=5)[0] == {name: count for name, count in expected.items() if count}


def test_the_total_of_a_bank_is_that_of_most_reads():
    reads = [call(n, "read", None, {0: n, 1: 10 - n}, (n, n)) for n in range(4)]
    reads += [call(5, "read", None, {0: 3, 1: 3}, (5, 5)), call(6, "read", None, {0: 3, 1: None}, (6, 6))]
    assert counts(bank, reads) == ({"wrong-total": 1, "nil-balance": 1}, "")
    assert counts(bank, reads, init=6)[0] == {"wrong-total": 4, "nil-balance": 1}
    failed = [call(0, "read", None, {0: 1}, (0, 1), Type.INFO), call(1, "transfer", {"from": 0}, None, (2, 3))]
    assert counts(bank, failed) == ({}, "no read shows the balances of accounts")


def forked(states):
    """Whether two of the states have no order."""
    return any(not one <= other and not other <= one for one, other in combinations(states, 2))


@settings(max_examples=300)
@given(SEEDS, st.integers(2, 4))
def test_forks_are_reads_of_a_group_without_an_order(seed, keys):
    rng = random.Random(seed)
    writes = [call(key, "txn", (("w", key, 1),), (("w", key, 1),), (0, 9)) for key in range(2 * keys)]
    groups = [range(keys), range(keys, 2 * keys)]
    reads, states = [], ([], [])
    for number in range(rng.randint(1, 6)):
        which = rng.randrange(2)
        state = {key for key in groups[which] if rng.random() < 0.5}
        states[which].append(state)
        output = tuple(("r", key, 1 if key in state else None) for key in rng.sample(list(groups[which]), keys))
        reads.append(call(100 + number, "txn", None, output, (10, 20)))
    found, reason = counts(long_fork, [*writes, *reads])
    assert (bool(found), reason) == (any(map(forked, states)), "")


def test_a_key_that_is_written_twice_tells_of_no_order():
    writes = [call(n, "txn", (("w", 7, n),), (("w", 7, n),), (n, n)) for n in range(2)]
    found, reason = counts(long_fork, writes)
    assert found == {}
    assert "key 7 is written more than once" in reason


def before(one, other):
    if one.complete < other.invoke:
        return True
    return any(value < other.output[key] for key, value in one.output.items() if key in other.output)


def components(calls):
    """How many sets of calls come before each other."""
    reach = {(a.number, b.number) for a in calls for b in calls if a is not b and before(a, b)}
    for k in calls:
        reach |= {
            (a.number, b.number) for a in calls for b in calls if {(a.number, k.number), (k.number, b.number)} <= reach
        }
    return len({frozenset(b for a, b in reach if a == n and (b, n) in reach) for n, m in reach if n == m})


@settings(max_examples=300)
@given(SEEDS)
def test_circles_of_keys_that_grow_are_those_of_all_pairs(seed):
    rng = random.Random(seed)
    calls = []
    for number in range(rng.randint(1, 6)):
        begun = rng.randint(0, 12)
        output = {key: rng.randint(0, 3) for key in "xyz" if rng.random() < 0.6} or {"x": 0}
        calls.append(call(number, "read", None, output, (begun, begun + rng.randint(0, 9))))
    answer = monotonic.check(Calls(calls), Rules(), Budget())
    assert sum(one.count for one in answer.found.values()) == components(calls)
    for one in answer.found.values():
        for _, shown in one.examples:
            assert all(before(a, b) for a, b in zip(shown, [*shown[1:], shown[0]], strict=True))
