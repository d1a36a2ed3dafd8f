"""A Kafka-style history cut into shards: one per log (key), with what its rows need to know of their records.

A record is named by its row in the table of records, so that completions are ordered by their name. A send that is
still open at the end counts as one that nobody knows the end of (``info``), under the row of its invocation. The
module refuses to judge.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chaos.core.formats.kafka_columns import KafkaColumns, KafkaF, Mop, partners
from chaos.core.op import Type
from checkers.columns import Ints, Mask

NEVER: Final = int(np.iinfo(np.int64).max)
_NARROW: Final = 1 << 16

Small = npt.NDArray[np.int8]


def stable_order(ids: npt.NDArray[np.integer]) -> Ints:
    """The stable order of non-negative numbers; by radix, if they are small."""
    if len(ids) and int(ids.max()) < _NARROW and int(ids.min()) >= 0:
        return np.argsort(ids.astype(np.uint16), kind="stable")
    return np.argsort(ids, kind="stable")


class Records:
    """The records of a history with what follows from all of them together.

    Attributes:
        type: ``Type`` of each record; an invocation without a completion is INFO, another invocation stays INVOKE.
        invoke: row of the invocation; NEVER if the history does not show one.
        sends, polls: the record may send, may poll (SEND or TXN, POLL or TXN) and is a completion or open.
    """

    def __init__(self, columns: KafkaColumns) -> None:
        ops = columns.ops
        self.columns = columns
        self.index, self.process, self.f, self.time_ns, self.flags = ops.index, ops.process, ops.f, ops.time_ns, ops.flags
        self.partner = partners(ops)
        rows = np.arange(len(ops.index), dtype=np.int64)
        invoked = ops.type == Type.INVOKE
        self.open: Mask = invoked & (self.partner < 0) & (ops.process >= 0)
        self.type: Small = np.where(self.open, np.int8(Type.INFO), ops.type)
        self.invoke: Ints = np.where(self.open, rows, np.where(self.partner >= 0, self.partner, NEVER))
        ended = (self.type != Type.INVOKE) & (ops.process >= 0)
        self.sends: Mask = ended & ((ops.f == KafkaF.SEND) | (ops.f == KafkaF.TXN))
        self.polls: Mask = ended & ((ops.f == KafkaF.POLL) | (ops.f == KafkaF.TXN)) & ~self.open

    @cached_property
    def process_id(self) -> Ints:
        """The processes, numbered from 0 (-1 is no client's)."""
        return np.unique(self.process, return_inverse=True)[1].astype(np.int64)

    def __len__(self) -> int:
        return len(self.index)


@dataclass(slots=True)
class Sends:
    """What was sent to one log: record, value, offset (NONE if nobody said), ascending by record and position.

    ``mop``: which micro-operation of its record.
    """

    op: Ints
    value: Ints
    offset: Ints
    mop: npt.NDArray[np.int32]


@dataclass(slots=True)
class Polls:
    """What was polled from one log, likewise. ``empty``: records that polled the key without a message."""

    op: Ints
    value: Ints
    offset: Ints
    empty: Ints


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


@dataclass(slots=True)
class _Cut:
    """Rows of one kind, sorted by key: ``of`` gives one key's."""

    columns: tuple[npt.NDArray[Any], ...]
    starts: Ints

    def of(self, key: int) -> tuple[npt.NDArray[Any], ...]:
        part = slice(int(self.starts[key]), int(self.starts[key + 1]))
        return tuple(column[part] for column in self.columns)


def _cut(columns: KafkaColumns, take: Mask, *names: str) -> _Cut:
    mops, keys = columns.mops, len(columns.keys)
    key = mops.key[take]
    rows: tuple[npt.NDArray[Any], ...] = tuple(getattr(mops, name)[take] for name in ("op", *names))
    if keys > 1 and not bool((key[1:] >= key[:-1]).all()):
        order = stable_order(key)
        rows, key = tuple(column[order] for column in rows), key[order]
    return _Cut(rows, np.searchsorted(key, np.arange(keys + 1)))


def _resets(named: Ints, assignments: Ints) -> Ints:
    """The assignments that leave out a key which ``named`` ones name."""
    return assignments[~np.isin(assignments, named)] if len(named) else assignments


def shards(records: Records) -> Iterator[Shard]:
    """The logs of a history, in the order of their ids."""
    columns, mops = records.columns, records.columns.mops
    sent = (mops.kind == Mop.SEND) & records.sends[mops.op]
    polled = (mops.kind == Mop.POLLED) & records.polls[mops.op]
    sends, polls = _cut(columns, sent, "value", "offset", "mop"), _cut(columns, polled, "value", "offset")
    empty = _cut(columns, (mops.kind == Mop.EMPTY) & records.polls[mops.op])
    rebalanced = _cut(columns, mops.kind == Mop.REBALANCED)
    settles = ((records.f == KafkaF.ASSIGN) | (records.f == KafkaF.SUBSCRIBE)) & (
        (records.type == Type.OK) | ((records.type == Type.INFO) & ~records.open)
    )
    assignments = np.flatnonzero(settles & (records.process >= 0))
    named = _cut(columns, (mops.kind == Mop.KEY) & settles[mops.op])
    surely = (records.type == Type.OK) & (records.f == KafkaF.ASSIGN)
    for key, name in enumerate(columns.keys):
        (here,) = named.of(key)
        yield Shard(
            key=key, name=name, records=records, sends=Sends(*sends.of(key)),
            polls=Polls(*polls.of(key), *empty.of(key)), rebalanced=rebalanced.of(key)[0],
            resets=_resets(here, assignments), assigned=here[surely[here]],
        )  # fmt: skip
