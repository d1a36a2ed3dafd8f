"""The load of an imported history as columns of times: what was asked, what became of it, who was given what, and when.

One shape for all formats, so that ``figures`` need not know them. Leaves out what has no time.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE, KafkaF, Mop, Small
from chaos.formats.operations import LONG_AGO, Operation
from chaos.storage.history import NEVER_NS
from checkers.history.columns import Ints
from checkers.kafka.log import ids_of
from checkers.kafka.rows import Records, shards
from checkers.objects.calls import freeze

EVERYWHERE: Final = -1
"""The queue of operations that belong to none."""

QUEUES: Final = frozenset({"total-queue", "queue", "fifo-queue", "order"})
"""The models whose values go from a producer to a consumer."""

_NOTHING: Final = np.empty(0, dtype=np.int64)


class Doings(NamedTuple):
    """Operations of one kind, in order of invocation.

    ``type``: OK, FAIL or INFO. ``begun``, ``ended``: ns; NEVER_NS for what has no end. ``begun`` is NEVER_NS where
    nobody recorded the invocation, as of what a broker pushes.
    """

    f: str
    key: int
    type: Ints
    begun: Ints
    ended: Ints


class Given(NamedTuple):
    """Acknowledged messages: when the send of each was invoked, and the first answer that gave it to a consumer.

    Ns; NEVER_NS where nobody was given it.
    """

    key: int
    sent: Ints
    first: Ints


class Load(NamedTuple):
    """A history's load.

    ``kinds``: every kind of operation, over all queues. ``parts``: the same by queue, where operations have one.
    ``given``: of models with consumers, None elsewhere. ``untimed``: operations whose times are missing; if there are
    any, nothing that needs times can be told.
    """

    kinds: tuple[Doings, ...]
    parts: tuple[Doings, ...]
    given: tuple[Given, ...] | None
    untimed: int


def _sorted(one: Doings) -> Doings:
    order = np.argsort(one.begun, kind="stable")
    return Doings(one.f, one.key, one.type[order], one.begun[order], one.ended[order])


def _column(numbers: Iterable[int], count: int) -> Ints:
    return np.fromiter(numbers, dtype=np.int64, count=count)


def _untimed(operation: Operation) -> bool:
    """Whether an instant that the file should have is not there."""
    if operation.invoke_ns is None and operation.invoke != LONG_AGO:
        return True
    return operation.type is Type.OK and operation.complete_ns is None


def of_operations(operations: Sequence[Operation], model: str) -> Load:
    """The load of a history of objects, all objects together."""
    by_kind: dict[str, list[Operation]] = {}
    for operation in operations:
        by_kind.setdefault(operation.f, []).append(operation)
    kinds = tuple(
        _sorted(
            Doings(
                f,
                EVERYWHERE,
                _column((one.type for one in own), len(own)),
                _column((NEVER_NS if one.invoke_ns is None else one.invoke_ns for one in own), len(own)),
                _column((_end_of(one) for one in own), len(own)),
            )
        )
        for f, own in by_kind.items()
    )
    given = (_given(operations),) if model in QUEUES else None
    return Load(kinds, kinds, given, sum(map(_untimed, operations)))


def of_transactions(words: Sequence[str], f: Small, outcome: Small, begun: Ints, ended: Ints) -> Load:
    """The load of a history of transactions, all keys together.

    Args:
        words: the kinds of operations.
        f: of each transaction its kind, by position.
        outcome: OK, FAIL or INFO.
        begun: ns; ``NONE`` where the file does not say.
        ended: likewise, of those that were answered.
    """
    untimed = int(((begun == NONE) | ((outcome == Type.OK) & (ended == NONE))).sum())
    begun = np.where(begun == NONE, NEVER_NS, begun)
    ended = np.where((outcome == Type.INFO) | (ended == NONE), NEVER_NS, ended)
    own = [(word, np.flatnonzero(f == number)) for number, word in enumerate(words)]
    kinds = tuple(
        _sorted(Doings(word, EVERYWHERE, outcome[rows].astype(np.int64), begun[rows], ended[rows]))
        for word, rows in own
        if len(rows)
    )
    return Load(kinds, kinds, None, untimed)


def _end_of(operation: Operation) -> int:
    known = operation.type is not Type.INFO and operation.complete_ns is not None
    return operation.complete_ns if known and operation.complete_ns is not None else NEVER_NS


def _given(operations: Sequence[Operation]) -> Given:
    """From the first acknowledged enqueue of each value to the first dequeue or drain that returned it."""
    sent: dict[Any, int] = {}
    first: dict[Any, int] = {}
    for one in operations:
        if one.type is not Type.OK:
            continue
        if one.f == "enqueue" and one.invoke_ns is not None:
            value = freeze(one.argument if one.argument is not None else one.output)
            sent[value] = min(sent.get(value, NEVER_NS), one.invoke_ns)
        elif one.f in ("dequeue", "drain") and one.complete_ns is not None:
            several = one.f == "drain" and isinstance(one.output, tuple | list | frozenset)
            for value in map(freeze, one.output if several else (one.output,)):
                first[value] = min(first.get(value, NEVER_NS), one.complete_ns)
    count = len(sent)
    return Given(
        EVERYWHERE, _column(sent.values(), count), _column((first.get(value, NEVER_NS) for value in sent), count)
    )


_KAFKA_KINDS: Final = (KafkaF.SEND, KafkaF.TXN, KafkaF.POLL)


def numbers_of(keys: Sequence[object]) -> list[int]:
    """The logs' numbers: their own names if these are all whole numbers, else as they were first named."""
    named = [key for key in keys if type(key) is int and 0 <= key < 1 << 31]
    return named if len(named) == len(keys) else list(range(len(keys)))


def of_kafka(records: Records) -> Load:
    """The load of a Kafka-style history: sends by log, polls over all, and each message's way to a consumer."""
    ops, columns = records.columns.ops, records.columns
    begun = np.flatnonzero((ops.type == Type.INVOKE) & (ops.process >= 0))
    partner = records.partner[begun]
    there = partner >= 0
    outcome = np.where(there, ops.type[partner], np.int8(Type.INFO)).astype(np.int64)
    ended = np.where(there & (outcome != Type.INFO), ops.time_ns[partner], NEVER_NS)
    untimed = int((ops.time_ns[(ops.process >= 0)] == NONE).sum())
    every = Doings("", EVERYWHERE, outcome, ops.time_ns[begun], ended)

    def chosen(f: KafkaF, key: int, which: Ints) -> Doings:
        return _sorted(Doings(f.word, key, *(column[which] for column in every[2:])))

    kinds = [chosen(f, EVERYWHERE, np.flatnonzero(ops.f[begun] == f)) for f in _KAFKA_KINDS]
    kinds = [one for one in kinds if len(one.begun)]
    if untimed:
        return Load(tuple(kinds), tuple(kinds), (), untimed)
    place = np.full(len(ops.type), -1, dtype=np.int64)
    place[begun] = np.arange(len(begun))
    mops = columns.mops
    sends = np.flatnonzero((mops.kind == Mop.SEND) & (place[mops.op] >= 0))
    pairs = np.unique(mops.key[sends].astype(np.int64) * len(begun) + place[mops.op[sends]]) if len(sends) else sends
    key, at = np.divmod(pairs, max(1, len(begun)))
    numbers = numbers_of(columns.keys)
    edges = np.searchsorted(key, np.arange(len(numbers) + 1))
    parts = [one for one in kinds if one.f == KafkaF.POLL.word]
    for f in (KafkaF.SEND, KafkaF.TXN):
        for i, number in enumerate(numbers):
            own = at[edges[i] : edges[i + 1]]
            own = own[ops.f[begun[own]] == f]
            if len(own):
                parts.append(chosen(f, number, own))
    return Load(tuple(kinds), tuple(parts), tuple(_given_by_log(records, numbers)), 0)


def _given_by_log(records: Records, numbers: Sequence[int]) -> Iterable[Given]:
    time_ns = records.time_ns
    for shard in shards(records):
        sends, polls = shard.sends, shard.polls
        acked = np.flatnonzero((records.type[sends.op] == Type.OK) & (records.invoke[sends.op] < len(records)))
        values = ids_of(sends.value, polls.value)
        sent, first = (np.full(values.size, NEVER_NS, dtype=np.int64) for _ in range(2))
        np.minimum.at(sent, values.of(sends.value[acked]), time_ns[records.invoke[sends.op[acked]]])
        np.minimum.at(first, values.of(polls.value), time_ns[polls.op])
        there = np.flatnonzero(sent != NEVER_NS)
        yield Given(numbers[shard.key], sent[there], first[there])
