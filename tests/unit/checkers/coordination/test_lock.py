"""Locks: each mutation of a good history under its right name."""

import pytest
from coordination_histories import PATHS, differences, literal_of, row_of, write_folder

from checkers.engine import local_engine


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
    row = row_of(local_engine.judge(write_folder(literal, tmp_path / "run")), "lock")
    assert differences(row, {"valid": not found, "anomalies": found}) == []


def test_every_kind_has_a_history_that_shows_it():
    shown = {name for path in PATHS for name in literal_of(path)["expect"].get("anomalies", {})}
    assert {"lock-held-twice", "write-after-loss", "token-not-rising"} <= shown
