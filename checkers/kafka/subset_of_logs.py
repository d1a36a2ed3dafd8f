"""Some logs of a history judged without the records that have nothing to do with them.

The kernel compares rows of records and never counts them, so that rows may be numbered anew as long as their order
stays. What a log is judged by: records that name a message or a key of it, those that say something of every log
(assignments, polls that returned nothing), and the other halves of all these. Who belongs together is worked out where
all records are, since an invocation left out would give its completion to another.

It says in the history's own rows what ``check.examine_logs`` said in these.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import KafkaColumns, KafkaF, Mop, Mops, Ops
from checkers.history.columns import Ints
from checkers.kafka import per_log
from checkers.kafka.graph import Edges
from checkers.kafka.log import Values
from checkers.kafka.per_log import Summary
from checkers.kafka.rows import Records, shards


@dataclass(frozen=True, slots=True)
class Spread:
    """What records of a part say of all logs together, as rows of the part.

    ``silent``: as of ``per_log.empty_polls``. ``both``: as of ``per_log.mixed_records``. ``wide``: they sent to logs
    of several groups.
    """

    silent: Ints
    both: Ints
    wide: Ints


def spread(columns: KafkaColumns, group: Ints) -> Spread:
    """Look at a part.

    Args:
        columns: the part.
        group: key -> the group of logs it is judged in.
    """
    mops = columns.mops
    records = Records(columns, np.full(len(columns.ops.index), -1, dtype=np.int64))  # completions need no invocation
    sent = mops.kind == Mop.SEND
    op, where = mops.op[sent], group[mops.key[sent]]
    apart = (op[1:] == op[:-1]) & (where[1:] != where[:-1])
    return Spread(per_log.empty_polls(records), per_log.mixed_records(records.stretches), per_log.heads(op[1:][apart]))


@dataclass(frozen=True, slots=True)
class Whole:
    """All records, without what they name.

    ``partner``: row of the other half, -1 for none. ``silent``: as of ``per_log.empty_polls``. ``common``: records that
    every log needs, ascending.
    """

    ops: Ops
    partner: Ints
    silent: Ints
    common: Ints


def common_records(records: Records, silent: Ints) -> Ints:
    """The records that every log needs, ascending: assignments, and polls that returned nothing."""
    settles = (records.f == KafkaF.ASSIGN) | (records.f == KafkaF.SUBSCRIBE)
    return np.union1d(np.flatnonzero(settles & (records.process >= 0)), silent)


def has_unknown_across_groups(records: Records, wide: Ints) -> bool:
    """Whether some transaction of unknown outcome sent to several groups of logs: one may prove it to another."""
    return bool((records.sends & (records.type == Type.INFO))[wide].any())


class LogSubset:
    """Some logs with the records that they need.

    Args:
        whole: all records.
        mops: the messages of these logs, with the rows of ``whole``.
        place: their rows in the history's table of messages.
        keys: the logs, with the history's id of each, ascending.

    Attributes:
        rows: the records' rows in the history, ascending.
        records, silent: as ``check.examine_logs`` takes them.
    """

    def __init__(self, whole: Whole, mops: Mops, place: Ints, keys: dict[int, Hashable]) -> None:
        ids = np.array(list(keys), dtype=np.int64)
        wanted = np.zeros(len(whole.partner), dtype=bool)
        wanted[mops.op] = True
        wanted[whole.common] = True
        others = whole.partner[wanted]
        wanted[others[others >= 0]] = True
        self.rows: Ints = np.flatnonzero(wanted)
        self.place, self.ids = place, ids
        here = np.empty(len(wanted), dtype=np.int64)  # of records that are not here nobody asks, nor writes a page
        here[self.rows] = np.arange(len(self.rows))
        partner = whole.partner[self.rows]
        paired = partner >= 0
        partner[paired] = here[partner[paired]]
        ops = Ops(*(getattr(whole.ops, name)[self.rows] for name in Ops.__slots__))
        local = Mops(
            here[mops.op],
            mops.kind,
            mops.mop,
            np.searchsorted(ids, mops.key).astype(np.int32),
            mops.value,
            mops.offset,
        )
        self.records = Records(KafkaColumns(ops, local, tuple(keys.values()), ()), partner)
        self.silent: Ints = here[whole.silent]

    def proven(self) -> Ints:
        """The union of ``per_log.first_look`` over these logs, as rows of the history."""
        found = [Values(shard).proven(shard) for shard in shards(self.records)]
        return self.rows[np.unique(np.concatenate(found or [np.empty(0, dtype=np.int64)]))]

    def known(self, proven: Ints) -> Ints:
        """Those of the history's rows that are here, as rows of ``records``."""
        return np.searchsorted(self.rows, proven[np.isin(proven, self.rows)])

    def in_history_rows(self, summary: Summary) -> Summary:
        """What was found here, in the history's rows."""
        summary.own = {op: (int(self.place[row]), case) for op, (row, case) in summary.own.items()}
        for edges in (summary.ww, summary.wr):
            edges[:] = [
                Edges(self.rows[one.source], self.rows[one.target], self.ids[one.key]) for one in edges if len(one)
            ]
        return summary


def in_key_order(summary: Summary) -> Summary:
    """The summary of all logs, as if they had been looked at in the order of their ids."""
    for edges in (summary.ww, summary.wr):
        edges.sort(key=lambda one: int(one.key[0]))
    return summary
