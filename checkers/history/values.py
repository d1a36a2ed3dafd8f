"""Values of one queue by name: (writer, sequence) to the position of its send, and what lies at which offset.

By direct addressing wherever numbers are dense, as those of the workloads are; by sorting elsewhere, with the same
answers.
"""

from functools import cached_property
from typing import Final

import numpy as np

from checkers.history.columns import Column, Ints, Mask, distinct

_WRITERS: Final = 1 << 16
_SPARE: Final = 4096


class Names:
    """What was sent, by (writer, sequence); of a value that was sent twice, the last.

    Args:
        writer: per send.
        sequence: per send.
    """

    def __init__(self, writer: Column, sequence: Ints) -> None:
        self._writer, self._sequence = writer, sequence

    @cached_property
    def _ends(self) -> Ints | None:
        """Per writer the cell behind its last one, after a leading 0; None where cells would be far more than sends."""
        writer, sequence = self._writer, self._sequence
        most = 8 * len(writer) + _SPARE
        if not len(writer) or min(int(writer.min()), int(sequence.min())) < 0:
            return None
        if int(writer.max()) >= _WRITERS or int(sequence.max()) >= most:
            return None
        size = np.zeros(int(writer.max()) + 1, dtype=np.int64)
        size[writer] = sequence + 1  # most ascend, so that the last is the highest
        if (sequence >= size[writer]).any():
            np.maximum.at(size, writer, sequence + 1)
        ends = np.concatenate(([0], np.cumsum(size)))
        return ends if int(ends[-1]) <= most else None

    def _cells(self, ends: Ints, writer: Column, sequence: Ints) -> tuple[Ints, Mask | None]:
        """The cells of values, and which have one; None if all have."""
        if not len(writer):
            return np.zeros(0, dtype=np.int64), None
        if int(writer.min()) >= 0 and int(writer.max()) < len(ends) - 1 and int(sequence.min()) >= 0:
            cell = ends[writer] + sequence
            inside = sequence < np.diff(ends)[writer]
            return cell, None if inside.all() else inside
        inside = (writer >= 0) & (writer < len(ends) - 1) & (sequence >= 0)
        known = np.where(inside, writer, 0)
        inside &= sequence < np.diff(ends)[known]
        return ends[known] + np.where(inside, sequence, 0), inside

    @cached_property
    def _table(self) -> Ints:
        """Per cell the position of its send, -1 for none."""
        assert self._ends is not None
        table = np.full(int(self._ends[-1]), -1, dtype=np.int64)
        table[self._ends[self._writer] + self._sequence] = np.arange(len(self._writer))
        return table

    def positions(self, writer: Column, sequence: Ints) -> Ints:
        """Positions of values among the sent ones, -1 where not sent."""
        if not len(self._writer) or not len(writer):
            return np.full(len(writer), -1, dtype=np.int64)
        if self._ends is not None:
            cell, inside = self._cells(self._ends, writer, sequence)
            return self._table[cell] if inside is None else np.where(inside, self._table[np.where(inside, cell, 0)], -1)
        own, asked = self._writer.astype(np.int64), writer.astype(np.int64)
        pairs = np.stack([np.concatenate((own, asked)), np.concatenate((self._sequence, sequence))], axis=1)
        inverse = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        at = np.full(int(inverse.max()) + 1, -1, dtype=np.int64)
        at[inverse[: len(own)]] = np.arange(len(own))
        return at[inverse[len(own) :]]


def distinct_pairs(offsets: Ints, vids: Ints, values: int) -> tuple[Ints, Ints]:
    """Distinct (offset, vid) by offset, then vid; without sorting where offsets are dense and hold one value each."""
    if not len(offsets):
        return offsets, vids
    lowest, highest = int(offsets.min()), int(offsets.max())
    if highest - lowest < 8 * len(offsets) + _SPARE:
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
