"""Leases against brute force, and each mutation of a good history under its right name."""

import random

import pytest
from coordination_histories import PATHS, differences, literal_of, row_of, write_folder

from checkers.coordination import lease
from checkers.coordination.lease_ends import Ends
from checkers.engine import local_engine

LENGTHS = (1000, 3000)
SURE, MOST = 0.99, 1.01


def brute(ops):
    """The kinds of what is wrong of the only lease, by the words of semantics.md alone."""
    looks = [one for one in ops if "read" in one]
    grants = [one for one in ops if "grant" in one]
    revokes = [one for one in ops if "revoke" in one]
    kept = [one for one in ops if ("grant" in one or "renew" in one) and "ok" in one]
    saw = {id(one) for one in looks if one["given"]["leases"]}
    if not any("fail" not in one for one in grants):
        return {"phantom"} if saw else set()
    known = [one["at"][1] for one in grants if "ok" in one] + [one["at"][1] for one in looks if id(one) in saw]
    found, ends = set(), [one["at"][1] for one in revokes if "ok" in one]
    for look in looks:
        begin, end = look["at"]
        if id(look) in saw or not any(at < begin for at in known):
            continue
        ends.append(end)
        kept_alive = any(one["at"][0] <= end < one["at"][0] + SURE * one["given"]["ttl_ms"] / 1000 for one in kept)
        if kept_alive and not any(one["at"][0] <= end for one in revokes if "fail" not in one):
            found.add("lease-lost-early")
    if any(end < one["at"][0] for one in kept for end in ends):
        found.add("lease-renewed-after-end")
    if any(end < one["at"][0] for one in looks if id(one) in saw for end in ends):
        found.add("lease-outlived")
    return found


def drawn(rng):
    """A few operations on one lease whose times often meet."""
    ops = []
    for word in rng.choices(("grant", "renew", "revoke", "read"), (2, 2, 1, 4), k=rng.randrange(2, 8)):
        asked = rng.randrange(6)
        one = {"at": [asked, asked + rng.randrange(1, 3)]}
        if word == "read":
            ops.append(one | {"read": None, "given": {"leases": [7] * rng.randrange(2)}, "ok": None})
            continue
        length = {"ttl_ms": rng.choice(LENGTHS)}
        end = rng.choice(("ok", "ok", "fail", "info"))
        if word != "revoke" and end == "ok":
            one["given"] = length
        ops.append(one | {word: {"lease": 7} | (length if word == "grant" else {}), end: "" if end != "ok" else None})
    return ops


def literal_with(ops):
    return {"name": "drawn", "model": "lease", "workload": "lease", "ops": ops}


def verdict(ops, folder):
    return row_of(local_engine.judge(write_folder(literal_with(ops), folder)), "lease")


@pytest.mark.broad
def test_small_histories_as_by_brute_force(tmp_path):
    """Each history is a place of one run: 1,500 of them are judged at once."""
    rng = random.Random(33)
    histories = [drawn(rng) for _ in range(1_500)]
    ops = [
        {**op, "key": key, "p": 10 * key + number} for key, own in enumerate(histories) for number, op in enumerate(own)
    ]
    folder = write_folder(literal_with(ops), tmp_path / "run")
    row = row_of(local_engine.judge_folder(folder, only=("lease",)).results, "lease")
    expected = [brute(own) for own in histories]
    counts = {kind: sum(kind in one for one in expected) for kind in set().union(*expected)}
    assert {name: one.count for name, one in row.anomalies.items()} == counts
    assert min(counts.values()) > 20
    assert len(counts) == 4


def good():
    """Five clients in turn: each takes a lease, renews it twice, is looked at, and gives it back."""
    ops = []
    for turn in range(5):
        at, which = 10.0 * turn, {"lease": turn}
        alive, seen = {"given": {"ttl_ms": 4000}, "ok": None}, {"read": None, "given": {"leases": [turn]}, "ok": None}
        ops += [
            {"at": [at, at + 0.1], "grant": {**which, "ttl_ms": 4000}, **alive},
            {"at": [at + 1, at + 1.1], **seen},
            {"at": [at + 2, at + 2.1], "renew": which, **alive},
            {"at": [at + 3, at + 3.1], **seen},
            {"at": [at + 4, at + 4.1], "revoke": which, "ok": None},
            {"at": [at + 5, at + 5.1], **seen, "given": {"leases": []}},
        ]
    return ops


def no_mutation(ops):
    return ops


def lost(ops):
    return [*ops[:9], {**ops[9], "given": {"leases": []}}, *ops[10:]]


def not_given_back(ops):
    return [*ops[:16], *ops[17:]]


def renewed_late(ops):
    return [*ops, {**ops[2], "at": [5.2, 5.3]}]


def seen_late(ops):
    return [*ops[:23], {**ops[23], "given": {"leases": [3]}}, *ops[24:]]


def taken_by_nobody(ops):
    return [*ops[:6], ops[7]]


MUTATIONS = [
    (no_mutation, {}),
    (lost, {"lease-lost-early": 1}),
    (not_given_back, {"lease-lost-early": 1}),
    (renewed_late, {"lease-renewed-after-end": 1}),
    (seen_late, {"lease-outlived": 1}),
    (taken_by_nobody, {"phantom": 1}),
]


@pytest.mark.parametrize(("mutation", "found"), MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_each_mutation_is_found_under_its_name(mutation, found, tmp_path):
    row = verdict(mutation(good()), tmp_path / "run")
    assert differences(row, {"valid": not found, "anomalies": found}) == []


def test_a_history_that_may_have_been_cut_off_shows_no_loss(tmp_path, monkeypatch):
    before = lease.wrongs_of_lease
    monkeypatch.setattr(lease, "wrongs_of_lease", lambda *args, whole: before(*args, whole=False))
    assert verdict(lost(good()), tmp_path / "run").anomalies == {}


def test_when_a_lease_has_ended_is_the_last_stretch_that_began(tmp_path):
    """A fault that is still in force hides every end; one that begins later hides none."""
    folder = write_folder({"name": "x", "model": "lease", "workload": "lease", "ops": good()[:2]}, tmp_path / "run")
    assert row_of(local_engine.judge(folder), "lease").valid is True
    ends = Ends(5, [(10, 40), (5, 8), (90, 2**63 - 1)])

    class Renewed:
        settled_ns, in_doubt_ns, ttl_ms = 3, None, 0

    assert [ends.ended_ns(Renewed, at) for at in (8, 9, 13, 45, 46, 89, 90)] == [None, None, None, None, 45, 45, None]


def test_every_kind_has_a_history_that_shows_it():
    shown = {name for path in PATHS for name in literal_of(path)["expect"].get("anomalies", {})}
    assert {"lease-lost-early", "lease-renewed-after-end", "lease-outlived", "phantom"} <= shown
