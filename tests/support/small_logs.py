"""Small log histories as shard columns, an exhaustive search that decides them, and a generator.

The search is the definition: some order of the operations that respects real time and that a log
obeys. It is exponential and only here to be compared with.
"""

import random

import numpy as np

from chaos.core.op import Type
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS
from checkers.history.check_input import QueueShard

TYPES = {"ok": Type.OK, "info": Type.INFO, "fail": Type.FAIL}


def shard_of(ops):
    """The columns of a history of dicts: f, value, offset, from, to_end, records, type, invoke, complete."""
    ops = sorted(ops, key=lambda op: op["invoke"])
    reads = [op["f"] == "read" for op in ops]

    def column(make, dtype=np.int64):
        return np.array([make(op) for op in ops], dtype=dtype)

    def known(number):
        return -1 if number is None else number

    operations = {
        "worker": column(lambda op: 0, np.int16),
        "op": np.arange(1, len(ops) + 1, dtype=np.int64),
        "process": np.arange(len(ops), dtype=np.int32),
        "client": column(lambda op: 0, np.int16),
        "pinned": column(lambda op: False, np.bool_),
        "f": column(lambda op: F.SEND if op["f"] == "append" else F.READ if op["to_end"] else F.POLL, np.int8),
        "key": column(lambda op: 0, np.int32),
        "writer": column(lambda op: 0 if op["f"] == "append" else -1, np.int32),
        "sequence": column(lambda op: op.get("value", -1)),
        "offset": column(lambda op: known(op["offset"] if op["f"] == "append" else op["from"])),
        "next_offset": column(lambda op: -1),
        "min_offset": column(lambda op: -1),
        "max_offset": column(lambda op: -1),
        "count": column(lambda op: len(op.get("records", ())), np.int32),
        "type": column(lambda op: TYPES[op["type"]], np.int8),
        "scheduled_ns": column(lambda op: op["invoke"]),
        "invoke_ns": column(lambda op: op["invoke"]),
        "complete_ns": column(lambda op: NEVER_NS if op["type"] == "info" else op["complete"]),
        "deadline_ns": column(lambda op: op["complete"]),
        "node": column(lambda op: 0, np.int16),
        "argument": column(lambda op: 0),
        "error": np.array([None] * len(ops), dtype=object),
    }
    rows = [
        (i + 1, position, offset, value)
        for i, op in enumerate(ops)
        if reads[i]
        for position, (offset, value) in enumerate(op["records"])
    ]
    number, position, offset, value = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    at = number - 1
    records = {
        "worker": np.zeros(len(rows), dtype=np.int16),
        "op": number,
        "process": operations["process"][at],
        "f": operations["f"][at],
        "key": np.zeros(len(rows), dtype=np.int32),
        "position": position.astype(np.int32),
        "offset": offset,
        "writer": np.zeros(len(rows), dtype=np.int32),
        "sequence": value,
        "invoke_ns": operations["invoke_ns"][at],
        "complete_ns": operations["complete_ns"][at],
        "node": np.zeros(len(rows), dtype=np.int16),
    }
    return QueueShard(0, operations, records)


def linearizable(ops):
    """Exhaustive search over all orders: is there one that a log obeys?"""
    shown = {}
    for op in ops:
        for offset, value in op.get("records", ()):
            if shown.setdefault(value, offset) != offset:
                return False
    todo = []
    for op in ops:
        if op["f"] == "append":
            offset = op["offset"] if op["type"] == "ok" else shown.get(op["value"])
            if op["type"] == "fail":
                if op["value"] in shown:
                    return False
                continue
            if offset is None:
                continue  # never observed: it may simply not have happened
            if op["type"] == "ok" and shown.get(op["value"], offset) != offset:
                return False
            todo.append((op, offset))
        elif op["type"] == "ok":
            todo.append((op, None))
    if not set(shown) <= {op["value"] for op, offset in todo if offset is not None}:
        return False

    def end(op):
        return op["complete"] if op["type"] == "ok" else float("inf")

    dead = set()

    def search(done, log):
        if len(done) == len(todo):
            return True
        if done in dead:
            return False
        horizon = min(end(op) for i, (op, _) in enumerate(todo) if i not in done)
        for i, (op, offset) in enumerate(todo):
            if i in done or op["invoke"] > horizon:
                continue
            if offset is not None:
                if log and log[-1][0] >= offset:
                    continue
                following = (*log, (offset, op["value"]))
            else:
                there = [record for record in log if record[0] >= op["from"]]
                records = [tuple(record) for record in op["records"]]
                if records != (there if op["to_end"] else there[: len(records)]):
                    continue
                following = log
            if search(done | {i}, following):
                return True
        dead.add(done)
        return False

    return search(frozenset(), ())


def small_history(rng: random.Random):
    """A history of a real log with concurrent clients, sometimes spoilt; values are 0, 1, 2, …"""
    clients = rng.randint(2, 4)
    ready = [0.0] * clients
    plan = []
    for value in range(rng.randint(3, 9)):
        client = rng.randrange(clients)
        invoke = ready[client] + rng.random()
        effect = invoke + rng.random() * 2
        complete = effect + rng.random() * 2
        ready[client] = complete
        plan.append((effect, invoke, complete, value))
    log, ops, offset = [], [], -1
    for _, invoke, complete, value in sorted(plan):
        op = {"invoke": int(invoke * 1000), "complete": int(complete * 1000)}
        kind = rng.random()
        if kind < 0.5:
            outcome = rng.choice(["ok"] * 6 + ["info", "info", "fail"])
            happened = outcome == "ok" or (outcome == "info" and rng.random() < 0.6)
            if happened:
                offset += rng.choice([1, 1, 1, 2])
                log.append((offset, value))
            op |= {"f": "append", "value": value, "offset": offset if outcome == "ok" else None, "type": outcome}
        else:
            start = rng.randint(0, offset + 2)
            there = [record for record in log if record[0] >= start]
            strong = rng.random() < 0.5
            records = there if strong else there[: rng.randint(0, len(there))]
            op |= {"f": "read", "from": start, "to_end": strong, "records": list(records), "type": "ok"}
        ops.append(op)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        spoil(rng, ops)
    return ops


def spoil(rng, ops):
    """Change something that may or may not matter."""
    reads = [op for op in ops if op["f"] == "read" and op["records"]]
    sends = [op for op in ops if op["f"] == "append" and op["type"] == "ok"]
    what = rng.randrange(5)
    if what == 0 and reads:
        rng.choice(reads)["records"].pop(rng.choice([0, -1]))
    elif what == 1 and len(sends) > 1:
        a, b = rng.sample(sends, 2)
        swap = {a["offset"]: b["offset"], b["offset"]: a["offset"]}
        a["offset"], b["offset"] = b["offset"], a["offset"]
        if rng.random() < 0.7:
            for op in reads:
                op["records"] = sorted((swap.get(offset, offset), value) for offset, value in op["records"])
    elif what == 2 and reads:
        read = rng.choice(reads)
        read["records"].append((read["records"][-1][0] + 1, rng.randrange(9)))
    elif what == 3:
        op = rng.choice(ops)
        shift = rng.randint(-3000, 3000)
        op["invoke"] = max(0, op["invoke"] + shift)
        op["complete"] = max(op["invoke"], op["complete"] + shift)
    elif what == 4 and reads:
        read = rng.choice(reads)
        read["to_end"] = not read["to_end"]
