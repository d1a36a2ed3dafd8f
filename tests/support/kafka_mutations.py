"""Ways to break a history of logs that keep their promises, each with the name that the checker must give it.

A mutation gets a history of ``kafka_histories.promised`` (which it may change) and returns whether there was anything
to break in that way.
"""

import random
from typing import Any

from kafka_histories import Records


def _polls(records: Records) -> list[tuple[dict[str, Any], int, list[list[int]]]]:
    """The ok polls: record, key, messages."""
    return [
        (record, key, pairs)
        for record in records
        if record["type"] == "ok" and record["f"] == "poll"
        for mop in record["value"]
        for key, pairs in mop[1].items()
    ]


def _acked(records: Records) -> list[tuple[dict[str, Any], int, int, int]]:
    """The ok sends: record, key, offset, value."""
    return [
        (record, mop[1], *mop[2])
        for record in records
        if record["type"] == "ok" and record["f"] == "send"
        for mop in record["value"]
    ]


def _without(records: Records, key: int, value: int) -> None:
    for _, k, pairs in _polls(records):
        if k == key:
            pairs[:] = [pair for pair in pairs if pair[1] != value]


def _last(records: Records, key: int) -> int:
    return max(o for _, k, pairs in _polls(records) if k == key for o, _ in pairs)


def lost_write(records: Records, rng: random.Random) -> bool:
    below = [(k, v) for _, k, o, v in _acked(records) if o < _last(records, k)]
    if below:
        _without(records, *rng.choice(below))
    return bool(below)


def unseen(records: Records, rng: random.Random) -> bool:
    top = [(k, v) for _, k, o, v in _acked(records) if o == _last(records, k)]
    if top:
        _without(records, *rng.choice(top))
    return bool(top)


def duplicate(records: Records, rng: random.Random) -> bool:
    some = [(k, pairs, pair) for _, k, pairs in _polls(records[-2:]) for pair in pairs]
    if some:
        key, pairs, pair = rng.choice(some)
        pairs.append([_last(records, key) + 1, pair[1]])
    return bool(some)


def inconsistent_offsets(records: Records, rng: random.Random) -> bool:
    some = [pairs for _, _, pairs in _polls(records[-2:]) if len(pairs) > 1]
    if some:
        a, b = rng.sample(rng.choice(some), 2)
        a[0] = b[0]
    return bool(some)


def aborted(records: Records, rng: random.Random) -> bool:
    some = _acked(records)
    if some:
        record, key, _, value = rng.choice(some)
        record["type"], record["value"] = "fail", [["send", key, value]]
    return bool(some)


def phantom(records: Records, rng: random.Random) -> bool:
    some = [pair for _, _, pairs in _polls(records) for pair in pairs]
    if some:
        rng.choice(some)[1] = -1
    return bool(some)


def backwards_in_poll(records: Records, rng: random.Random) -> bool:
    some = [pairs for _, _, pairs in _polls(records) if len(pairs) > 1]
    if some:
        pairs = rng.choice(some)
        at = rng.randrange(len(pairs) - 1)
        pairs[at], pairs[at + 1] = pairs[at + 1], pairs[at]
    return bool(some)


def gap_in_poll(records: Records, rng: random.Random) -> bool:
    some = [pairs for _, _, pairs in _polls(records) if len(pairs) > 2]
    if some:
        pairs = rng.choice(some)
        taken = pairs.pop(rng.randrange(1, len(pairs) - 1))
        records.append({"index": len(records), "type": "invoke", "process": 2000, "f": "poll", "value": [["poll"]]})
        key = next(k for _, k, those in _polls(records) if those is pairs)
        records.append({**records[-1], "index": len(records), "type": "ok", "value": [["poll", {key: [taken]}]]})
    return bool(some)


def _next_polls(records: Records) -> list[tuple[list[list[int]], list[list[int]]]]:
    """The messages of two polls of a process one after the other."""
    before: dict[tuple[int, int], list[list[int]]] = {}
    out = []
    for record, key, pairs in _polls(records):
        if (record["process"], key) in before:
            out.append((before[record["process"], key], pairs))
        before[record["process"], key] = pairs
    return out


def gap_between_polls(records: Records, rng: random.Random) -> bool:
    some = [after for _, after in _next_polls(records) if len(after) > 1]
    if some:
        rng.choice(some).pop(0)
    return bool(some)


def polled_again(records: Records, rng: random.Random) -> bool:
    some = _next_polls(records)
    if some:
        before, after = rng.choice(some)
        after.insert(0, list(before[-1]))
    return bool(some)


def own_message(records: Records, rng: random.Random) -> bool:
    some = _acked(records)
    if some:
        record, key, offset, value = rng.choice(some)
        record["f"] = "txn"
        record["value"] = [*record["value"], ["poll", {key: [[offset, value]]}]]
    return bool(some)


def _swapped(records: Records, key: int, a: tuple[int, int], b: tuple[int, int]) -> None:
    """Two messages change places in a log, for everybody."""
    places = {a[1]: b[0], b[1]: a[0]}
    for _, k, pairs in _polls(records):
        if k == key:
            for pair in pairs:
                pair[0] = places.get(pair[1], pair[0])
            pairs.sort()
    for record, k, offset, value in _acked(records):
        if k == key:
            record["value"] = [["send", key, [places.get(value, offset), value]]]


def _pairs_of_sends(records: Records, *, same: bool) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    begun = {}
    out = []
    for record in records:
        if record["type"] == "invoke":
            begun[record["process"]] = record["index"]
        elif record["type"] == "ok" and record["f"] == "send":
            (_, key, (offset, value)) = record["value"][0]
            out.append((record["process"], key, begun[record["process"]], record["index"], (offset, value)))
    return [
        (k, one, other)
        for p, k, _, end, one in out
        for q, log, start, _, other in out
        if k == log and end < start and (p == q) is same
    ]


def sent_backwards(records: Records, rng: random.Random) -> bool:
    some = _pairs_of_sends(records, same=True)
    if some:
        _swapped(records, *rng.choice(some))
    return bool(some)


def against_real_time(records: Records, rng: random.Random) -> bool:
    some = _pairs_of_sends(records, same=False)
    if some:
        _swapped(records, *rng.choice(some))
    return bool(some)


def nothing_there(records: Records, rng: random.Random) -> bool:
    some = [
        (record, key)
        for record, key, pairs in _polls(records[-2:])
        if any(k == key and v == pairs[0][1] for _, k, _, v in _acked(records))
    ]
    if some:
        record, key = rng.choice(some)
        record["value"] = [["poll", {key: []}]]
    return bool(some)


MUTATIONS = {
    lost_write: "lost-write",
    unseen: "unseen",
    duplicate: "duplicate",
    inconsistent_offsets: "inconsistent-offsets",
    aborted: "G1a",
    phantom: "phantom",
    backwards_in_poll: "int-nonmonotonic-poll",
    gap_in_poll: "int-poll-skip",
    gap_between_polls: "poll-skip",
    polled_again: "nonmonotonic-poll",
    own_message: "precommitted-read",
    sent_backwards: "nonmonotonic-send",
    against_real_time: "nonlinearizable-offset",
    nothing_there: "stale-tail",
}
