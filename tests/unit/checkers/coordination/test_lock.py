"""Locks against brute force, and each mutation of a good history under its right name."""

import random

import numpy as np
import pytest
from coordination_histories import PATHS, differences, literal_of, row_of, write_folder

from checkers.coordination.lock import held_until, overlapping
from checkers.engine import local


@pytest.mark.broad
def test_who_holds_a_lock_as_by_brute_force():
    rng = random.Random(32)
    shown = set()
    for _ in range(20_000):
        grants = [(rng.randrange(12), rng.randrange(12)) for _ in range(rng.randrange(6))]
        begins, ends = (np.array([one[side] for one in grants], np.int64) for side in (0, 1))
        pairs = overlapping(begins, ends)
        common = [
            (i, j) for i in range(len(grants)) for j in range(i) if max(begins[i], begins[j]) < min(ends[i], ends[j])
        ]
        assert bool(pairs) == bool(common)
        assert all(i != j and max(begins[i], begins[j]) < min(ends[i], ends[j]) for i, j in pairs)
        assert len({late for _, late in pairs}) == len(pairs) <= len(common)
        shown.add(bool(common))
    assert len(shown) == 2


@pytest.mark.broad
def test_until_when_a_grant_holds_as_by_brute_force():
    rng = random.Random(33)
    for _ in range(5_000):
        grants = [(rng.randrange(4), rng.randrange(20)) for _ in range(rng.randrange(5))]
        back = [(rng.randrange(4), rng.randrange(20)) for _ in range(rng.randrange(5))]
        expected = [min([ends, *(at for name, at in back if name == token)]) for token, ends in grants]
        columns = [np.array([one[side] for one in rows], np.int64) for rows in (grants, back) for side in (0, 1)]
        assert held_until(*columns).tolist() == expected


def good():
    """Ten clients in turn: each takes the lock, writes twice and gives it back."""
    ops = []
    for turn in range(10):
        at, token = float(turn), 10 + turn
        ops += [
            {"at": [at, at + 0.1], "acquire": {"lease_ms": 2000}, "given": {"token": token}, "ok": None},
            {"at": [at + 0.2, at + 0.3], "guarded": {"token": token}, "given": {"version": 2 * turn + 1}, "ok": None},
            {"at": [at + 0.4, at + 0.5], "guarded": {"token": token}, "given": {"version": 2 * turn + 2}, "ok": None},
            {"at": [at + 0.6, at + 0.7], "unlock": {"token": token}, "ok": None},
        ]
    return ops


def no_mutation(ops):
    return ops


def granted_early(ops):
    return [*ops[:16], {**ops[16], "at": [3.2, 3.3]}, *ops[17:]]


def not_given_back(ops):
    return [*ops[:15], *ops[16:]]


def written_late(ops):
    return [*ops[:18], {**ops[14], "at": [4.45, 4.55], "given": {"version": 100}}, *ops[19:20]]


def granted_under_a_low_token(ops):
    return [*ops[:36], {**ops[36], "given": {"token": 3}}]


MUTATIONS = [
    (no_mutation, {}),
    (granted_early, {"lock-held-twice": 1}),
    (not_given_back, {"lock-held-twice": 1}),
    (written_late, {"write-after-loss": 1}),
    (granted_under_a_low_token, {"token-not-rising": 1}),
]


@pytest.mark.parametrize(("mutation", "found"), MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_each_mutation_is_found_under_its_name(mutation, found, tmp_path):
    literal = {"name": "mutated", "model": "lock", "workload": "lock", "ops": mutation(good())}
    row = row_of(local.judge(write_folder(literal, tmp_path / "run")), "lock")
    assert differences(row, {"valid": not found, "anomalies": found}) == []


def test_every_kind_has_a_history_that_shows_it():
    shown = {name for path in PATHS for name in literal_of(path)["expect"].get("anomalies", {})}
    assert {"lock-held-twice", "write-after-loss", "token-not-rising"} <= shown
