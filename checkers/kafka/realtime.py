"""What a log owes to real time: offsets in the order of sends, and polls that see what is there.

The reference checker reports neither. A record comes before another iff its completion stands before the other's
invocation in the history (SEMANTICS 2 and 7). The module refuses to bound a poll that returned something: a poll may
return any part of what is there.
"""

import numpy as np

from chaos.core.op import Type
from checkers.columns import Ints, suffix_minimum
from checkers.kafka.found import Case, Cases
from checkers.kafka.log import UNKNOWN, Log
from checkers.kafka.rows import NEVER


class _Seen:
    """When the message of an index was certainly in the log: the first ok record that sent or polled it."""

    def __init__(self, log: Log) -> None:
        values, shard = log.values, log.shard
        by_value = np.full(values.ids.size, NEVER, dtype=np.int64)
        ok = values.poll_type == Type.OK
        # Rows ascend by record, and the last assignment to a place holds: backwards it is the earliest record.
        polled, op = (values.polled, shard.polls.op) if values.all_ok else (values.polled[ok], shard.polls.op[ok])
        by_value[polled[::-1]] = op[::-1]
        acked = values.send_type == Type.OK
        sent, by = (values.sent, shard.sends.op) if acked.all() else (values.sent[acked], shard.sends.op[acked])
        by_value[sent] = np.minimum(by_value[sent], by)
        self.by: Ints = by_value[log.picked]
        """Index -> that record; NEVER if nobody was told."""

        self.from_on: Ints = suffix_minimum(self.by, none=NEVER)
        """Index -> the first record that shows this index or a higher one."""


def _late(log: Log, seen: _Seen) -> tuple[Ints, Ints]:
    """Indices given to a send that began when a higher index was in the log, and the record that had shown that."""
    writer = log.writer[log.picked]
    taken = (writer >= 0) & (log.first[log.picked] == log.last[log.picked])
    invoke = log.shard.records.invoke[np.where(taken, writer, 0)] if len(writer) else writer
    began = np.where(taken & (invoke != NEVER), invoke, UNKNOWN)
    late = np.flatnonzero(seen.from_on[1:] < began)
    if len(late):
        late = late[log.shard.records.type[writer[late]] != Type.FAIL]
    return late, seen.from_on[late + 1]


def nonlinearizable(log: Log, cases: Cases) -> _Seen:
    """Sends whose offset is below one that was acknowledged or polled before they began."""
    seen = _Seen(log)
    late, witness = _late(log, seen)
    records, key = log.shard.records, log.shard.name

    def tell(i: int) -> Case:
        low = int(late[i])
        higher = low + 1 + int(np.flatnonzero(seen.by[low + 1 :] == witness[i])[0])
        ops = (int(records.index[witness[i]]), int(records.index[log.writer[log.picked[low]]]))
        places = [(log.offset(int(log.offset_at[at])), log.value(int(log.picked[at]))) for at in (low, higher)]
        return Case((key, *places, ops), ops, key)

    cases.add("nonlinearizable-offset", np.arange(len(late)), tell)
    return seen


def stale(log: Log, seen: _Seen, hollow: Ints, cases: Cases) -> None:
    """Ok polls that returned nothing at all though, before they began, the log held messages behind the process' place.

    The place is known of processes that were assigned the log: behind all that they polled since, else its beginning.

    Args:
        log: the log.
        seen: what ``nonlinearizable`` gave.
        hollow: all ok records that polled and returned no message of any log, ascending.
        cases: where findings go.
    """
    shard, records = log.shard, log.shard.records
    if not len(hollow) or not len(shard.assigned):
        return
    size = len(records)
    code = records.process_id * size
    begins = np.sort(np.concatenate((code[shard.assigned] + shard.assigned, code[shard.resets] + shard.resets)))
    at = code[hollow] + hollow
    latest = np.searchsorted(begins, at) - 1
    start = np.where(latest >= 0, begins[latest], UNKNOWN)
    owned = (latest >= 0) & (start // size == records.process_id[hollow]) & np.isin(start % size, shard.assigned)
    at, hollow, start = at[owned], hollow[owned], _kept_from(log, at[owned], size)
    reached = _reached(log, at, start)
    due = seen.from_on[np.minimum(reached + 1, len(seen.by))]
    wrong = np.flatnonzero((records.invoke[hollow] != NEVER) & (due < records.invoke[hollow]))

    def tell(i: int) -> Case:
        ops = (int(records.index[due[i]]), int(records.index[hollow[i]]))
        missed = int(reached[i]) + 1
        value, offset = log.picked[missed], log.offset(int(log.offset_at[missed]))
        return Case((shard.name, offset, log.value(int(value)), ops), ops, shard.name)

    cases.add("stale-tail", wrong, tell)


def _kept_from(log: Log, at: Ints, size: int) -> Ints:
    """Since when each process' place in the log is unbroken: the last reset or rewind before ``at``."""
    records, shard = log.shard.records, log.shard
    rewinds = shard.assigned[records.flags[shard.assigned] != 0]
    breaks = np.concatenate((shard.resets, rewinds))
    breaks = np.sort(records.process_id[breaks] * size + breaks)
    latest = np.searchsorted(breaks, at) - 1
    own = (at // size) * size
    return np.where(latest >= 0, np.maximum(breaks[latest], own), own) if len(breaks) else own


def _reached(log: Log, at: Ints, start: Ints) -> Ints:
    """The highest index that ok polls of a process returned between two points, -1 for none."""
    records, values, polls = log.shard.records, log.values, log.shard.polls
    rows = np.flatnonzero((values.poll_type == Type.OK) & (log.last[values.polled] >= 0))
    point = records.process_id[polls.op[rows]] * len(records) + polls.op[rows]
    order = np.argsort(point, kind="stable")
    point, index = point[order], log.last[values.polled[rows]][order]
    low, high = np.searchsorted(point, start), np.searchsorted(point, at)
    spans = zip(low.tolist(), high.tolist(), strict=True)
    return np.array([int(index[a:b].max()) if b > a else UNKNOWN for a, b in spans], dtype=np.int64)
