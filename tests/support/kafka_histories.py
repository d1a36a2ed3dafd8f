"""Small Kafka-style histories: any at all, those of a log that keeps its promises, and ways to break one."""

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

Records = list[dict[str, Any]]

KINDS = ("ok", "ok", "ok", "fail", "info", None)


def anything(rng: random.Random) -> Records:
    """Records that follow no rules but that of processes: one operation at a time."""
    keys, processes = rng.randint(1, 2), rng.randint(1, 3)
    values, offsets = rng.randint(2, 6), rng.choice((3, 6, 10))
    under_way: dict[int, dict[str, Any]] = {}
    out: Records = []

    def message(key: int) -> list[Any]:
        return [rng.choice((None, *[rng.randrange(offsets)] * 9)), rng.randrange(values)]

    def poll() -> list[Any]:
        got = {k: [message(k) for _ in range(rng.randint(0, 3))] for k in range(keys) if rng.random() < 0.6}
        return ["poll", got]

    for _ in range(rng.randint(2, 16)):
        process = rng.randrange(processes)
        index = len(out)
        if process not in under_way:
            f = rng.choice(("send", "poll", "txn", "txn", "assign", "subscribe"))
            if f in ("assign", "subscribe"):
                value: list[Any] = [k for k in range(keys) if rng.random() < 0.7]
            else:
                sends, polls = {"send": (1, 0), "poll": (0, 1), "txn": (2, 2)}[f]
                value = [["send", rng.randrange(keys), rng.randrange(values)] for _ in range(sends)]
                value += [["poll"] for _ in range(polls)]
                rng.shuffle(value)
            record = {"index": index, "type": "invoke", "process": process, "f": f, "value": value}
            if f == "assign" and rng.random() < 0.3:
                record["seek-to-beginning?"] = True
            under_way[process] = record
        else:
            begun, kind = under_way.pop(process), rng.choice(KINDS)
            if kind is None:
                continue
            record = {**begun, "index": index, "type": kind}
            if begun["f"] not in ("assign", "subscribe"):
                record["value"] = [
                    poll()
                    if mop[0] == "poll"
                    else ["send", mop[1], [message(0)[0], mop[2]] if rng.random() < 0.8 else mop[2]]
                    for mop in begun["value"]
                ]
                if rng.random() < 0.1:
                    record["rebalance-log"] = [{"type": "revoked", "keys": [rng.randrange(keys)]}]
        out.append(record)
    return out


def promised(rng: random.Random, *, most: int = 24, finish: bool = True) -> Records:
    """A history of logs that keep their promises: single operations that take effect at one instant, offsets with gaps.

    Consumers are assigned all logs and read on; at the end a fresh one reads everything.
    """
    keys, processes = rng.randint(1, 3), rng.randint(1, 4)
    logs: dict[int, list[list[int]]] = defaultdict(list)
    tails: dict[int, int] = defaultdict(int)
    cursor: dict[tuple[int, int], int] = defaultdict(int)
    steps: dict[int, list[Callable[[], None]]] = defaultdict(list)
    out: Records = []
    numbers = {process: process for process in range(processes)}

    def record(process: int, kind: str, f: str, value: list[Any]) -> None:
        out.append({"index": len(out), "type": kind, "process": process, "f": f, "value": value})

    def assign(process: int) -> None:
        record(process, "invoke", "assign", list(range(keys)))
        record(process, "ok", "assign", list(range(keys)))

    def append(key: int) -> list[int]:
        tails[key] += rng.choice((1, 1, 1, 2, 1 << 40))
        logs[key].append([tails[key], len(logs[key]) + 100 * key])
        return logs[key][-1]

    def send(slot: int, key: int) -> None:
        process, outcome = numbers[slot], rng.choice(("ok", "ok", "ok", "fail", "info-in", "info-out"))
        value = rng.randrange(10**6, 10**9)
        took: list[list[int]] = []
        record(process, "invoke", "send", [["send", key, value]])

        def effect() -> None:
            if outcome in ("ok", "info-in"):
                offset = append(key)[0]
                logs[key][-1][1] = value
                took.append([offset, value])

        def end() -> None:
            if outcome == "ok":
                record(process, "ok", "send", [["send", key, took[0]]])
            else:
                record(process, outcome.split("-")[0], "send", [["send", key, value]])
                if outcome != "fail":
                    numbers[slot] += 100
                    assign(numbers[slot])

        steps[slot] += [effect, end]

    def poll(slot: int, most_messages: int = 3) -> None:
        process = numbers[slot]
        got: dict[int, list[list[int]]] = {}
        record(process, "invoke", "poll", [["poll"]])

        def effect() -> None:
            for key in range(keys):
                at = cursor[process, key]
                new = [list(pair) for pair in logs[key][at : at + most_messages]]
                cursor[process, key] += len(new)
                if new:
                    got[key] = new

        steps[slot] += [effect, lambda: record(process, "ok", "poll", [["poll", got]])]

    for process in range(processes):
        assign(process)
    while len(out) < most:
        slot = rng.randrange(processes)
        if steps[slot]:
            steps[slot].pop(0)()
        elif rng.random() < 0.5:
            send(slot, rng.randrange(keys))
        else:
            poll(slot, rng.randint(1, 4))
    for slot in range(processes):
        while steps[slot]:
            steps[slot].pop(0)()
    if finish:
        numbers[processes] = 1000
        assign(1000)
        poll(processes, 10**6)
        while steps[processes]:
            steps[processes].pop(0)()
    return out
