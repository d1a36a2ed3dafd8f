"""The register of a group's offsets against an exhaustive search over all orders, and against the models of objects."""

import random

import numpy as np
import pytest

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from chaos.storage.history import NEVER_NS
from checkers.consumers import commit_register
from checkers.consumers.commit_register import NONE, Impossible, Reads, Writes, impossible_reads
from checkers.objects import register
from checkers.objects.calls import Call, Calls
from checkers.objects.rules import Budget, Rules


class Op:
    def __init__(self, kind, value, invoke, end):
        self.kind, self.value, self.invoke, self.end = kind, value, invoke, end


def has_order(musts, mays, state=NONE):
    """Whether some order respects real time and the register: all of the first must be in it, any of the second may."""
    horizon = min((op.end for op in musts), default=NEVER_NS)
    if not musts:
        return True
    for op in [*musts, *mays]:
        if op.invoke > horizon or (op.kind == "read" and op.value != state):
            continue
        after = op.value if op.kind == "write" else state
        if has_order([o for o in musts if o is not op], [o for o in mays if o is not op], after):
            return True
    return False


def brute(writes, reads):
    """Positions of the impossible reads, by the definition."""
    kept, found = [], []
    for i in sorted(range(len(reads)), key=lambda i: (reads[i].end, i)):
        now = reads[i].end
        begun = [op for op in writes if op.invoke <= now]
        musts = [op for op in begun if op.end <= now]
        if has_order([*musts, *kept, reads[i]], [op for op in begun if op.end > now]):
            kept.append(reads[i])
        else:
            found.append(i)
    return found


def columns(kind, ops):
    return kind(*(np.array([getattr(op, name) for op in ops], dtype=np.int64) for name in ("value", "invoke", "end")))


def drawn(rng, writes, reads, values, span):
    def times():
        first = rng.randrange(span)
        return first, first + rng.randrange(1 + span // rng.choice((2, 5, 10)))

    made = [Op("write", rng.randrange(values), *times()) for _ in range(rng.randrange(writes + 1))]
    for op in made:
        if rng.random() < 0.4:
            op.end = NEVER_NS
    asked = [Op("read", rng.randrange(NONE, values), *times()) for _ in range(rng.randrange(1, reads + 1))]
    for op in asked:  # mostly what somebody wrote
        if made and rng.random() < 0.7:
            op.value = rng.choice(made).value
    return made, asked


def as_calls(writes, reads):
    calls = []
    for number, op in enumerate([*writes, *reads]):
        loose = op.end == NEVER_NS
        calls.append(
            Call(
                number=number,
                process=number,
                f=op.kind,
                argument=op.value if op.kind == "write" else None,
                output=op.value if op.kind == "read" else None,
                outcome=Type.INFO if loose else Type.OK,
                invoke=op.invoke,
                complete=NEVER if loose else op.end,
            )
        )
    return Calls(calls)


@pytest.mark.parametrize("seed", range(40))
def test_the_impossible_reads_are_those_of_the_definition(seed):
    rng = random.Random(seed)
    wrong = 0
    for _ in range(100):
        writes, reads = drawn(rng, 5, 4, rng.choice((2, 3, 6)), rng.choice((4, 12, 40)))
        found = impossible_reads(columns(Writes, writes), columns(Reads, reads))
        expected = brute(writes, reads)
        assert found == Impossible(expected, given_up=False), [vars(op) for op in (*writes, *reads)]
        wrong += bool(expected)
    assert 10 < wrong < 100


@pytest.mark.parametrize("seed", range(20))
def test_a_register_is_as_the_models_say(seed):
    rng = random.Random(seed)
    for _ in range(50):
        writes, reads = drawn(rng, 12, 10, rng.choice((3, 20)), rng.choice((20, 100)))
        found = impossible_reads(columns(Writes, writes), columns(Reads, reads))
        answer = register.check(as_calls(writes, reads), Rules(init=NONE), Budget())
        assert (not found.reads) == (answer.valid is True), [vars(op) for op in (*writes, *reads)]


def history(rng, steps):
    """A true history of a register: members commit one after another, most commits are answered, some are read."""
    now, state, writes, reads = 0, NONE, [], []
    pending = []
    for step in range(steps):
        now += rng.randrange(1, 4)
        begun, point, now = now, now + 1, now + 2
        if rng.random() < 0.1:
            reads.append(Op("read", state, begun, now))
            continue
        value = max(0, step - rng.randrange(20))
        if rng.random() < 0.05:
            writes.append(Op("write", value, begun, NEVER_NS))
            if rng.random() < 0.5:
                pending.append((point + rng.randrange(200), value))
            continue
        state = value
        writes.append(Op("write", value, begun, now))
        for late in [one for one in pending if one[0] <= now]:
            pending.remove(late)
            state = late[1]
    return writes, reads


@pytest.mark.parametrize("seed", range(10))
def test_true_histories_hold_and_changed_answers_are_found(seed):
    rng = random.Random(seed)
    writes, reads = history(rng, 4000)
    assert impossible_reads(columns(Writes, writes), columns(Reads, reads)) == Impossible([], given_up=False)
    changed = rng.randrange(len(reads) // 2, len(reads))
    reads[changed].value = 1_000_000
    assert impossible_reads(columns(Writes, writes), columns(Reads, reads)) == Impossible([changed], given_up=False)


def test_what_was_found_before_the_work_was_too_much_stands(monkeypatch):
    monkeypatch.setattr(commit_register, "WORK", 1000)
    writes = [Op("write", 1, 0, 1), Op("write", 2, 2, 3)]
    reads = [Op("read", 1, 4, 5)]
    for n in range(20):  # all at once, each read by somebody much later
        writes.append(Op("write", 10 + n, 10, 50))
        reads.append(Op("read", 10 + n, 12, 60))
    assert impossible_reads(columns(Writes, writes), columns(Reads, reads)) == Impossible([0], given_up=True)


def test_the_work_does_not_grow_with_the_length(monkeypatch):
    monkeypatch.setattr(commit_register, "WORK", 2000)
    writes, reads = history(random.Random(1), 20_000)
    assert not impossible_reads(columns(Writes, writes), columns(Reads, reads)).given_up
