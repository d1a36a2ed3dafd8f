"""Semaphores against brute force, and each mutation of a good history under its right name."""

import random

import numpy as np
import pytest
from coordination_histories import PATHS, differences, literal_of, row_of, write_folder

from chaos.core.op import Type
from chaos.models.coordination.semaphore import F
from checkers.coordination.semaphore import KINDS, given_back_again, wrongs
from checkers.engine import local_engine
from checkers.history.check_input import QueueShard

COLUMNS = ("f", "type", "permit", "lease_ms", "permits", "answer", "invoke_ns", "complete_ns", "client")
ENDS = (Type.OK, Type.OK, Type.FAIL, Type.INFO, Type.NOT_SENT)
MS = 1_000_000


def drawn(rng, permits):
    """A few operations as rows of ``COLUMNS``, in order of asking; times in whole ms, numbers few enough to meet."""
    out = []
    for _ in range(rng.randrange(9)):
        asked, f, kind = rng.randrange(40), rng.choice((F.ACQUIRE, F.ACQUIRE, F.GIVE_BACK)), rng.choice(ENDS)
        told = 1 if f is F.ACQUIRE and kind is Type.OK else -1
        number = rng.randrange(5) if f is F.GIVE_BACK or told == 1 else 0
        lease = rng.choice((10, 20)) if f is F.ACQUIRE else 0
        times = asked * MS, (asked + rng.randrange(1, 5)) * MS
        out.append((f, kind, number, lease, permits if lease else 0, told, *times, rng.randrange(2)))
    return sorted(out, key=lambda one: one[6])


def shard_of(rows):
    columns = {name: np.array([row[at] for row in rows], np.int64) for at, name in enumerate(COLUMNS)}
    return QueueShard(0, columns | {"deadline_ns": columns["complete_ns"]}, {})


def by_brute_force(rows, permits):
    """What is wrong: how many grants too many, how many numbers given again, which are given back again."""
    grants = [row for row in rows if row[0] is F.ACQUIRE and row[1] is Type.OK]
    back = [row for row in rows if row[0] is F.GIVE_BACK and row[1] is not Type.NOT_SENT]
    holds = []
    for _, _, number, lease, _, _, asked, answered, client in grants:
        own = (one[6] for one in back if (one[2], one[8]) == (number, client))
        end = min([asked + lease * MS * 99 // 100, *own])
        if answered < end:
            holds.append((answered, end))
    holds.sort(key=lambda one: one[0])
    beyond = sum(sum(end > begin for _, end in holds[:rank]) >= permits for rank, (begin, _) in enumerate(holds))
    numbers = [row[2] for row in grants]
    twice = len(numbers) - len(set(numbers))
    ok = [row for row in back if row[1] is Type.OK and numbers.count(row[2]) < 2]
    again = {late[2] for late in ok for early in ok if early[2] == late[2] and early[7] < late[6]}
    return beyond, twice, again


@pytest.mark.broad
def test_every_question_as_by_brute_force():
    rng, shown = random.Random(57), set()
    for _ in range(20_000):
        permits = rng.randrange(1, 4)
        rows = drawn(rng, permits)
        shard = shard_of(rows)
        granted = np.array([at for at, row in enumerate(rows) if row[0] is F.ACQUIRE and row[1] is Type.OK], np.int64)
        found = list(wrongs(shard, granted, "semaphore 0"))
        counts = [sum(one.kind == kind for one in found) for kind in KINDS]
        beyond, twice, again = by_brute_force(rows, permits)
        if len(granted):
            assert counts == [beyond, twice, len(again)], rows
            assert {rows[one.ops[-1]][2] for one in found if one.kind == KINDS[2]} == again
        else:
            assert found == []
        shown |= {kind for kind, count in zip(KINDS, counts, strict=True) if count}
    assert shown == set(KINDS)


def test_what_was_never_given_back_is_not_given_back_again():
    none = np.zeros(0, np.int64)
    assert given_back_again(none, none, none) == []


def good():
    """Four clients share three permits in turn: each takes one, holds it for three turns and gives it back."""
    ops = []
    for turn in range(12):
        ops.append(
            {
                "at": [turn, turn + 0.1],
                "client": turn % 4,
                "acquire": {"lease_ms": 4000, "permits": 3},
                "given": {"permit": 10 + turn},
                "ok": None,
            }
        )
        if turn >= 2:
            given_back = {"client": (turn - 2) % 4, "give-back": {"permit": 8 + turn}, "ok": None}
            ops.append({"at": [turn + 0.5, turn + 0.6], **given_back})
    return ops


def acquisition(ops, turn):
    return next(at for at, one in enumerate(ops) if "acquire" in one and one["given"]["permit"] == 10 + turn)


def no_mutation(ops):
    return ops


def granted_early(ops):
    at = acquisition(ops, 6)
    return [*ops[:at], {**ops[at], "at": [5.2, 5.3]}, *ops[at + 1 :]]


def not_given_back(ops):
    return [one for one in ops if one.get("give-back") != {"permit": 12}]


def given_again(ops):
    at = acquisition(ops, 11)
    return [*ops[:at], {**ops[at], "given": {"permit": 10}}, *ops[at + 1 :]]


def given_back_twice(ops):
    return [*ops, {"at": [20.0, 20.1], "client": 2, "give-back": {"permit": 12}, "ok": None}]


MUTATIONS = [
    (no_mutation, {}),
    (granted_early, {"permits-exceeded": 1}),
    (not_given_back, {"permits-exceeded": 1}),
    (given_again, {"permit-given-twice": 1}),
    (given_back_twice, {"permit-released-twice": 1}),
]


@pytest.mark.parametrize(("mutation", "found"), MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_each_mutation_is_found_under_its_name(mutation, found, tmp_path):
    literal = {"name": "mutated", "model": "semaphore", "workload": "semaphore", "ops": mutation(good())}
    row = row_of(local_engine.judge(write_folder(literal, tmp_path / "run")), "semaphore")
    assert differences(row, {"valid": not found, "anomalies": found}) == []


def test_every_kind_has_a_history_that_shows_it():
    shown = {name for path in PATHS for name in literal_of(path)["expect"].get("anomalies", {})}
    assert set(KINDS) <= shown
