"""What a log owes to real time: offsets in the order of sends, and polls that see what is there.

The reference checker reports neither. A record comes before another iff its completion stands before the other's
invocation in the history (SEMANTICS 2 and 7). Does not bound a poll that returned something: a poll may return any part
of what is there.
"""

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE
from checkers.history.columns import Ints, Mask, stable_order, starts_of, suffix_minimum
from checkers.kafka.case_counts import Case, Cases
from checkers.kafka.log import UNKNOWN, Log
from checkers.kafka.rows import NEVER


def _first(op: Ints, value: Ints, size: int) -> Ints:
    """Value -> the first record of its rows, which ascend by record; NEVER for none."""
    first = np.full(size, NEVER, dtype=np.int64)
    first[value[::-1]] = op[::-1]  # the last assignment to a place holds
    return first


class Seen:
    """When the message of an index was certainly in the log: the first ok record that sent or polled it there.

    Attributes:
        polled: value -> the first ok record that polled it; NEVER if none did.
        by: index -> the first ok record that sent or polled it and knew its offset; NEVER for none.
        from_on: index -> the first record that shows this index or a higher one.
    """

    def __init__(self, log: Log) -> None:
        values, polls, sends = log.values, log.shard.polls, log.shard.sends
        size = values.ids.size
        if log.once is not None:
            self.polled: Ints = _first(log.once.op, values.shown, size)
        elif values.all_ok:
            self.polled = _first(polls.op, values.polled, size)
        else:
            ok = values.poll_type == Type.OK
            self.polled = _first(polls.op[ok], values.polled[ok], size)
        placed = self.polled
        if not log.all_placed:
            known = (values.poll_type == Type.OK) & (polls.offset != NONE)
            placed = _first(polls.op[known], values.polled[known], size)
        acked = (values.send_type == Type.OK) & (sends.offset != NONE)
        sent = _first(sends.op[acked], values.sent[acked], size)
        self.by: Ints = np.minimum(placed, sent)[log.picked]
        self.from_on: Ints = suffix_minimum(self.by, none=NEVER)


def _late(log: Log, seen: Seen) -> tuple[Ints, Ints]:
    """Indices given to a send that began when a higher index was in the log, and the record that had shown that."""
    writer = log.writer[log.picked]
    taken = (writer >= 0) & (log.first[log.picked] == log.last[log.picked])
    invoke = log.began[log.picked]
    began = np.where(taken & (invoke != NEVER), invoke, UNKNOWN)
    late = np.flatnonzero(seen.from_on[1:] < began)
    if len(late):
        late = late[log.shard.records.type[writer[late]] != Type.FAIL]
    return late, seen.from_on[late + 1]


def nonlinearizable(log: Log, cases: Cases) -> Seen:
    """Sends whose offset is below one that was acknowledged or polled before they began."""
    seen = Seen(log)
    late, witness = _late(log, seen)
    records, key = log.shard.records, log.shard.name

    def tell(i: int) -> Case:
        low = int(late[i])
        higher = low + 1 + int(np.flatnonzero(seen.by[low + 1 :] == witness[i])[0])
        ops = (int(records.index[witness[i]]), int(records.index[log.writer[log.picked[low]]]))
        places = [(log.offset(int(log.offset_at[at])), log.value(int(log.picked[at]))) for at in (low, higher)]
        return Case((key, *places, ops), ops, key)

    still = records.open[log.writer[log.picked[late]]]
    cases.add("nonlinearizable-offset", np.arange(len(late)), tell, int(still.sum()))
    return seen


def find_stale_polls(log: Log, seen: Seen, hollow: Ints, cases: Cases) -> None:
    """Ok polls that found nothing though the log had held a message for them before they began.

    A poll may return any part of what is there, so only two kinds are held to it: one that names the log and says that
    nothing was there, and one that returned nothing of any log to a process that was assigned the log and has not had
    a message of it since. A process' place is behind all that it polled since it was assigned, else the beginning.

    Args:
        log: the log.
        seen: what ``nonlinearizable`` gave.
        hollow: all ok records that polled and returned no message of any log, ascending.
        cases: where findings go.
    """
    shard, records = log.shard, log.shard.records
    empty = shard.polls.empty[records.type[shard.polls.empty] == Type.OK]
    if not len(empty) and not (len(shard.assigned) and len(hollow)):
        return
    full = shard.polls.op if log.once is None else log.once.polls
    at = np.searchsorted(full, empty)
    empty = empty[np.append(full, UNKNOWN)[at] != empty]
    polls = np.union1d(empty, hollow if len(shard.assigned) else hollow[:0])
    if not len(polls) or not len(seen.by):
        return
    at = records.point(polls)
    named = np.isin(polls, empty)
    start, assigned = _since(log, at)
    held = named | assigned
    polls, at, start, named = polls[held], at[held], start[held], named[held]
    began = np.where(records.invoke[polls] == NEVER, UNKNOWN, records.invoke[polls])
    reached = _reached(log, at, start)
    due = seen.from_on[np.minimum(reached + 1, len(seen.by))]
    wrong = np.flatnonzero((named | (reached < 0)) & (due < began))

    def tell(i: int) -> Case:
        ops = (int(records.index[due[i]]), int(records.index[polls[i]]))
        missed = int(reached[i]) + 1
        value, offset = log.picked[missed], log.offset(int(log.offset_at[missed]))
        return Case((shard.name, offset, log.value(int(value)), ops), ops, shard.name)

    cases.add("stale-tail", wrong, tell)


def _since(log: Log, at: Ints) -> tuple[Ints, Mask]:
    """Where each process' place in the log begins, and whether the log was assigned to it.

    Args:
        log: the log.
        at: process x number of records + record.

    Returns: the last assignment before, that left the log out or rewound it (likewise), else the process' beginning.
    """
    records, shard = log.shard.records, log.shard
    size = len(records)

    own = (at // size) * size
    rewinds = shard.assigned[records.flags[shard.assigned] != 0]
    breaks = _last_before(np.sort(records.point(np.concatenate((shard.resets, rewinds)))), at)
    latest = _last_before(np.sort(records.point(np.concatenate((shard.resets, shard.assigned)))), at)
    return np.maximum(breaks, own), (latest >= own) & np.isin(latest % size, shard.assigned)


def _highest(log: Log) -> tuple[Ints, Ints]:
    """The ok records that polled messages, ascending, and the highest index that each returned."""
    if log.once is not None:
        return log.once.polls, log.place[log.values.ids.of(log.once.end)]  # offsets ascend
    polls, values = log.shard.polls, log.values
    rows = np.flatnonzero(values.poll_type == Type.OK)
    op = polls.op[rows]
    heads = starts_of(op)
    return op[heads], np.maximum.reduceat(log.last[values.polled[rows]], heads) if len(heads) else heads


def _last_before(points: Ints, at: Ints) -> Ints:
    """The last of ``points`` below each of ``at``, -1 if none is."""
    return np.concatenate(([UNKNOWN], points))[np.searchsorted(points, at)]


def _reached(log: Log, at: Ints, start: Ints) -> Ints:
    """The highest index that ok polls of a process returned between two points, -1 for none.

    Args:
        log: the log.
        at: process x number of records + record.
        start: where the process' place began, likewise: the same for all points between two such beginnings.
    """
    records = log.shard.records
    op, highest = _highest(log)
    if not len(op) or not len(at):
        return np.full(len(at), UNKNOWN, dtype=np.int64)
    order = stable_order(records.process_id[op])
    point = records.point(op[order])
    # A running maximum that begins anew at every beginning: each one lifts all that follows above what was before.
    lift = np.searchsorted(np.unique(start), point, side="right") * (len(log.picked) + 1)
    running = np.maximum.accumulate(highest[order] + lift) - lift
    which = np.searchsorted(point, at) - 1
    known = (which >= 0) & (point[which] >= start)
    return np.where(known, running[which], UNKNOWN)
