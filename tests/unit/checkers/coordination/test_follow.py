"""Follows of a made-up server that is correct, and what one thing that is wrong of them is called."""

import random

import pytest
from coordination_histories import row_of, write_folder

from checkers.coordination.watch import DECLINED, FOLLOWED
from checkers.engine import local_engine

DELETED, UNREAD, NOT_TOLD, READ = -1, -2, -1, -1


class Server:
    """One space of three entries, all changes of it, and the writes by which clients asked for them."""

    def __init__(self, rng):
        self.rng, self.held, self.changes, self.ops, self.revision = rng, {}, [], [], 1

    def write(self):
        """One put or deletion, whose client is told, not told, or refused."""
        number = len(self.ops)
        entry = self.rng.randrange(3)
        value = DELETED if entry in self.held and self.rng.random() < 0.3 else 10 + number
        end = self.rng.choice(("ok", "ok", "ok", "info", "fail"))
        self.revision += self.rng.randint(1, 2)
        op = {"at": [number, number + 0.1], "put": {"changes": [{"entry": entry, "value": value}]}}
        if end == "ok" or (end == "info" and self.rng.random() < 0.6):
            made = 0 if entry not in self.held else NOT_TOLD
            self.changes.append(row(len(self.changes), self.revision, entry, value, made))
            self.held.pop(entry, None)
            if value != DELETED:
                self.held[entry] = self.revision, value
        if end == "ok":
            op["given"] = {"revision": self.revision, "effects": 1}
        self.ops.append(op | {end: None if end == "ok" else "x"})

    def read(self, entry):
        """What a session reads of an entry now."""
        revision, value = self.held.get(entry, (0, DELETED))
        return row(READ, revision, entry, value, self.revision)


def row(batch, revision, entry, value, previous):
    return {"batch": batch, "revision": revision, "entry": entry, "value": value, "previous_revision": previous}


def followed(rng):
    """Some writes, and a follow of the later ones by a client that reads now and then, and all entries at its end."""
    server = Server(rng)
    for _ in range(rng.randrange(4)):
        server.write()
    since, told, begun = server.revision + 1, [], len(server.changes)
    for _ in range(rng.randint(2, 7)):
        server.write()
        told += [dict(one) for one in server.changes[begun:]]
        begun = len(server.changes)
        if rng.random() < 0.6:
            told.append(server.read(rng.randrange(3)))
    told += [server.read(entry) for entry in range(3)]
    shown = {(one["revision"], one["entry"]) for one in told if one["batch"] == READ}
    for one in told:
        if one["batch"] != READ and one["value"] != DELETED and (one["revision"], one["entry"]) not in shown:
            one["value"] = UNREAD
    return server.ops, since, told


def history(ops, since, told, key=0):
    given = {"since": since, "batches": 0, "events": told}
    every = [*ops, {"at": [0, 100], "client": 1, "follow": {"listen_ms": 1}, "given": given, "ok": None}]
    return [{**op, "key": key, "p": 20 * key + number} for number, op in enumerate(every)]


def verdict(ops, folder):
    literal = {"model": "watch", "workload": "watch", "name": "x", "ops": ops}
    return row_of(local_engine.judge_folder(write_folder(literal, folder), only=("watch",)).results, "watch")


def test_nothing_is_wrong_of_what_a_correct_server_tells(tmp_path):
    rng = random.Random(36)
    every = [followed(rng) for _ in range(200)]
    rows = [one for _, _, told in every for one in told]
    assert sum(one["value"] == UNREAD for one in rows) > 100
    found = verdict([op for key, one in enumerate(every) for op in history(*one, key)], tmp_path / "run")
    assert (found.valid, dict(found.anomalies)) == (True, {})
    assert FOLLOWED in found.found
    assert DECLINED not in found.found, "that is said of watches which never say what was before"


def spoilt(wrong):
    """A follow of a correct server, of which one thing is made wrong; the first for which that can be done."""
    for seed in range(1_000):
        ops, since, told = followed(random.Random(seed))
        if (told := wrong(since, told)) is not None:
            return history(ops, since, told)
    raise AssertionError("it can be done of none")


def events(told):
    return [place for place, one in enumerate(told) if one["batch"] != READ]


def without(since, told):
    """One event is left out, and nothing was read of its entry."""
    for place in events(told):
        one = told[place]
        others = [each for each in told if each["entry"] == one["entry"] and each is not one]
        if len(others) == 1 and one["value"] == DELETED:
            return [each for each in told if each is not one]
    return None


def silent(since, told):
    """No event comes at all, and what is read at the end shows that there were some."""
    return [one for one in told if one["batch"] == READ] if events(told) else None


def twice(since, told):
    return [*told[: (last := events(told)[-1]) + 1], told[last], *told[last + 1 :]] if events(told) else None


def swapped(since, told):
    """Two events of different entries without a read between them."""
    for place in events(told):
        both = told[place : place + 2]
        if len(both) == 2 and both[1]["batch"] != READ and both[0]["entry"] != both[1]["entry"]:
            return [*told[:place], both[1], both[0], *told[place + 2 :]]
    return None


def read_ahead(since, told):
    """A read of what an event tells comes ahead of it."""
    for place in events(told):
        both = told[place : place + 2]
        if len(both) == 2 and both[1]["batch"] == READ and both[0]["entry"] == both[1]["entry"]:
            return [*told[:place], both[1], both[0], *told[place + 2 :]]
    return None


def read_behind(since, told):
    """The last read of an entry shows what was there before the last event that told of it."""
    for one in told[-3:]:
        own = [told[place] for place in events(told) if told[place]["entry"] == one["entry"]]
        if len(own) > 1 and own[-1]["value"] > 0 and own[-2]["value"] > 0:
            older = {**one, "revision": own[-2]["revision"], "value": own[-2]["value"]}
            return [older if each is one else each for each in told]
    return None


def too_early(since, told):
    return [row(0, since - 1, 0, UNREAD, NOT_TOLD), *told]


def made_up(since, told):
    return [*told, row(99, 999, 2, 777, NOT_TOLD)]


def read_of_nobody(since, told):
    return [*told[:-1], {**told[-1], "revision": told[-1]["previous_revision"], "value": 777}]


def made_though_there(since, told):
    for place in events(told):
        if told[place]["previous_revision"] == NOT_TOLD and told[place]["value"] != DELETED:
            return [*told[:place], {**told[place], "previous_revision": 0}, *told[place + 1 :]]
    return None


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (without, "watch-skipped"),
        (silent, "watch-skipped"),
        (twice, "watch-duplicate"),
        (swapped, "watch-reordered"),
        (read_ahead, "watch-reordered"),
        (read_behind, "watch-reordered"),
        (too_early, "watch-before-start"),
        (made_up, "watch-phantom"),
        (read_of_nobody, "watch-phantom"),
        (made_though_there, "watch-wrong-previous"),
    ],
)
def test_what_is_wrong_is_found_under_its_name(wrong, kind, tmp_path):
    found = verdict(spoilt(wrong), tmp_path / "run")
    assert found.valid is False
    assert kind in found.anomalies
