"""What a history knows of one queue's log: values, pairs (offset, value), and what each read covers.

Worked out once per shard, each part when it is first asked for: a check that needs little reads little. A value is
known by its *vid*: the position of its send among the shard's sends; values that were read and never sent here come
after these.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.models.log.words import POPS, READS, F
from chaos.storage.history import NEVER_NS
from checkers.history.columns import Column, Ints, Mask, are_distinct, distinct, is_among, starts_of
from checkers.history.operations import LogOperations
from checkers.history.rows import Columns
from checkers.history.values import Names, distinct_pairs

DAMAGED: Final = -1
_SHIFT: Final = 40


def pack_number(worker: Column, number: Ints) -> Ints:
    """Worker and operation in one number; both are small by construction of the streams."""
    out: Ints = (worker.astype(np.int64) << _SHIFT) | number
    return out


class _Groups(NamedTuple):
    """The reads that returned records, in the order of the rows: their op, first row and how many rows."""

    op: Ints
    start: Ints
    rows: Ints


class _Records(NamedTuple):
    """What one read returned, in its order."""

    offset: Ints
    writer: Column
    sequence: Ints


class Log(LogOperations):
    """One queue's log as the history knows it; replicas' own copies and pops are left out.

    ``operations`` and ``reads`` as in ``QueueShard``. Indices called ``op`` point into the operations.
    """

    def __init__(self, operations: Columns, reads: Columns) -> None:
        super().__init__(operations)
        self._all_reads = reads
        self._looked_at: dict[int, _Records | None] = {}

    @cached_property
    def _reads(self) -> Mapping[str, Any]:
        """The rows of reads by clients.

        What a replica holds was given to no client, and what was popped may have come from elsewhere than its place:
        neither takes part in what is known of the log.
        """
        if not is_among(self.f, (F.REPLICA, *POPS)).any():  # a row has the f of its operation
            return self._all_reads
        known = is_among(self._all_reads["f"], READS)
        return {name: self._all_reads[name][known] for name in self._all_reads}

    @cached_property
    def row_offset(self) -> Ints:
        """Per row: where it was read."""
        offset: Ints = self._reads["offset"]
        return offset

    @cached_property
    def _starts(self) -> Ints:
        """The first row of each read."""
        return starts_of(self._reads["worker"], self._reads["op"])

    @cached_property
    def _groups(self) -> _Groups:
        """The rows joined with their operations."""
        start = self._starts
        worker, number = self._reads["worker"], self._reads["op"]
        asked = pack_number(worker[start], number[start])
        op = self.read_ops[_found(pack_number(self.operations["worker"], self.operations["op"])[self.read_ops], asked)]
        if not are_distinct(op):
            raise HistoryError("the records of one read are not neighbours; the tables were altered")
        return _Groups(op, start, np.diff(start, append=len(number)))

    def _per_op(self, values: Ints, none: int) -> Ints:
        """Per operation what is known per read with records."""
        out = np.full(len(self.f), none, dtype=np.int64)
        out[self._groups.op] = values
        return out

    @cached_property
    def row_op(self) -> Ints:
        """Per row: the read that returned it."""
        return np.repeat(self._groups.op, self._groups.rows)

    @cached_property
    def row_start(self) -> Ints:
        """Per operation: its first row, 0 if it has none."""
        return self._per_op(self._groups.start, 0)

    @cached_property
    def row_count(self) -> Ints:
        """Per operation: how many rows it returned."""
        return self._per_op(self._groups.rows, 0)

    @cached_property
    def climbs(self) -> bool:
        """Whether offsets ascend within each read."""
        step = self.row_offset[1:] > self.row_offset[:-1]
        step[self._starts[1:] - 1] = True
        return bool(step.all())

    @cached_property
    def last_record(self) -> Ints:
        """Per operation: the highest offset that it returned, -1 for none."""
        start, offset = self._groups.start, self.row_offset
        if not len(start):
            return np.full(len(self.f), -1, dtype=np.int64)
        last = offset[start + self._groups.rows - 1] if self.climbs else np.maximum.reduceat(offset, start)
        return self._per_op(last, -1)

    @cached_property
    def lowest_record(self) -> Ints:
        """Per operation: the lowest offset that it returned, -1 for none."""
        start, offset = self._groups.start, self.row_offset
        if not len(start):
            return np.full(len(self.f), -1, dtype=np.int64)
        return self._per_op(offset[start] if self.climbs else np.minimum.reduceat(offset, start), -1)

    @cached_property
    def _names(self) -> Names:
        """The values that were sent."""
        return Names(self.operations["writer"][self.sends], self.operations["sequence"][self.sends])

    @cached_property
    def _named(self) -> tuple[Ints, Ints]:
        """Per row its vid, and the phantoms (writer, sequence)."""
        writer, sequence = self._reads["writer"], self._reads["sequence"]
        vid = self._names.positions(writer, sequence)
        strange = vid < 0
        phantoms = np.zeros((0, 2), dtype=np.int64)
        if strange.any():
            damaged = writer < 0
            vid[damaged] = DAMAGED
            strange &= ~damaged
            if strange.any():
                pairs = np.stack([writer[strange].astype(np.int64), sequence[strange]], axis=1)
                phantoms, inverse = np.unique(pairs, axis=0, return_inverse=True)
                vid[strange] = len(self.sends) + inverse.ravel()
        return vid, phantoms

    @property
    def row_vid(self) -> Ints:
        """Per row: the vid of the value it returned."""
        return self._named[0]

    @property
    def phantoms(self) -> Ints:
        """The values (writer, sequence) that were read and that nobody sent here, in the order of their vids."""
        return self._named[1]

    @cached_property
    def values(self) -> int:
        """How many vids there are."""
        return len(self.sends) + len(self.phantoms)

    def _alone(self, op: int) -> _Records | None:
        """What one read returned, if the tables keep that by itself and its offsets ascend.

        Then it is in the order returned, or that order is another check's to judge.
        """
        if op not in self._looked_at:
            found = self._all_reads.only(self.identity(op), _Records._fields)
            rising = found is not None and bool((found["offset"][1:] > found["offset"][:-1]).all())
            self._looked_at[op] = _Records(**found) if found is not None and rising else None
        return self._looked_at[op]

    def _records(self, op: int) -> _Records:
        """What one read returned; other reads' records are left alone where the tables allow it."""
        alone = self._alone(op)
        if alone is not None:
            return alone
        rows = self.rows_of(op)
        return _Records(self.row_offset[rows], self._reads["writer"][rows], self._reads["sequence"][rows])

    def same_records(self, left: int, right: int) -> bool:
        """Whether two reads returned the same values at the same offsets, in the same order."""
        ordered = self._alone(right) is not None  # then the other is as well, if it is alike
        if ordered and self._all_reads.alike(self.identity(left), self.identity(right), _Records._fields):
            return True
        one, other = self._records(left), self._records(right)
        if not np.array_equal(one.offset, other.offset):
            return False
        if np.array_equal(one.writer, other.writer) and np.array_equal(one.sequence, other.sequence):
            return True
        # What is damaged is the same, whatever is left of its name.
        same = (one.writer == other.writer) & (one.sequence == other.sequence)
        return bool((same | ((one.writer < 0) & (other.writer < 0))).all())

    def returned_acked(self, read: int) -> bool:
        """Whether one read returned every acknowledged send where it was acknowledged to be."""
        sends, records = self.acked_sends, self._records(read)
        if not len(sends):
            return True
        asked, offset = self._acked_offset, records.offset
        if not len(offset) or int(asked.min()) < int(offset.min()) or int(asked.max()) > int(offset.max()):
            return False
        if not bool((offset[1:] > offset[:-1]).all()):
            return False
        first, dense = int(offset[0]), int(offset[-1]) - int(offset[0]) == len(offset) - 1
        at = (asked - first if first else asked) if dense else np.searchsorted(offset, asked)
        if not dense and not np.array_equal(offset[at], asked):
            return False
        return all(
            np.array_equal(column[at], self.operations[name][sends])
            for name, column in (("sequence", records.sequence), ("writer", records.writer))
        )

    @cached_property
    def acked_place(self) -> Ints:
        """Per acknowledged send its ``place``; what was read is only looked at if some were told none."""
        return self._acked_offset if int(self._acked_offset.min(initial=0)) >= 0 else self.place[self.acked]

    @cached_property
    def _acked_offset(self) -> Ints:
        """Per acknowledged send the offset that it was told, -1 for none."""
        return self.offset[self.acked_sends]

    @cached_property
    def row_ok(self) -> Mask:
        """Whether the read that returned the row was ok."""
        if bool((self.type[self._groups.op] == Type.OK).all()):
            return np.ones(len(self.row_offset), dtype=np.bool_)
        return np.equal(self.type[self.row_op], Type.OK)

    @cached_property
    def end(self) -> Ints:
        """Per operation: the offset behind the last one that a read covers."""
        return np.maximum(np.where(self.next >= 0, self.next, self.begin), self.last_record + 1)

    @cached_property
    def covered_from(self) -> Ints:
        """Per operation: the first offset that a read covers; what lies below the broker's minimum was removed."""
        return np.maximum(self.begin, self.min)

    def passing(self, reads: Ints, offset: int) -> Ints:
        """Those of some reads that cover an offset (SEMANTICS 6)."""
        return reads[(self.covered_from[reads] <= offset) & (self.end[reads] > offset)]

    def tails(self, reads: Ints) -> Ints:
        """Where the log ended for strong reads."""
        out, following = self.max[reads], self.next[reads]
        silent = np.flatnonzero(out < 0)
        if len(silent):
            begin = np.where(self.offset[reads] >= 0, self.offset[reads], np.maximum(self.min[reads], 0))
            out[silent] = np.where(following >= 0, following, begin)[silent]
        return np.maximum(out, self.last_record[reads] + 1)

    @cached_property
    def acked_at_offset(self) -> Mask:
        """Per sent vid: whether its acknowledgement named an offset, so that it was in the log by then."""
        out = np.zeros(len(self.sends), dtype=np.bool_)
        out[self.acked] = self.offset[self.sends[self.acked]] >= 0
        return out

    @cached_property
    def place(self) -> Ints:
        """Per sent vid: the offset that was acknowledged, else the highest at which a read showed it, else -1."""
        out = np.where(self.acked_at_offset, self.offset[self.sends], -1)
        open_vids = np.zeros(self.values + 1, dtype=np.bool_)  # the last for damaged rows, whose vid is -1
        open_vids[: len(self.sends)] = ~self.acked_at_offset
        if open_vids.any():
            rows = np.flatnonzero(open_vids[self.row_vid])
            np.maximum.at(out, self.row_vid[rows], self.row_offset[rows])
        return out

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """What is known of the log: distinct (offset, vid), by offset, from ok sends and all reads."""
        known = self.row_vid >= 0
        acked = np.flatnonzero(self.acked_at_offset)
        every = bool(known.all())
        offsets = np.concatenate((self.row_offset if every else self.row_offset[known], self.offset[self.sends[acked]]))
        vids = np.concatenate((self.row_vid if every else self.row_vid[known], acked))
        return distinct_pairs(offsets, vids, self.values)

    @cached_property
    def known_offsets(self) -> Ints:
        """Distinct offsets at which some value is known, ascending."""
        return distinct(self.pairs[0])

    def vids(self, writer: Ints, sequence: Ints) -> Ints:
        """The vids of values, -1 for those that nobody tried to send here."""
        return self._names.positions(writer, sequence)

    def seen(self, rows: Mask | slice) -> Mask:
        """Per vid: whether one of these rows returned it."""
        out = np.zeros(self.values + 1, dtype=np.bool_)  # the last for damaged rows, whose vid is -1
        out[self.row_vid if isinstance(rows, np.ndarray) and rows.all() else self.row_vid[rows]] = True
        return out[:-1]

    def first_given_ns(self, rows: Mask) -> Ints:
        """Per vid: when the first read was over that returned it in one of these rows; ``NEVER_NS`` if none did."""
        out = np.full(self.values + 1, NEVER_NS, dtype=np.int64)  # the last for damaged rows, whose vid is -1
        vid, op = (self.row_vid, self.row_op) if rows.all() else (self.row_vid[rows], self.row_op[rows])
        np.minimum.at(out, vid, self.complete[op])
        return out[:-1]

    def rows_of(self, op: int) -> slice:
        """The rows one read returned."""
        return slice(int(self.row_start[op]), int(self.row_start[op] + self.row_count[op]))

    def value(self, vid: int) -> str:
        """A value in words, ``writer:sequence``."""
        if vid < len(self.sends):
            op = self.sends[vid]
            return f"{self.operations['writer'][op]}:{self.operations['sequence'][op]}"
        writer, sequence = self.phantoms[vid - len(self.sends)]
        return f"{writer}:{sequence}"

    def vid_of(self, send: int) -> int:
        """The vid of the value that a send, named by its op, tried to append."""
        return int(np.searchsorted(self.sends, send))

    def sent(self, send: int) -> str:
        """That value as ``w:s``."""
        return self.value(self.vid_of(send))

    def value_at(self, offset: int) -> int:
        """The vid of a value known at an offset, an acknowledged one before others; -1 if none is known."""
        offsets, vids = self.pairs
        own = vids[int(np.searchsorted(offsets, offset)) : int(np.searchsorted(offsets, offset, side="right"))]
        sent = own[own < len(self.sends)]
        acked = sent[self.acked_at_offset[sent] & (self.offset[self.sends[sent]] == offset)]
        return int(acked[0]) if len(acked) else int(own[0]) if len(own) else -1

    def first_read(self, vid: int) -> int:
        """The op of the earliest read that returned a value; some read did."""
        ops = self.row_op[self.row_vid == vid]
        return int(ops[np.argmin(self.complete[ops])])


def _found(known: Ints, asked: Ints) -> Ints:
    """Positions of numbers among distinct known ones.

    Raises:
        HistoryError: one of them is not known.
    """
    order = None if (known[1:] > known[:-1]).all() else np.argsort(known)
    ordered = known if order is None else known[order]
    at = np.searchsorted(ordered, asked)
    if len(asked) and (at.max() >= len(ordered) or not np.array_equal(ordered[at], asked)):
        raise HistoryError("a read record belongs to no read operation; the tables were altered")
    return at if order is None else order[at]
