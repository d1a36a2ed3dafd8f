"""Watches against brute force on small histories, and each mutation of a good history under its right name."""

import itertools
import random

import pytest
from coordination_histories import PATHS, differences, literal_of, row_of, write_folder

from checkers.coordination import violations
from checkers.coordination.watch import DECLINED
from checkers.engine import local_engine

DELETED = -1


def event(batch, revision, entry, value, before=(0, DELETED)):
    return {
        "batch": batch,
        "revision": revision,
        "entry": entry,
        "value": value,
        "previous_revision": before[0],
        "previous_value": before[1],
    }


def writes_of(rng):
    """Some writes of two entries as a correct store does them, and the events that there are."""
    held, events, ops, revision = {}, [], [], 1
    for number in range(rng.randrange(1, 7)):
        entries = rng.sample((0, 1), rng.randint(1, 2))
        changes = [(entry, DELETED if rng.random() < 0.3 else 10 * number + entry) for entry in entries]
        end = rng.choice(("ok", "ok", "ok", "info", "fail"))
        done = end != "fail" and (end == "ok" or rng.random() < 0.6)
        did = [done and (value != DELETED or entry in held) for entry, value in changes]
        op = {"at": [number, number + 0.1], "write": {"changes": [{"entry": e, "value": v} for e, v in changes]}}
        revision += any(did)
        if end == "ok":
            op["given"] = {"revision": revision, "effects": sum(one << place for place, one in enumerate(did))}
        ops.append(op | {end: None if end == "ok" else "x"})
        for (entry, value), one in zip(changes, did, strict=True):
            if one:
                events.append(event(revision, revision, entry, value, held.get(entry, (0, DELETED))))
                held.pop(entry, None)
                if value != DELETED:
                    held[entry] = (revision, value)
    return ops, sorted(events, key=lambda one: (one["revision"], one["entry"]))


def spoiled(rng, events):
    """What a watch is told that may do one thing wrong."""
    told = [dict(one) for one in events]
    if not told:
        return told
    place = rng.randrange(len(told))
    match rng.randrange(9):
        case 0:
            del told[place]
        case 1:
            told.insert(rng.randrange(len(told) + 1), dict(told[place]))
        case 2:
            rng.shuffle(told)
        case 3:
            told[place]["value"] = rng.choice((DELETED, 0, 11, 99))
        case 4:
            told[place]["revision"] += rng.choice((-1, 1))
        case 5:
            told[place] |= {"previous_revision": rng.randrange(4), "previous_value": rng.choice((DELETED, 0, 10))}
        case 6:
            told[place]["batch"] += 100
    return told


def watch(number, revision, told):
    given = {"batches": 0, "events": told}
    return {"at": [100 + number, 101 + number], "subscribe": {"revision": revision, "listen_ms": 1}, "given": given}


def drawn(rng):
    ops, events = writes_of(rng)
    for number in range(rng.randint(1, 3)):
        first = rng.randrange(1, 5)
        own = [one for one in events if one["revision"] >= first]
        if rng.random() < 0.3:
            own = own[: rng.randrange(len(own) + 1)]
        ops.append(watch(number, first, spoiled(rng, own)) | {"ok": None})
    return ops


def unexplained(writes, taken, revision, entry, value):
    """Why no write explains an event, by trying each: True if none does. ``taken``: write → its revision so far."""
    for op in writes:
        changes = {one["entry"]: one["value"] for one in op["write"]["changes"]}
        effects = op.get("given", {"effects": 0})["effects"]
        did = {one["entry"] for place, one in enumerate(op["write"]["changes"]) if effects >> place & 1}
        if did and op["given"]["revision"] == revision:
            return not (entry in did and changes[entry] == value)
    for number, op in enumerate(writes):
        changes = {one["entry"]: one["value"] for one in op["write"]["changes"]}
        if "info" in op and changes.get(entry) == value:
            return value != DELETED and taken.setdefault(number, revision) != revision
    return True


def truth(writes, every):
    """Revision and entry → value of all that took place for certain, and whether an event is explained by none."""
    value_of, taken, strange = {}, {}, False
    for op in writes:
        for place, one in enumerate(op["write"]["changes"]):
            if op.get("given", {"effects": 0})["effects"] >> place & 1:
                value_of[op["given"]["revision"], one["entry"]] = one["value"]
    for place in sorted({(one["revision"], one["entry"], one["value"]) for one in every}):
        if value_of.get(place[:2], place[2]) != place[2] or unexplained(writes, taken, *place):
            strange = True
        else:
            value_of[place[:2]] = place[2]
    for number, revision in taken.items():
        for one in writes[number]["write"]["changes"]:
            if one["value"] != DELETED:
                value_of[revision, one["entry"]] = one["value"]
    return value_of, strange


def of_itself(told, since):
    places = [(one["revision"], one["entry"]) for one in told]
    if any(after < before for (before, _), (after, _) in itertools.pairwise(places)):
        yield "watch-reordered"
    if len(set(places)) < len(places):
        yield "watch-duplicate"
    if any(revision < since for revision, _ in places):
        yield "watch-before-start"
    for one, other in itertools.combinations(told, 2):
        if (
            one["revision"] == other["revision"]
            and one["entry"] != other["entry"]
            and len({event["batch"] for event in told if event["revision"] == one["revision"]}) > 1
        ):
            yield "watch-torn"


def wrong_previous(one, value_of, doubtful):
    before = [(revision, value_of[revision, entry]) for revision, entry in value_of if entry == one["entry"]]
    before = max((place for place in before if place[0] < one["revision"]), default=(0, DELETED))
    said = one["previous_revision"], one["previous_value"]
    if said == (before if before[1] != DELETED else (0, DELETED)):
        return False
    in_doubt = (one["entry"], said[1]) in doubtful
    return not (in_doubt and (said[0] == 0 if said[1] == DELETED else said[0] > before[0]))


def brute(ops):
    """The kinds of what is wrong, by the words of semantics.md alone."""
    writes, watches = ([op for op in ops if word in op] for word in ("write", "subscribe"))
    value_of, strange = truth(writes, [one for op in watches for one in op["given"]["events"]])
    found = {"watch-phantom"} if strange else set()
    doubtful = {(c["entry"], c["value"]) for op in writes if "info" in op for c in op["write"]["changes"]}
    for op in watches:
        told, since = op["given"]["events"], op["subscribe"]["revision"]
        found |= set(of_itself(told, since))
        places = {(one["revision"], one["entry"]) for one in told}
        last = max((revision for revision, _ in places), default=0)
        found |= {
            "watch-torn" if revision == last else "watch-skipped"
            for revision, entry in value_of
            if since <= revision <= last and (revision, entry) not in places
        }
        if any(wrong_previous(one, value_of, doubtful) for one in told):
            found.add("watch-wrong-previous")
    return found


def literal_with(ops):
    return {"model": "watch", "workload": "watch", "name": "x", "ops": ops}


def verdict(ops, folder):
    return row_of(local_engine.judge(write_folder(literal_with(ops), folder)), "watch")


@pytest.mark.broad
def test_small_histories_as_by_brute_force(tmp_path, monkeypatch):
    """Each history is a space of one run, so that many are judged at once."""
    rng = random.Random(35)
    histories = [drawn(rng) for _ in range(1_500)]
    ops = [
        {**op, "key": key, "p": 20 * key + number} for key, own in enumerate(histories) for number, op in enumerate(own)
    ]
    spaces, before = [], violations.findings

    def noted(examined, **kinds):
        spaces.append({kind.replace("_", "-") for kind, one in kinds.items() if one.count})
        return before(examined, **kinds)

    monkeypatch.setattr(violations, "findings", noted)
    folder = write_folder(literal_with(ops), tmp_path / "run")
    found = row_of(local_engine.judge_folder(folder, only=("watch",)).results, "watch")
    expected = [brute(own) for own in histories]
    assert spaces == expected
    assert set(found.anomalies) == set().union(*expected)
    counts = {kind: sum(kind in one for one in expected) for kind in found.anomalies}
    assert len(counts) == 7
    assert min(counts.values()) > 20
    assert sum(not one for one in expected) > 100


def good():
    """Ten writes, one after the other, and a watch of all of them."""
    rng = random.Random(1)
    while True:
        ops, events = writes_of(rng)
        if len(events) > 6 and all("ok" in op for op in ops) and len(ops) == 6:
            return [*ops, watch(0, 1, events) | {"ok": None}]


def told_by(change):
    """A mutation of what the watch was told."""

    def mutation():
        *ops, last = good()
        events = [dict(one) for one in last["given"]["events"]]
        change(events)
        return [*ops, last | {"given": {"batches": 0, "events": events}}]

    return mutation


def none(_):
    pass


def left_out(events):
    del events[next(place for place, one in enumerate(events) if one["revision"] < events[-1]["revision"])]


def repeated(events):
    events.append(dict(events[-1]))


def turned_round(events):
    events.append(events.pop(0))


def made_up(events):
    events.append(event(99, 99, 5, 999))


def from_before(events):
    first = next(one for one in events if one["previous_revision"])
    first["previous_value"] += 1


MUTATIONS = [
    (none, set()),
    (left_out, {"watch-skipped"}),
    (repeated, {"watch-duplicate"}),
    (turned_round, {"watch-reordered"}),
    (made_up, {"watch-phantom"}),
    (from_before, {"watch-wrong-previous"}),
]


@pytest.mark.parametrize(("change", "found"), MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_each_mutation_is_found_under_its_name(change, found, tmp_path):
    row = verdict(told_by(change)(), tmp_path / "run")
    assert differences(row, {"valid": not found, "anomalies": dict.fromkeys(found, 1)}) == []


def test_every_kind_has_a_history_that_shows_it():
    shown = {name for path in PATHS for name in literal_of(path)["expect"].get("anomalies", {})}
    of_itself = {"watch-torn", "watch-reordered", "watch-duplicate", "watch-before-start"}
    assert {*of_itself, "watch-phantom", "watch-skipped", "watch-wrong-previous"} <= shown


@pytest.mark.parametrize(
    ("name", "declined"), [("a-change-before-that-nobody-names", True), ("a-change-before-that-was-compacted", False)]
)
def test_what_a_system_never_says_is_not_judged_and_the_row_says_so(name, declined, tmp_path):
    (path,) = (path for path in PATHS if path.stem == name)
    found = row_of(local_engine.judge(write_folder(literal_of(path), tmp_path / "run")), "watch").found
    assert (DECLINED in found) is declined
