"""Order of polls and sends: within one record, and from record to record of one process.

Source of the definitions: jepsen.tests.kafka (int-poll-skip, int-nonmonotonic-poll, poll-skip, nonmonotonic-poll,
int-send-skip, int-nonmonotonic-send, nonmonotonic-send). Where an index is not known nothing is claimed. Does not look
beyond one log.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from chaos.core.op import Type
from checkers.history.columns import Ints, Mask, stable_order
from checkers.kafka.case_counts import Case, Cases
from checkers.kafka.log import UNKNOWN, Log
from checkers.kafka.rows import Shard

SKIPPED: Final = 1000
"""A case names at most so many of the messages that were passed over."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The rows of one record each: the record, the value it began with, and the value it ended with (-1: none)."""

    op: Ints
    first: Ints
    last: Ints


def runs_of(op: Ints, value: Ints, empty: Ints) -> Runs:
    """Rows ascending by record -> one run per record; ``empty`` records have no row."""
    starts = np.flatnonzero(np.concatenate(([True], op[1:] != op[:-1]))[: len(op)])
    ends = np.append(starts[1:], len(op))[: len(starts)] - 1
    return _with(Runs(op[starts], value[starts], value[ends]), empty)


def _with(runs: Runs, empty: Ints) -> Runs:
    """The runs, and one without a value for each record of ``empty`` (ascending, perhaps repeated) that has none."""
    at = np.searchsorted(runs.op, empty)
    hollow = np.flatnonzero(np.append(runs.op, UNKNOWN)[at] != empty)
    if not len(hollow):
        return runs
    at, empty = at[hollow], empty[hollow]
    fresh = np.concatenate(([True], empty[1:] != empty[:-1]))
    at, empty = at[fresh], empty[fresh]
    return Runs(np.insert(runs.op, at, empty), *(np.insert(side, at, UNKNOWN) for side in (runs.first, runs.last)))


def _index(log: Log, value: Ints) -> Ints:
    """Indices of values; -1 for a value without one, and for no value."""
    if not log.values.ids.size:
        return np.full(len(value), UNKNOWN, dtype=np.int64)
    return np.where(value >= 0, log.place[value], UNKNOWN)


def _skipped(log: Log, low: int, high: int) -> tuple[object, ...]:
    return tuple(log.value(int(one)) for one in log.picked[low + 1 : high][:SKIPPED])


def _within(log: Log, op: Ints, value: Ints, exempt: Ints) -> tuple[Ints, Ints, Ints]:
    """Neighbours of one record that are not one index apart.

    Returns: the row of the second of each pair, and the indices of both; pairs without both indices are left out.
    """
    index = log.place[value]
    delta = index[1:] - index[:-1]
    odd = np.flatnonzero((delta != 1) & (op[1:] == op[:-1])) + 1
    if len(odd):
        odd = odd[(index[odd] >= 0) & (index[odd - 1] >= 0)]
    if len(exempt):
        odd = odd[~np.isin(op[odd], exempt)]
    return odd, index[odd - 1], index[odd]


def _tell_within(log: Log, op: Ints, value: Ints, cases: Cases, what: str, exempt: Ints) -> None:
    rows, before, after = _within(log, op, value, exempt)
    if not len(rows):
        return
    key, number = log.shard.name, log.shard.records.index

    def tell(i: int) -> Case:
        row, low, high = int(rows[i]), int(before[i]), int(after[i])
        at = int(number[op[row]])
        pair = (log.value(int(value[row - 1])), log.value(int(value[row])))
        if high - low > 1:
            return Case((key, pair, high - low, _skipped(log, low, high), at), (at,), key)
        return Case((key, pair, high - low, at), (at,), key)

    ahead = after - before > 1
    cases.add(f"int-{what}-skip", np.flatnonzero(ahead), tell)
    cases.add(f"int-nonmonotonic-{what}", np.flatnonzero(~ahead), tell)


def _previous(shard: Shard, op: Ints, counts: Mask) -> tuple[Ints, Ints]:
    """For each run its process' run before it that moved the cursor, unless an assignment forgot it in between.

    Args:
        shard: for processes and assignments.
        op: the record of each run, ascending.
        counts: whether the run moves the cursor.

    Returns: positions of runs that have one, and of that one.
    """
    process = shard.records.process_id[op]
    order = stable_order(process)
    who = process[order]
    if counts.all():
        own = np.flatnonzero(who[1:] == who[:-1])
        now, then = order[own + 1], order[own]
    else:
        latest = np.maximum.accumulate(np.where(counts[order], np.arange(len(order)), UNKNOWN))
        before = np.concatenate(([UNKNOWN], latest[:-1]))
        own = np.flatnonzero(before >= 0)
        own = own[who[before[own]] == who[own]]
        now, then = order[own], order[before[own]]
    if len(shard.resets):
        reset = np.sort(shard.records.point(shard.resets))
        between = [np.searchsorted(reset, shard.records.point(op[at])) for at in (then, now)]
        kept = between[0] == between[1]
        now, then = now[kept], then[kept]
    return now, then


def _across(log: Log, runs: Runs, counts: Mask) -> tuple[Ints, Ints, Ints, Ints]:
    """Runs that do not go on at the index behind the process' run before.

    Returns: positions of the later and of the earlier run, the earlier one's last index and the later one's first.
    """
    now, then = _previous(log.shard, runs.op, counts)
    after, before = _index(log, runs.first[now]), _index(log, runs.last[then])
    odd = np.flatnonzero((after >= 0) & (before >= 0) & (after - before != 1))
    return now[odd], then[odd], before[odd], after[odd]


def _polled_on(log: Log) -> Runs | None:
    """The runs of polls, if it is known without their rows that none of them left an index out."""
    if log.once is None or log.spans is None:
        return None
    low, high = log.spans
    return _with(Runs(log.once.polls, log.picked[low], log.picked[high]), log.shard.polls.empty)


def polls(log: Log, cases: Cases) -> None:
    """The anomalies of polls of one log."""
    shard = log.shard
    runs = _polled_on(log)
    if runs is None:
        _tell_within(log, shard.polls.op, log.values.polled, cases, "poll", shard.rebalanced)
        runs = runs_of(shard.polls.op, log.values.polled, shard.polls.empty)
    now, then, before, after = _across(log, runs, shard.records.type[runs.op] == Type.OK)
    if not len(now):
        return
    key, number = shard.name, shard.records.index

    def tell(i: int) -> Case:
        low, high = int(before[i]), int(after[i])
        ops = (int(number[runs.op[then[i]]]), int(number[runs.op[now[i]]]))
        if high - low > 1:
            return Case((key, high - low, ops, _skipped(log, low, high)), ops, key)
        pair = (log.value(int(runs.last[then[i]])), log.value(int(runs.first[now[i]])))
        return Case((key, pair, high - low, ops), ops, key)

    ahead = after - before > 1
    cases.add("poll-skip", np.flatnonzero(ahead), tell)
    cases.add("nonmonotonic-poll", np.flatnonzero(~ahead), tell)


def sends(log: Log, cases: Cases) -> None:
    """The anomalies of sends to one log. A gap between two records of a process is nobody's: others send too."""
    shard, values = log.shard, log.values
    none = np.empty(0, dtype=np.int64)
    _tell_within(log, shard.sends.op, values.sent, cases, "send", none)
    moved = (values.send_type == Type.OK) | (values.send_type == Type.INFO)
    runs = runs_of(shard.sends.op[moved], values.sent[moved], none)
    now, then, before, after = _across(log, runs, np.ones(len(runs.op), dtype=bool))
    back = np.flatnonzero(after <= before)
    key, number = shard.name, shard.records.index

    def tell(i: int) -> Case:
        ops = (int(number[runs.op[then[i]]]), int(number[runs.op[now[i]]]))
        pair = (log.value(int(runs.last[then[i]])), log.value(int(runs.first[now[i]])))
        return Case((key, pair, int(after[i] - before[i]), ops), ops, key)

    still = shard.records.open[runs.op]
    cases.add("nonmonotonic-send", back, tell, int((still[now[back]] | still[then[back]]).sum()))
