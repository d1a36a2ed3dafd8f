"""One log put together from what was acknowledged and polled: who wrote a value, where it sits, in which order.

Evidence (research: jepsen.tests.kafka, ``version-orders``): every offset that a poll of any outcome showed, and the
offsets of sends that must have committed (ok, or info with a value that an ok poll returned). Offsets with a value are
numbered without gaps: the *index*. All work is done in numbers of values and of offsets, which are dense or made so,
hence sparse offsets of 64 bits cost no more.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE
from checkers.cycles.hash_order import first_of
from checkers.history.columns import Ints, Mask
from checkers.kafka.row_stretches import rows_of
from checkers.kafka.rows import NEVER, Shard

UNKNOWN: Final = -1
_SPREAD: Final = 4
"""Numbers up to so many times as far apart as there are of them are their own ids."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Numbers as ids from 0, in their order. ``table``: what ids stand for, None if they are numbers less ``base``."""

    base: int
    size: int
    table: Ints | None

    def of(self, numbers: Ints) -> Ints:
        """The ids of numbers that are all known."""
        if self.table is not None:
            return np.searchsorted(self.table, numbers)
        return numbers - self.base if self.base else numbers

    def number(self, which: int) -> int:
        """What an id stands for."""
        return int(self.table[which]) if self.table is not None else which + self.base


def ids_of(*columns: Ints) -> Ids:
    """Ids for all numbers of the columns."""
    full = [column for column in columns if len(column)]
    if not full:
        return Ids(0, 0, None)
    low, high = min(int(c.min()) for c in full), max(int(c.max()) for c in full)
    count = sum(len(c) for c in full)
    if high - low < _SPREAD * count + 1024:
        base = low if low < 0 or low > count else 0
        return Ids(base, high - base + 1, None)
    table = np.unique(np.concatenate(full))
    return Ids(0, len(table), table)


class Values:
    """The values of a log and who sent them: what ``first_look`` needs.

    Attributes:
        ids: values as ids.
        sent: the value of each row of the shard's sends, as an id.
        shown: likewise of its polls, or of what they returned once each.
        all_ok: every poll ended so.
        seen: value -> an ok poll returned it.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard, once = shard, shard.polls.once
        shown = shard.polls.value if once is None else once.value
        self.ids = ids_of(shard.sends.value, shown)
        self.sent, self.shown = self.ids.of(shard.sends.value), self.ids.of(shown)
        self.send_type = shard.records.type[shard.sends.op]
        ok = None if once is not None else self.poll_type == Type.OK
        self.all_ok = ok is None or bool(ok.all())
        self.seen: Mask = np.zeros(self.ids.size, dtype=bool)
        self.seen[self.shown if ok is None or self.all_ok else self.shown[ok]] = True

    @cached_property
    def polled(self) -> Ints:
        """The value of each row of the polls, as an id."""
        polls = self._shard.polls
        return self.shown if polls.once is None else self.ids.of(polls.value)

    @cached_property
    def poll_type(self) -> npt.NDArray[np.int8]:
        """How the record of each row of the polls ended."""
        return self._shard.records.type[self._shard.polls.op]

    def proven(self, shard: Shard) -> Ints:
        """The info sends of which an ok poll returned a value of this log, ascending."""
        unsure = np.flatnonzero(self.send_type == Type.INFO)
        return np.unique(shard.sends.op[unsure[self.seen[self.sent[unsure]]]])


class Log:
    """What is known of one log.

    Attributes:
        writer: value -> the record that sent it (the last one that ended, if several did); -1 for a phantom.
        committed: row of the sends -> its transaction must have committed.
        offsets: offsets as ids.
        place: value -> index it was picked at, the last one; -1 for none.
        first, last: value -> lowest and highest index it was seen at; -1 for none.
        picked: index -> the value of the version order.
        offset_at: index -> offset as an id.
        clash: indices with more than one value -> all of them, ascending.
        all_placed: every poll knew its offsets.
        once: each message polled once, where no offset has two values and no value two offsets, and nobody needs more.
        copies: values at more than one offset -> the ids of these offsets, ascending.
    """

    def __init__(self, shard: Shard, values: Values, proven: Ints) -> None:
        self.shard, self.values = shard, values
        sends, records = shard.sends, shard.records
        self.writer: Ints = np.full(values.ids.size, UNKNOWN, dtype=np.int64)
        if records.any_open and records.open[sends.op].any():
            still = records.open[sends.op]
            self.writer[values.sent[still]] = sends.op[still]
            self.writer[values.sent[~still]] = sends.op[~still]
        else:
            self.writer[values.sent] = sends.op
        self.committed: Mask = values.send_type == Type.OK
        if len(proven):
            unsure = values.send_type == Type.INFO
            self.committed |= unsure & np.isin(sends.op, proven)
        self.clash: dict[int, list[int]] = {}
        self.copies: dict[int, list[int]] = {}
        self._order()

    def _evidence(self) -> tuple[Ints, Ints]:
        """Offsets and values, one row per sighting."""
        sends, polls, values = self.shard.sends, self.shard.polls, self.values
        polled = polls.offset if polls.once is None else polls.once.offset
        told, shown = self.committed & (sends.offset != NONE), polled != NONE
        self.all_placed = bool(shown.all())
        pairs = [(sends.offset, values.sent), (polled, values.shown)]
        known = zip(pairs, (told, shown), (bool(told.all()), self.all_placed), strict=True)
        pairs = [pair if whole else (pair[0][mask], pair[1][mask]) for pair, mask, whole in known]
        where, what = zip(*pairs, strict=True)
        self.offsets = ids_of(*where)
        return np.concatenate([self.offsets.of(column) for column in where]), np.concatenate(what)

    def _order(self) -> None:
        offset, value = self._evidence()
        size = self.values.ids.size
        at = np.full(self.offsets.size, UNKNOWN, dtype=np.int64)
        at[offset] = value
        self.offset_at: Ints = np.flatnonzero(at >= 0)
        index = np.full(self.offsets.size, UNKNOWN, dtype=np.int64)
        index[self.offset_at] = np.arange(len(self.offset_at))
        self.picked: Ints = at[self.offset_at]
        self.place: Ints = np.full(size, UNKNOWN, dtype=np.int64)
        self.place[self.picked] = np.arange(len(self.picked))
        self.first = self.last = self.place
        self.once = self.shard.polls.once
        row = self.place[value]
        if len(value) and (bool((at[offset] != value).any()) or bool((row != index[offset]).any())):
            self.once = None
            self._disputed(np.unique(index[offset] * size + value), size)

    def _disputed(self, pairs: Ints, size: int) -> None:
        """An offset with two values, or a value at two offsets. ``pairs``: index x size + value, ascending."""
        index, value = pairs // size, pairs % size
        self.first, self.last = (np.full(size, UNKNOWN, dtype=np.int64) for _ in range(2))
        self.first[value[::-1]], self.last[value] = index[::-1], index
        starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
        ends = np.append(starts[1:], len(index))
        self.picked = value[starts].copy()
        for at in np.flatnonzero(ends - starts > 1):
            here = [int(v) for v in value[starts[at] : ends[at]]]
            self.clash[int(at)] = here
            self.picked[at] = self._pick(here)
        self.place = np.full(size, UNKNOWN, dtype=np.int64)
        self.place[self.picked] = np.arange(len(self.picked))
        many = np.flatnonzero(self.first < self.last)
        if len(many):
            kept = np.isin(value, many)
            for one, at in zip(value[kept].tolist(), index[kept].tolist(), strict=True):
                self.copies.setdefault(one, []).append(int(self.offset_at[at]))

    def _pick(self, values: list[int]) -> int:
        numbers = {self.values.ids.number(one): one for one in values}
        return numbers[first_of(numbers)]

    @cached_property
    def began(self) -> Ints:
        """Value -> the row in which its writer was invoked; NEVER if the history does not show that, or it has none."""
        return np.where(self.writer >= 0, self.shard.records.invoke[self.writer], NEVER)

    @cached_property
    def spans(self) -> tuple[Ints, Ints] | None:
        """The lowest and the highest index that each record of ``once.polls`` returned, if all of them left none out.

        Offsets ascend, so that none was left out iff these are as far apart as there are messages.
        """
        if self.once is None:
            return None
        low, high = (self.place[self.values.ids.of(side)] for side in (self.once.begin, self.once.end))
        return (low, high) if bool((high - low == self.once.count - 1).all()) else None

    @cached_property
    def polled(self) -> Ints:
        """The value of each row of the polls, as an id."""
        if self.spans is None:
            return self.values.polled
        low, high = self.spans
        return self.picked[rows_of(low, high + 1)]

    def value(self, which: int) -> object:
        """A value by its id, as the history says it."""
        return self.shard.records.columns.value_of(self.values.ids.number(which))

    def offset(self, which: int) -> int:
        """An offset by its id."""
        return self.offsets.number(which)
