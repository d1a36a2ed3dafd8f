"""Valid Kafka-style histories of any length, as columns: made at once, where ``chaos generate`` writes text.

Clean histories as for the reference checker's figures: 20 logs, 10 processes, half sends, half polls.
"""

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import NO_KEY, NONE, KafkaColumns, KafkaF, Mop, Mops, Ops

KEYS, PROCESSES = 20, 10
ASSIGNED = KEYS * PROCESSES


def whole_log_polls(records: int, seed: int = 1, keys: int = KEYS) -> KafkaColumns:
    """Operations on one log each: a send, or a poll of all messages since the process' last one."""
    return _history(records, seed, keys, per=1)


def shared_log_polls(records: int, seed: int = 1, keys: int = KEYS) -> KafkaColumns:
    """Likewise, but each log is polled by one process only, as in a group: a message is polled once."""
    return _history(records, seed, keys, per=1, shared=True)


def transactions(records: int, seed: int = 1, keys: int = KEYS) -> KafkaColumns:
    """Transactions of three operations on logs of their own choice."""
    return _history(records, seed, keys, per=3)


KINDS = {"single": whole_log_polls, "shared": shared_log_polls, "transactions": transactions}
"""The kinds of histories by the names that rows have for them."""


def _history(records: int, seed: int, keys: int, per: int, *, shared: bool = False) -> KafkaColumns:
    """A valid history: operation i takes effect at instant i, is invoked before it and completed after it."""
    rng = np.random.default_rng(seed)
    ops = records // 2
    parts = ops * per
    op = np.repeat(np.arange(ops), per)
    process = np.arange(ops) % PROCESSES
    key = rng.integers(0, keys, parts)
    send = (rng.random(parts) < 0.5) & (np.arange(parts) < parts - 40 * keys * per)  # at the end all is polled
    if shared:
        key = np.where(send, key, key // PROCESSES * PROCESSES + process[op])
    # Records: each round of all processes is invoked, takes effect in order, and completes.
    turn = np.arange(ops) // PROCESSES
    invoked, completed = turn * 2 * PROCESSES + process, turn * 2 * PROCESSES + PROCESSES + process
    # A log's messages are numbered by its sends; a poll sees those sent in transactions before its own.
    order = np.lexsort((np.arange(parts), key))
    sent = np.zeros(parts, dtype=np.int64)
    sent[order] = np.cumsum(send[order])
    first = np.zeros(keys, dtype=np.int64)
    first[1:] = np.cumsum(np.bincount(key[send], minlength=keys))[:-1]
    sent -= first[key]
    offset = sent - 1
    begun = np.lexsort((np.arange(parts), op, key))  # sends to this log before the record's own ones
    group = (key * ops + op)[begun]
    head = np.concatenate(([True], group[1:] != group[:-1]))
    before = np.zeros(parts, dtype=np.int64)
    before[begun] = (sent - send)[begun][np.maximum.accumulate(np.where(head, np.arange(parts), 0))]
    poll = np.flatnonzero(~send)
    by = np.lexsort((poll, process[op[poll]], key[poll]))
    poll = poll[by]
    who = key[poll] * PROCESSES + process[op[poll]]
    low = np.concatenate(([0], before[poll][:-1]))
    low[np.concatenate(([True], who[1:] != who[:-1]))] = 0
    count = before[poll] - low
    rows = np.repeat(np.arange(len(poll)), count)
    polled = low[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    hollow = poll[count == 0]
    sends = np.flatnonzero(send)
    return _columns(
        ops,
        process,
        invoked,
        completed,
        [
            (completed[op[sends]], Mop.SEND, op[sends] * 0 + sends % per, key[sends], offset[sends], offset[sends]),
            (completed[op[poll[rows]]], Mop.POLLED, poll[rows] % per, key[poll[rows]], polled, polled),
            (
                completed[op[hollow]],
                Mop.NOTHING,
                hollow % per,
                hollow * 0 + NO_KEY,
                hollow * 0 + NONE,
                hollow * 0 + NONE,
            ),
        ],
        KafkaF.SEND if per == 1 else KafkaF.TXN,
        send[::per],
        keys,
    )


def _columns(ops, process, invoked, completed, tables, f, sends, keys):  # noqa: ANN001, ANN202
    total = int(completed.max()) + 1 if ops else 0
    place = np.full(total, -1)
    place[invoked], place[completed] = 0, 1
    types, processes, fs = np.empty(total, np.int8), np.empty(total, np.int64), np.empty(total, np.int8)
    for rows, kind in ((invoked, Type.INVOKE), (completed, Type.OK)):
        types[rows], processes[rows] = kind, process
        fs[rows] = f if f == KafkaF.TXN else np.where(sends, KafkaF.SEND, KafkaF.POLL)
    used = np.flatnonzero(place >= 0)
    number = np.cumsum(place >= 0) - 1
    columns = [np.concatenate([np.broadcast_to(t[i], t[0].shape) for t in tables]) for i in range(6)]
    order = np.lexsort((columns[4], columns[2], columns[0]))
    op, kind, mop, key, value, offset = (column[order] for column in columns)
    return KafkaColumns(
        Ops(np.arange(len(used)), used * 1000, types[used], processes[used], fs[used], np.zeros(len(used), np.int8)),
        Mops(number[op], kind.astype(np.int8), mop.astype(np.int32), key.astype(np.int32), value, offset),
        tuple(range(keys)),
        (),
    )
