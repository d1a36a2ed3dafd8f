"""What a log holds against what was sent: duplicate, inconsistent, lost, unseen, aborted, phantom.

Source of the definitions: jepsen.tests.kafka (duplicate, inconsistent-offsets, lost-write, unseen, G1a,
precommitted-read). Does not look beyond one log.
"""

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import KafkaF
from checkers.cycles.hash_order import first_of
from checkers.history.columns import Ints, Mask
from checkers.kafka.case_counts import Case, Cases
from checkers.kafka.log import UNKNOWN, Log


def find_inconsistent_offsets(log: Log, cases: Cases) -> None:
    """One offset with two values; one value at two offsets."""
    key = log.shard.name

    def tell_clash(index: int) -> Case:
        values = tuple(log.value(one) for one in log.clash[index])
        return Case((key, log.offset(int(log.offset_at[index])), index, values), _senders(log, log.clash[index]), key)

    def tell_copies(value: int) -> Case:
        offsets = tuple(log.offset(one) for one in log.copies[value])
        return Case((key, log.value(value), len(offsets), offsets), _senders(log, [value]), key)

    cases.add("inconsistent-offsets", log.clash, tell_clash)
    cases.add("duplicate", sorted(log.copies), tell_copies)


def _senders(log: Log, values: list[int]) -> tuple[int, ...]:
    writers = log.writer[values]
    return tuple(sorted(int(log.shard.records.index[one]) for one in set(writers[writers >= 0].tolist())))


def find_aborted_reads(log: Log, cases: Cases) -> None:
    """G1a: an ok poll returned what a failed send had tried to write."""
    values, shard = log.values, log.shard
    failed = values.send_type == Type.FAIL
    if not failed.any():
        return
    never = np.zeros(values.ids.size, dtype=bool)
    never[values.sent[failed]] = True
    if not never[values.shown].any():
        return
    rows = np.flatnonzero((values.poll_type == Type.OK) & never[log.polled])
    number = shard.records.index

    def tell(row: int) -> Case:
        value = int(log.polled[row])
        writer, reader = int(number[log.writer[value]]), int(number[shard.polls.op[row]])
        return Case((shard.name, log.value(value), writer, reader), (writer, reader), shard.name)

    cases.add("G1a", rows, tell)


def phantom(log: Log, cases: Cases) -> None:
    """A poll of any outcome returned a value that nobody tried to send to this log; once per value."""
    if not (log.writer[log.values.shown] < 0).any():
        return
    rows = np.flatnonzero(log.writer[log.polled] < 0)
    rows = np.sort(rows[np.unique(log.polled[rows], return_index=True)[1]])
    shard = log.shard

    def tell(row: int) -> Case:
        reader = int(shard.records.index[shard.polls.op[row]])
        return Case((shard.name, log.value(int(log.polled[row])), reader), (reader,), shard.name)

    cases.add("phantom", rows, tell)


def _committed_writer(log: Log, values: Ints) -> Mask:
    """Whether the transaction that wrote each value must have committed."""
    sure = np.zeros(log.values.ids.size, dtype=bool)
    sent = log.values.sent
    last = log.writer[sent] == log.shard.sends.op  # the send that counts as the value's own
    sure[sent[last & log.committed]] = True
    return sure[values]


def lost_values(log: Log) -> Ints:
    """Values whose sends must have committed, below the highest index that an ok poll reached, and in no ok poll.

    By their place in the log.
    """
    seen = np.flatnonzero(log.values.seen)
    bound = int(log.first[seen].max()) if len(seen) else UNKNOWN
    which = np.flatnonzero((log.last >= 0) & (log.last <= bound) & ~log.values.seen)
    which = which[_committed_writer(log, which)]
    return which[np.lexsort((which, log.last[which]))]


def proofs(log: Log, which: Ints) -> Ints:
    """For lost values the row of the polls, of those that ended first, that reached beyond their places."""
    rows = np.flatnonzero(log.values.poll_type == Type.OK)
    reached = np.maximum.accumulate(log.first[log.polled[rows]])
    proving: Ints = rows[np.searchsorted(reached, log.last[which])]
    return proving


def find_lost(log: Log, cases: Cases) -> None:
    """What ``lost_values`` finds."""
    values, shard = log.values, log.shard
    which = lost_values(log)
    if not len(which):
        return
    seen = np.flatnonzero(values.seen)
    bound = int(log.first[seen].max())
    reached = int(seen[log.first[seen].argmax()])
    row = int(np.flatnonzero(log.polled == reached)[0])

    def tell(value: int) -> Case:
        writer = int(shard.records.index[log.writer[value]])
        reader = int(shard.records.index[shard.polls.op[row]])
        return Case((shard.name, log.value(value), int(log.first[value]), bound), (writer, reader), shard.name)

    cases.add("lost-write", which, tell)


def find_unseen(log: Log, cases: Cases) -> None:
    """Acknowledged, and in no ok poll."""
    values, shard = log.values, log.shard
    acked = np.zeros(values.ids.size, dtype=bool)
    acked[values.sent[values.send_type == Type.OK]] = True

    def tell(value: int) -> Case:
        rows = np.flatnonzero((values.sent == value) & (values.send_type == Type.OK))
        return Case((shard.name, log.value(value)), (int(shard.records.index[shard.sends.op[rows[0]]]),), shard.name)

    cases.add("unseen", np.flatnonzero(acked & ~values.seen), tell)


def precommitted_reads(log: Log) -> list[tuple[int, int, Case]]:
    """Records that polled what they themselves sent: (record, its first send to this log, case).

    The reference names one log per record, the first it sends to; that choice is made where all logs are known.
    """
    values, shard = log.values, log.shard
    if log.once is not None and not (shard.records.f[log.once.polls] == KafkaF.TXN).any():
        return []  # nobody else both sends and polls
    own = np.flatnonzero(log.writer[log.polled] == shard.polls.op)
    if _tried_again(log):
        size = values.ids.size
        own = np.flatnonzero(np.isin(shard.polls.op * size + log.polled, shard.sends.op * size + values.sent))
    out = []
    op = shard.polls.op[own]
    for rows in np.split(own, np.flatnonzero(np.diff(op)) + 1) if len(own) else ():
        record = int(shard.polls.op[rows[0]])
        numbers = {values.ids.number(one): one for one in log.polled[rows].tolist()}
        at, sent = int(shard.records.index[record]), int(np.searchsorted(shard.sends.op, record))
        case = Case((shard.name, log.value(numbers[first_of(numbers)]), at), (at,), shard.name)
        out.append((at, int(shard.sends.row[sent]), case))
    return out


def _tried_again(log: Log) -> bool:
    """Some value was sent by several records: then a value's writer does not tell who else sent it."""
    return len(log.values.sent) > int((log.writer >= 0).sum())
