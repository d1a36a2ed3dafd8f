"""The models that count against their definitions, said as plainly as can be: for each one, look at everything."""

import random
from collections import Counter

import pytest
from msgspec.structs import replace
from small_objects import coarse

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects import bags, order
from checkers.objects.calls import Call, Calls
from checkers.objects.full_set import full_set
from checkers.objects.rules import Budget, Rules

VALUES = [0, 1, 2, 3, 1.0, True, None, ":k", (1, 2), frozenset({3}), 1 << 70]
"""Of one another equal to Python, but not to a history, are some of these."""


def drawn(rng, kinds):
    """Concurrent operations of a few clients. ``kinds``: f -> draws (argument, output)."""
    calls, now, free_at = [], 0, [0] * rng.randint(1, 4)
    for number in range(rng.randint(1, 9)):
        process = rng.randrange(len(free_at))
        begun = max(now, free_at[process] + 1)
        now = begun + rng.randint(0, 2)
        done = begun + rng.randint(1, 6)
        free_at[process] = done
        outcome = rng.choices([Type.OK, Type.FAIL, Type.INFO], [8, 1, 1])[0]
        f = rng.choice(list(kinds))
        argument, output = kinds[f](rng)
        calls.append(
            Call(
                number,
                process,
                f,
                argument,
                output if outcome is Type.OK else None,
                outcome,
                begun,
                NEVER if outcome is Type.INFO else done,
            )
        )
    return coarse(rng, Calls(calls))


def same(a, b):
    return type(a) is type(b) and a == b


def times(value, values):
    return sum(same(value, one) for one in values)


def oks(calls, *fs):
    return [call for call in calls.all if call.f in fs and call.outcome is Type.OK]


def distinct(values):
    out = []
    for value in values:
        if not times(value, out):
            out.append(value)
    return out


def value(rng):
    return rng.choice(VALUES)


def several(rng):
    return [value(rng) for _ in range(rng.randint(0, 4))]


def of_set(calls):
    reads = sorted(oks(calls, "read"), key=lambda one: one.complete)
    if not reads:
        return None
    seen = distinct(reads[-1].output)
    adds = [one.argument for one in calls.all if one.f == "add"]
    acked = distinct(one.argument for one in oks(calls, "add"))
    return {
        "lost-write": sum(not times(one, seen) for one in acked),
        "phantom": sum(not times(one, adds) for one in seen),
    }


def of_total_queue(calls):
    if any(one.f == "drain" and one.outcome is Type.INFO for one in calls.all):
        return None
    out = [one.output for one in oks(calls, "dequeue")] + [v for one in oks(calls, "drain") for v in one.output]
    tried = [one.argument for one in calls.all if one.f == "enqueue"]
    acked = [one.argument for one in oks(calls, "enqueue")]
    return {
        "lost-write": sum(max(0, times(v, acked) - times(v, out)) for v in distinct(acked)),
        "phantom": sum(not times(v, tried) for v in out),
        "duplicate": sum(max(0, times(v, out) - times(v, tried)) for v in distinct(out) if times(v, tried)),
    }


def of_queue(calls):
    found, inside, ever = Counter(), [], []
    moments = sorted({t for one in calls.all for t in (one.invoke, one.complete)})
    for moment in moments:
        came = [one.argument for one in calls.all if one.f == "enqueue" and one.invoke == moment]
        inside, ever = inside + came, ever + came
        for one in oks(calls, "dequeue"):
            if one.complete == moment:
                at = next((i for i, v in enumerate(inside) if same(v, one.output)), None)
                if at is None:
                    found["duplicate" if times(one.output, ever) else "phantom"] += 1
                else:
                    del inside[at]
    return found


def of_counter(calls):
    bad = 0
    for read in oks(calls, "read"):
        adds = [one for one in calls.all if one.f == "add" and one.outcome is not Type.FAIL]
        low = sum(one.argument for one in adds if one.outcome is Type.OK and one.complete < read.invoke)
        bad += not low <= read.output <= sum(one.argument for one in adds if one.invoke <= read.complete)
    return {"out-of-bounds": bad}


def of_ids(calls):
    given = [one.output for one in oks(calls, "generate")]
    return {"duplicate": sum(times(v, given) > 1 for v in distinct(given))}


def of_order(calls):
    def first(v):
        outs = [one for one in oks(calls, "dequeue") if same(one.output, v)]
        return min(outs, key=lambda one: (one.complete, one.invoke), default=None)

    pairs = [(one, out) for one in oks(calls, "enqueue") if (out := first(one.argument)) is not None]
    return {
        "order": sum(
            any(a.complete < b.invoke and b_out.complete < a_out.invoke for a, a_out in pairs) for b, b_out in pairs
        )
    }


def of_full_set(calls):
    """Element by element: the last read that had it, and the last that had not, by invocation."""
    found = Counter()
    reads = oks(calls, "read")
    for add in (one for one in calls.all if one.f == "add"):
        with_, without = (
            [one for one in reads if times(add.argument, one.output) == n and one.complete >= add.invoke]
            for n in (1, 0)
        )
        known = [one.complete for one in with_] + ([add.complete] if add.outcome is Type.OK else [])
        last = max((one.invoke for one in with_), default=-1)
        missed = max((one.invoke for one in without), default=-1)
        if with_ and missed < last:
            found["stale-read"] += missed > min(known)
        elif known and without and min(known) < missed:
            found["lost-write"] += 1
    return found


def distinct_adds(calls):
    """Each element is added once at most, as in Jepsen's workload, and read once at most."""
    seen, out = [], []
    for one in calls.all:
        if one.f == "add" and times(one.argument, seen):
            continue
        seen += [one.argument] if one.f == "add" else []
        out.append(replace(one, output=distinct(one.output)) if one.output is not None else one)
    return Calls(out)


CASES = {
    "set": (bags.final_set, of_set, {"add": lambda rng: (value(rng), None), "read": lambda rng: (None, several(rng))}),
    "total-queue": (
        bags.total_queue,
        of_total_queue,
        {
            "enqueue": lambda rng: (value(rng), None),
            "dequeue": lambda rng: (None, value(rng)),
            "drain": lambda rng: (None, several(rng)),
        },
    ),
    "queue": (
        bags.plain_queue,
        of_queue,
        {
            "enqueue": lambda rng: (value(rng), None),
            "dequeue": lambda rng: (None, value(rng)),
        },
    ),
    "counter": (
        bags.counter,
        of_counter,
        {
            "add": lambda rng: (rng.choice([0, 1, 2, 1 << 70]), None),
            "read": lambda rng: (None, rng.choice([0, 1, 2, 3, 4, 1 << 70, (1 << 70) + 2])),
        },
    ),
    "unique-ids": (bags.unique_ids, of_ids, {"generate": lambda rng: (None, value(rng))}),
    "order": (
        order.check,
        of_order,
        {
            "enqueue": lambda rng: (value(rng), None),
            "dequeue": lambda rng: (None, value(rng)),
        },
    ),
    "set-full": (
        full_set,
        of_full_set,
        {
            "add": lambda rng: (value(rng), None),
            "read": lambda rng: (None, several(rng)),
        },
    ),
}


UNDEFINED = {"set-full": ("phantom", "duplicate", "G1a")}
"""What the definitions here leave out."""


def compared(name, histories):
    check, definition, kinds = CASES[name]
    rng = random.Random(name)
    seen = Counter()
    for _ in range(histories):
        calls = drawn(rng, kinds)
        calls = distinct_adds(calls) if name == "set-full" else calls
        wanted = definition(calls)
        answer = check(calls, Rules(), Budget())
        if wanted is None:
            assert answer.valid in ("unknown", False), calls.all
            continue
        found = {kind: one.count for kind, one in answer.found.items() if kind not in UNDEFINED.get(name, ())}
        expected = {kind: count for kind, count in wanted.items() if count}
        assert found == expected, calls.all
        seen.update(expected.keys() or ["nothing"])
    return seen


@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_the_definition(name):
    seen = compared(name, 1_000)
    assert len(seen) > 1
    assert min(seen.values()) > 5, "else the comparison would show nothing"


@pytest.mark.longer
@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_the_definition_on_many_histories(name):
    compared(name, 30_000)
