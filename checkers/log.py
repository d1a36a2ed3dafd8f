"""What a history knows of one queue's log: values, pairs (offset, value), and what each read covers.

Worked out once per shard with sorts and gathers, shared by all kernels. A value is known by its *vid*:
the position of its send among the shard's sends; values that nobody sent here follow behind. The
module refuses to judge.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chaos.core.errors import HistoryError
from chaos.core.op import READS, SENDS, STRONG_READS, F, Type
from chaos.core.transaction import COMMITTING
from checkers.columns import Ints, Mask, are_distinct, distinct

DAMAGED: Final = -1
_SHIFT: Final = 40


def _packed(writer: Ints, sequence: Ints) -> Ints:
    """Writer and sequence in one number; both are small by construction of the workloads."""
    return (writer << _SHIFT) | sequence


class Log:
    """One queue's log as the history knows it; replicas' own copies and pops are left out.

    ``operations`` and ``reads`` as in ``QueueShard``. Indices called ``op`` point into the operations.
    """

    def __init__(self, operations: Mapping[str, Any], reads: Mapping[str, Any]) -> None:
        self.f: npt.NDArray[np.int8] = operations["f"]
        self.type: npt.NDArray[np.int8] = operations["type"]
        self.invoke: Ints = operations["invoke_ns"]
        self.complete: Ints = operations["complete_ns"]
        self.node: npt.NDArray[np.int16] = operations["node"]
        self.offset: Ints = operations["offset"]
        self.next: Ints = operations["next_offset"]
        self.min: Ints = operations["min_offset"]
        self.max: Ints = operations["max_offset"]
        self.deadline: Ints = operations["deadline_ns"]
        self.argument: Ints = operations["argument"]
        self._operations = operations
        # What a replica holds was given to no client, and what was popped may have come from elsewhere than its place:
        # neither takes part in what is known of the log.
        known = np.isin(reads["f"], READS)
        self._reads = reads if known.all() else {name: column[known] for name, column in reads.items()}
        self.sends: Ints = np.flatnonzero(np.isin(self.f, SENDS))
        self.withheld: Mask = np.equal(self.f[self.sends], F.TRANSACT) & ~np.isin(
            self.argument[self.sends], [int(decision) for decision in COMMITTING]
        )
        """Per sent vid: whether it is a transaction that its producer never commits, so nobody may be given it."""
        self.acked: Ints = np.flatnonzero((self.type[self.sends] == Type.OK) & ~self.withheld)
        """Vids of the acknowledged sends that must be in the log."""
        self.read_ops: Ints = np.flatnonzero(np.isin(self.f, [int(f) for f in READS]))
        self._group_rows()
        self._name_values()

    def _group_rows(self) -> None:
        """Join read rows with their operations: ``row_op``, ``row_start``, ``row_count``."""
        worker = self._reads["worker"].astype(np.int64)
        number = self._reads["op"]
        self.row_offset: Ints = self._reads["offset"]
        key = _packed(worker, number)
        own = _packed(self._operations["worker"].astype(np.int64), self._operations["op"])[self.read_ops]
        order = np.argsort(own)
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, dtype=np.int64)
        counts = np.diff(np.r_[starts, len(key)])
        at = np.searchsorted(own[order], key[starts])
        if len(starts) and (at.max() >= len(own) or not np.array_equal(own[order][at], key[starts])):
            raise HistoryError("a read record belongs to no read operation; the tables were altered")
        op = self.read_ops[order][at]
        if not are_distinct(op):
            raise HistoryError("the records of one read are not neighbours; the tables were altered")
        self.row_op: Ints = np.repeat(op, counts)
        self.row_start = np.zeros(len(self.f), dtype=np.int64)
        self.row_count = np.zeros(len(self.f), dtype=np.int64)
        self.row_start[op], self.row_count[op] = starts, counts
        self.last_record = np.full(len(self.f), -1, dtype=np.int64)
        self.lowest_record = np.full(len(self.f), -1, dtype=np.int64)
        if len(starts):
            self.lowest_record[op] = np.minimum.reduceat(self.row_offset, starts)
            self.last_record[op] = np.maximum.reduceat(self.row_offset, starts)

    def _name_values(self) -> None:
        """Give every value a vid: ``row_vid`` and ``phantoms`` (writer, sequence)."""
        writer, sequence = self._reads["writer"].astype(np.int64), self._reads["sequence"]
        sent_w = self._operations["writer"][self.sends].astype(np.int64)
        sent_s = self._operations["sequence"][self.sends]
        vid = _lookup(sent_w, sent_s, writer, sequence)
        damaged = writer < 0
        vid[damaged] = DAMAGED
        strange = (vid < 0) & ~damaged
        if strange.any():
            pairs = np.stack([writer[strange], sequence[strange]], axis=1)
            self.phantoms, inverse = np.unique(pairs, axis=0, return_inverse=True)
            vid[strange] = len(self.sends) + inverse.ravel()
        else:
            self.phantoms = np.zeros((0, 2), dtype=np.int64)
        self.row_vid: Ints = vid
        self.values = len(self.sends) + len(self.phantoms)

    @cached_property
    def row_ok(self) -> Mask:
        """Whether the read that returned the row was ok."""
        if bool((self.type[self.read_ops] == Type.OK).all()):
            return np.ones(len(self.row_op), dtype=np.bool_)
        return np.equal(self.type[self.row_op], Type.OK)

    @cached_property
    def ok_reads(self) -> Ints:
        """Ops of the ok reads."""
        return self.read_ops[np.equal(self.type[self.read_ops], Type.OK)]

    @cached_property
    def strong_reads(self) -> Ints:
        """Ops of the ok strong reads."""
        return self.ok_reads[np.isin(self.f[self.ok_reads], [int(f) for f in STRONG_READS])]

    @cached_property
    def begin(self) -> Ints:
        """Per operation: where a read began (a final read begins at the broker's minimum)."""
        return np.where(self.offset >= 0, self.offset, np.maximum(self.min, 0))

    @cached_property
    def end(self) -> Ints:
        """Per operation: the offset behind the last one that a read covers."""
        return np.maximum(np.where(self.next >= 0, self.next, self.begin), self.last_record + 1)

    @cached_property
    def tail(self) -> Ints:
        """Per operation: where the log ended for a strong read."""
        said = np.where(self.max >= 0, self.max, np.where(self.next >= 0, self.next, self.begin))
        return np.maximum(said, self.last_record + 1)

    @cached_property
    def told(self) -> Mask:
        """Per sent vid: whether its acknowledgement named an offset, so that it was in the log by then."""
        out = np.zeros(len(self.sends), dtype=np.bool_)
        out[self.acked] = self.offset[self.sends[self.acked]] >= 0
        return out

    @cached_property
    def place(self) -> Ints:
        """Per sent vid: the offset that was acknowledged, else the highest at which a read showed it, else -1."""
        shown = np.full(self.values, -1, dtype=np.int64)
        offsets, vids = self.pairs
        shown[vids] = offsets  # they ascend, so the highest stays
        return np.where(self.told, self.offset[self.sends], shown[: len(self.sends)])

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """What is known of the log: distinct (offset, vid), by offset, from ok sends and all reads."""
        known = self.row_vid >= 0
        acked = np.flatnonzero(self.told)
        every = bool(known.all())
        offsets = np.concatenate((self.row_offset if every else self.row_offset[known], self.offset[self.sends[acked]]))
        vids = np.concatenate((self.row_vid if every else self.row_vid[known], acked))
        return _distinct_pairs(offsets, vids, self.values)

    @cached_property
    def known_offsets(self) -> Ints:
        """Distinct offsets at which some value is known, ascending."""
        return distinct(self.pairs[0])

    def vids(self, writer: Ints, sequence: Ints) -> Ints:
        """The vids of values, -1 for those that nobody tried to send here."""
        sent_w, sent_s = self._operations["writer"][self.sends], self._operations["sequence"][self.sends]
        return _lookup(sent_w.astype(np.int64), sent_s, writer, sequence)

    def seen(self, rows: Mask | slice) -> Mask:
        """Per vid: whether one of these rows returned it."""
        out = np.zeros(self.values + 1, dtype=np.bool_)  # the last for damaged rows, whose vid is -1
        out[self.row_vid if isinstance(rows, np.ndarray) and rows.all() else self.row_vid[rows]] = True
        return out[:-1]

    def rows_of(self, op: int) -> slice:
        """The rows one read returned."""
        return slice(int(self.row_start[op]), int(self.row_start[op] + self.row_count[op]))

    def value(self, vid: int) -> str:
        """A value in words, ``writer:sequence``."""
        if vid < len(self.sends):
            op = self.sends[vid]
            return f"{self._operations['writer'][op]}:{self._operations['sequence'][op]}"
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
        acked = sent[self.told[sent] & (self.offset[self.sends[sent]] == offset)]
        return int(acked[0]) if len(acked) else int(own[0]) if len(own) else -1

    def first_read(self, vid: int) -> int:
        """The op of the earliest read that returned a value; some read did."""
        ops = self.row_op[self.row_vid == vid]
        return int(ops[np.argmin(self.complete[ops])])


def _distinct_pairs(offsets: Ints, vids: Ints, values: int) -> tuple[Ints, Ints]:
    """Distinct (offset, vid) by offset, then vid; without sorting where offsets are dense and hold one value each."""
    if not len(offsets):
        return offsets, vids
    lowest, highest = int(offsets.min()), int(offsets.max())
    if highest - lowest < 8 * len(offsets) + 4096:
        held = np.full(highest - lowest + 1, -1, dtype=np.int64)
        place = offsets - lowest if lowest else offsets
        held[place] = vids
        more = np.flatnonzero(held[place] != vids)
        at = np.flatnonzero(held >= 0)
        if not len(more):
            return at + lowest, held[at]
        offsets, vids = np.concatenate((at + lowest, offsets[more])), np.concatenate((held[at], vids[more]))
    dense = distinct(offsets) if highest > 1 << 38 else None  # so that offset and vid fit into one number
    rank = offsets if dense is None else np.searchsorted(dense, offsets)
    place, vid = np.divmod(distinct(rank * values + vids), values)
    return (place if dense is None else dense[place]), vid


def _lookup(sent_w: Ints, sent_s: Ints, writer: Ints, sequence: Ints) -> Ints:
    """Positions of values among the sent ones, -1 where not sent; by a table where numbers are dense."""
    if not len(sent_w) or not len(writer):
        return np.full(len(writer), -1, dtype=np.int64)
    top = int(sent_w.max()) + 1
    if top <= 1 << 16:
        size = np.zeros(top, dtype=np.int64)
        np.maximum.at(size, sent_w, sent_s + 1)
        if size.sum() <= 8 * len(sent_w) + 4096:
            base = np.concatenate(([0], np.cumsum(size)))
            table = np.full(int(base[-1]), -1, dtype=np.int64)
            table[base[sent_w] + sent_s] = np.arange(len(sent_w))
            if min(writer.min(), sequence.min()) >= 0 and writer.max() < top:  # so it is of all but a few queues
                inside, place = sequence < size[writer], base[writer] + sequence
                if inside.all():
                    return table[place]
            inside = (writer >= 0) & (writer < top)
            w = np.where(inside, writer, 0)
            inside &= (sequence >= 0) & (sequence < size[w])
            return np.where(inside, table[np.where(inside, base[w] + sequence, 0)], -1)
    _, inverse = np.unique(
        np.stack([np.r_[sent_w, writer], np.r_[sent_s, sequence]], axis=1), axis=0, return_inverse=True
    )
    inverse = inverse.ravel()
    at = np.full(int(inverse.max()) + 1, -1, dtype=np.int64)
    at[inverse[: len(sent_w)]] = np.arange(len(sent_w))
    return at[inverse[len(sent_w) :]]
