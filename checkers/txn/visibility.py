"""What transactions saw of each other: who read whose write, and who wrote the same key as well.

Registers and lists look alike from here. A read shows some writes of its key and hides the others: of a register it
shows one write, of a list all appends up to the last one that it has. Reads that are wrong by themselves (of failed
writes, of values that nobody wrote, of lists that disagree) are left out; other anomalies tell of them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from chaos.basics.variable_lengths import spread
from chaos.core.op import Type
from checkers.cycles.components import Arrows, join_arrows
from checkers.history.columns import Ints, Mask
from checkers.txn.lists import Lists
from checkers.txn.registers import Registers
from checkers.txn.transactions import NIL, Kind, Transactions, was_observed

NOTHING: Final = -1
"""``shown`` of a read before all writes."""
_UNREAD: Final = 1 << 40
"""``place`` of an append that no read shows."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What ok transactions read of others, ascending by reader and key.

    ``reader``: transactions; from the number of transactions on: points. ``micro``: the read; -1 for points. ``shown``:
    the place of the last write that it shows, or ``NOTHING``. ``row``: the writes' row of the transaction that made it.
    """

    reader: Ints
    key: Ints
    micro: Ints
    shown: Ints
    row: Ints


@dataclass(frozen=True, slots=True)
class Writes:
    """The last write of each key by each transaction that took part, ascending by writer and key.

    ``place``: of registers the row itself, of lists the place in the order of the key.
    """

    writer: Ints
    key: Ints
    micro: Ints
    place: Ints


@dataclass(frozen=True, slots=True)
class Pairs:
    """Who read what another one wrote, each pair once, with the write and the read that show it."""

    writer: Ints
    reader: Ints
    write: Ints
    read: Ints


@dataclass(frozen=True, slots=True)
class Visibility:
    """All that transactions saw.

    Attributes:
        size: how many transactions there are.
        points: nodes beyond the transactions, which stand for beginnings of lists.
        took_part: those that were ok, and those of which nobody knows and somebody read.
        lists: whether keys are lists.
        keys: how many keys there are.
        arrows: who read whose writes, over points.
        of_points: what points show, as if each were a reader.
    """

    size: int
    points: int
    took_part: Mask
    lists: bool
    keys: int
    reads: Reads
    writes: Writes
    pairs: Pairs
    arrows: Arrows
    of_points: Reads

    def hides(self, shown: Ints, row: Ints) -> Mask:
        """Whether reads that show so much hide the writes at some rows."""
        found: Mask = self.writes.place[row] > shown if self.lists else self.writes.place[row] != shown
        return found


def _took_part(t: Transactions) -> Mask:
    found: Mask = (t.type == Type.OK) | ((t.type == Type.INFO) & was_observed(t))
    return found


def _last_writes(t: Transactions, owner: Ints, took_part: Mask) -> tuple[Ints, Ints, Ints]:
    """Writer, key and micro-operation of the last write of each key by each transaction."""
    micro = np.flatnonzero((t.kind != Kind.READ) & took_part[owner])
    micro = micro[np.lexsort((micro, t.key[micro], owner[micro]))]
    code = owner[micro] * len(t.keys) + t.key[micro]
    last = np.flatnonzero(np.diff(code, append=-1))
    return owner[micro[last]], t.key[micro[last]], micro[last]


def _rows(writer: Ints, key: Ints, keys: int, wanted_writer: Ints, wanted_key: Ints) -> Ints:
    """The rows of writers and keys; -1 for none."""
    code, wanted = writer * keys + key, wanted_writer * keys + wanted_key
    if not len(code):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(code, wanted), len(code) - 1)
    return np.where(code[at] == wanted, at, -1)


def _once(writer: Ints, reader: Ints, write: Ints, read: Ints, size: int) -> Pairs:
    """Pairs of different transactions, each once."""
    apart = writer != reader
    writer, reader, write, read = writer[apart], reader[apart], write[apart], read[apart]
    _, places = np.unique(writer * size + reader, return_index=True)
    return Pairs(writer[places], reader[places], write[places], read[places])


def of_registers(registers: Registers) -> Visibility:
    """What transactions saw of registers."""
    t, owner, keys = registers.t, registers.owner, len(registers.t.keys)
    took_part = _took_part(t)
    writer, key, micro = _last_writes(t, owner, took_part)
    writes = Writes(writer, key, micro, np.arange(len(micro)))
    touches = registers.versions.touches
    read = touches.read[(touches.read >= 0) & (t.type[touches.transaction] == Type.OK)]
    brought = registers.written.by(t.key[read], t.value[read])
    brought = np.where(t.value[read] == NIL, -1, brought)
    row = np.where(brought >= 0, _rows(writer, key, keys, owner[brought], t.key[read]), -1)
    own = (brought >= 0) & (owner[brought] == owner[read])
    kept = np.flatnonzero(((t.value[read] == NIL) | (row >= 0)) & ~own)
    read, brought, row = read[kept], brought[kept], row[kept]
    order = np.lexsort((t.key[read], owner[read]))
    read, brought, row = read[order], brought[order], row[order]
    reads = Reads(owner[read], t.key[read], read, row, row)
    some = row >= 0
    pairs = _once(owner[brought[some]], owner[read[some]], brought[some], read[some], len(t))
    none = np.empty(0, dtype=np.int64)
    return Visibility(
        size=len(t),
        points=0,
        took_part=took_part,
        lists=False,
        keys=keys,
        reads=reads,
        writes=writes,
        pairs=pairs,
        arrows=Arrows(pairs.writer, pairs.reader),
        of_points=Reads(none, none, none, none, none),
    )


def of_lists(lists: Lists) -> Visibility:
    """What transactions saw of lists whose reads agree.

    A point stands for each place in the order of a key. It comes after the transaction that appended there and after
    the point before it, and before those that read the list up to there.
    """
    t, owner, keys, order = lists.t, lists.owner, lists.keys, lists.order
    took_part = _took_part(t)
    at_key = np.repeat(np.arange(keys), np.diff(order.first))
    sound = np.flatnonzero(~lists.odd[at_key] & (order.append >= 0))
    place = np.full(len(t.kind), _UNREAD, dtype=np.int64)
    place[order.append[sound]] = sound - order.first[at_key[sound]]
    writer, key, micro = _last_writes(t, owner, took_part)
    kept = ~lists.odd[key]
    writer, key, micro = writer[kept], key[kept], micro[kept]
    writes = Writes(writer, key, micro, place[micro])

    read = lists.reads[(lists.type[lists.reads] == Type.OK) & ~lists.odd[t.key[lists.reads]]]
    length = lists.lengths[read]
    brought = order.append[spread(order.first[t.key[read]], length)]
    shown_by = np.repeat(np.arange(len(read)), length)
    own = np.bincount(shown_by[owner[brought] == owner[read[shown_by]]], minlength=len(read))
    shown = length - own - 1
    row = np.full(len(read), -1, dtype=np.int64)
    some = np.flatnonzero(shown >= 0)
    last = order.append[order.first[t.key[read[some]]] + shown[some]]
    row[some] = _rows(writer, key, keys, owner[last], t.key[read[some]])
    by = np.lexsort((t.key[read], owner[read]))
    reads = Reads(owner[read[by]], t.key[read[by]], read[by], shown[by], row[by])
    pairs = _once(owner[brought], owner[read[shown_by]], brought, read[shown_by], len(t))

    point = len(t) + sound
    linked = np.flatnonzero(at_key[sound[1:]] == at_key[sound[:-1]])
    arrows = join_arrows(
        Arrows(owner[order.append[sound]], point),
        Arrows(point[linked], point[linked + 1]),
        Arrows(len(t) + order.first[t.key[read[some]]] + shown[some], owner[read[some]]),
    )
    of_points = Reads(
        point,
        at_key[sound],
        np.full(len(sound), -1, dtype=np.int64),
        place[order.append[sound]],
        _rows(writer, key, keys, owner[order.append[sound]], at_key[sound]),
    )
    return Visibility(
        size=len(t),
        points=len(order.append),
        took_part=took_part,
        lists=True,
        keys=keys,
        reads=reads,
        writes=writes,
        pairs=pairs,
        arrows=arrows,
        of_points=of_points,
    )
