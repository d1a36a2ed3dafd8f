"""How fast Kafka-style histories are judged: records a second of CPU, over valid histories made here.

    python -m benchmarks.kafka [records]

Clean histories as for the reference checker's figures (20 logs, 10 processes, half sends, half polls): operations on
one log each, without ww dependencies; then transactions over several logs, without and with them.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from chaos.core.formats.kafka_columns import NO_KEY, NONE, KafkaColumns, KafkaF, Mop, Mops, Ops
from chaos.core.op import Type
from checkers.kafka.check import check

KEYS, PROCESSES = 20, 10
ASSIGNED = KEYS * PROCESSES


def single(records: int, seed: int = 1, keys: int = KEYS) -> KafkaColumns:
    """Operations on one log each: a send, or a poll of all messages since the process' last one."""
    return _history(records, seed, keys, per=1)


def shared(records: int, seed: int = 1, keys: int = KEYS) -> KafkaColumns:
    """Likewise, but each log is polled by one process only, as in a group: a message is polled once."""
    return _history(records, seed, keys, per=1, shared=True)


def transactions(records: int, seed: int = 1, keys: int = KEYS) -> KafkaColumns:
    """Transactions of three operations on logs of their own choice."""
    return _history(records, seed, keys, per=3)


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
    return _columns(ops, process, invoked, completed, [
        (completed[op[sends]], Mop.SEND, op[sends] * 0 + sends % per, key[sends], offset[sends], offset[sends]),
        (completed[op[poll[rows]]], Mop.POLLED, poll[rows] % per, key[poll[rows]], polled, polled),
        (completed[op[hollow]], Mop.NOTHING, hollow % per, hollow * 0 + NO_KEY, hollow * 0 + NONE, hollow * 0 + NONE),
    ], KafkaF.SEND if per == 1 else KafkaF.TXN, send[::per], keys)  # fmt: skip


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
        tuple(range(keys)), (),
    )  # fmt: skip


def measure(name: str, history: KafkaColumns, **options: bool) -> float:
    """Records judged per second of CPU; prints a row."""
    least = min(_cpu_s(lambda: check(history, **options)) for _ in range(3))
    records, messages = len(history.ops.index), len(history.mops.op)
    speeds = f"{records / least / 1e6:.2f} M | {messages / least / 1e6:.1f} M"
    print(f"| {name} | {records:,} | {messages:,} | {least:.2f} | {speeds} |")
    return records / least


def _cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(records: int) -> None:
    print("| history | records | messages | CPU s | records/s | messages/s |\n|---|---|---|---|---|---|")
    measure("one log per operation, each process polls all", single(records))
    measure("one log per operation, each log polled by one", shared(records))
    several = transactions(records // 3)
    measure("transactions of three", several)
    measure("transactions of three, ww", several, ww_deps=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000)
