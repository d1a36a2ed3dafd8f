"""A Kafka-style history cut into shards: one per log (key), with what its rows need to know of their records.

A record is named by its row in the table of records, so that completions are ordered by their name. A send that is
still open at the end counts as one that nobody knows the end of (``info``), under the row of its invocation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.formats.kafka_columns import KafkaColumns, KafkaF, Mop, narrow, partners
from checkers.history.columns import Column, Ints, Mask, stable_order
from checkers.kafka.polled import Polled, Sightings, sightings_of
from checkers.kafka.row_stretches import Stretches

NEVER: Final = int(np.iinfo(np.int64).max)

Small = npt.NDArray[np.int8]


class Records:
    """The records of a history with what follows from all of them together.

    Attributes:
        open: the record is an operation of a client that nobody knows the end of; ``any_open``: some are.
        type: ``Type`` of each record; an invocation without a completion is INFO, another invocation stays INVOKE.
        invoke: row of the invocation; NEVER if the history does not show one.
        partner: row of the other half, -1 for none; given where ``columns`` leave out records of a process.
        sends, polls: the record may send, may poll (SEND or TXN, POLL or TXN) and is a completion or open.
    """

    def __init__(self, columns: KafkaColumns, partner: Ints | None = None) -> None:
        ops = columns.ops
        self.columns = columns
        self.index, self.time_ns, self.process = ops.index, ops.time_ns, ops.process
        self.f, self.flags = ops.f, ops.flags
        self.partner = partners(ops) if partner is None else partner
        rows = np.arange(len(ops.index), dtype=np.int64)
        invoked = ops.type == Type.INVOKE
        self.open: Mask = invoked & (self.partner < 0) & (ops.process >= 0)
        self.any_open = bool(self.open.any())
        self.type: Small = np.where(self.open, np.int8(Type.INFO), ops.type)
        self.invoke: Ints = np.where(self.open, rows, np.where(self.partner >= 0, self.partner, NEVER))
        ended = (self.type != Type.INVOKE) & (ops.process >= 0)
        self.sends: Mask = ended & ((ops.f == KafkaF.SEND) | (ops.f == KafkaF.TXN))
        self.polls: Mask = ended & ((ops.f == KafkaF.POLL) | (ops.f == KafkaF.TXN)) & ~self.open

    @cached_property
    def process_id(self) -> Column:
        """The processes as small numbers, in as few bytes as they need: to be compared, not to be reckoned with."""
        ids = narrow(self.process)
        return narrow(np.unique(ids, return_inverse=True)[1]) if ids.dtype == np.int64 else ids

    def point(self, rows: Ints) -> Ints:
        """Process x number of records + record: in its order each process has its records together."""
        return self.process_id[rows].astype(np.int64) * len(self) + rows

    @cached_property
    def stretches(self) -> Stretches:
        """The messages as stretches."""
        return Stretches(self.columns.mops)

    def __len__(self) -> int:
        return len(self.index)


class Sends:
    """What was sent to one log: record, value, offset (NONE if nobody said), ascending by record and position."""

    def __init__(self, cut: "_Cut", key: int) -> None:
        self._cut, self._key = cut, key
        self.op, self.value, self.offset = cut.of(key)

    @cached_property
    def row(self) -> Ints:
        """The rows in the history's table of messages."""
        return self._cut.rows(self._key)


class Polls:
    """What was polled from one log, likewise; the rows are fetched when they are asked for.

    Attributes:
        empty: records that polled the key without a message.
        once: each message once, where that says as much as the rows.
    """

    def __init__(self, polled: Polled, key: int, empty: Ints, once: Sightings | None) -> None:
        self._polled, self._key = polled, key
        self.empty, self.once = empty, once

    def __len__(self) -> int:
        return self._polled.size(self._key)

    @cached_property
    def _rows(self) -> Ints:
        return self._polled.rows(self._key)

    @cached_property
    def op(self) -> Ints:
        """The record of each row."""
        return self._polled.records(self._key)

    @cached_property
    def value(self) -> Ints:
        """The value of each row."""
        return self._polled.mops.value[self._rows]

    @cached_property
    def offset(self) -> Ints:
        """The offset of each row, NONE if the poll did not know it."""
        return self._polled.mops.offset[self._rows]


@dataclass(slots=True)
class Shard:
    """One log, and the records that say something of all messages of it.

    ``rebalanced``: their rebalance log names it. ``resets``: assignments and subscriptions that leave it out.
    ``assigned``: ok assignments that name it.
    """

    key: int
    name: object
    records: Records
    sends: Sends
    polls: Polls
    rebalanced: Ints
    resets: Ints
    assigned: Ints


class _Cut:
    """The messages of one kind by key: ``of`` gives columns of one key's rows, ascending.

    What is asked for is first read in the order of the table, then put in the order of keys: the other way round every
    column would be read all over the table.
    """

    def __init__(self, records: Records, kind: Mop, wanted: Mask | None, *names: str) -> None:
        mops, keys = records.columns.mops, len(records.columns.keys)
        rows = records.stretches.rows(kind)
        op = mops.op[rows]
        if wanted is not None and not (own := wanted[op]).all():
            rows, op = rows[own], op[own]
        key = mops.key[rows]
        self._rows, self._columns = rows, [op, *(getattr(mops, name)[rows] for name in names)]
        self._order: Ints | None = None if keys == 1 else stable_order(key)
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(key, minlength=keys))))

    def of(self, key: int) -> list[Ints]:
        return [self._part(column, key) for column in self._columns]

    def rows(self, key: int) -> Ints:
        return self._part(self._rows, key)

    def _part(self, column: Ints, key: int) -> Ints:
        part = slice(int(self._starts[key]), int(self._starts[key + 1]))
        return column[part] if self._order is None else column.take(self._order[part])


def _resets(named: Ints, assignments: Ints) -> Ints:
    """The assignments that leave out a key which ``named`` ones name."""
    return assignments[~np.isin(assignments, named)] if len(named) else assignments


def shards(records: Records, *, once: bool = False) -> Iterator[Shard]:
    """The logs of a history, in the order of their ids.

    Args:
        records: the history.
        once: find each log's ``Polls.once``; who asks for rows of polls all the same does without.
    """
    columns = records.columns
    sends = _Cut(records, Mop.SEND, records.sends, "value", "offset")
    polls = Polled(columns.mops, len(columns.keys), records.stretches, records.polls)
    seen = sightings_of(polls, records.type == Type.OK) if once else [None] * len(columns.keys)
    empty, rebalanced = _Cut(records, Mop.EMPTY, records.polls), _Cut(records, Mop.REBALANCED, None)
    settles = ((records.f == KafkaF.ASSIGN) | (records.f == KafkaF.SUBSCRIBE)) & (
        (records.type == Type.OK) | ((records.type == Type.INFO) & ~records.open)
    )
    assignments = np.flatnonzero(settles & (records.process >= 0))
    named = _Cut(records, Mop.KEY, settles)
    surely = (records.type == Type.OK) & (records.f == KafkaF.ASSIGN)
    for key, name in enumerate(columns.keys):
        (here,), (nothing,) = named.of(key), empty.of(key)
        yield Shard(
            key=key,
            name=name,
            records=records,
            sends=Sends(sends, key),
            polls=Polls(polls, key, nothing, seen[key]),
            rebalanced=rebalanced.of(key)[0],
            resets=_resets(here, assignments),
            assigned=here[surely[here]],
        )
