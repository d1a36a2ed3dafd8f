"""Whether columns show that watches of a space were told every write as it was, and nothing else.

What is wrong is told by ``watch``, which looks at writes and events one by one. Here a proof is enough: whoever cannot
give it says no. So no answer depends on this.
"""

from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.models.coordination.watch import DELETED, NOT_TOLD, WRITES
from chaos.models.objects.answers import TOLD
from checkers.coordination.watch_facts import Told
from checkers.history.check_input import QueueShard
from checkers.history.columns import Column, Ints, Mask, distinct, is_among

LARGEST: Final = 1 << 62
"""What a place's number may be."""


class _Changes(NamedTuple):
    """All changes of all writes: columns of equal length. ``did``: it surely did something, at ``revision``."""

    op: Ints
    type: Column
    entry: Ints
    value: Ints
    revision: Ints
    did: Mask


class _Places(NamedTuple):
    """An entry at a revision, each as one number that ascends by entry, then revision; and the value there."""

    number: Ints
    revision: Ints
    value: Ints


def every_write_was_told(shard: QueueShard, told: Told) -> bool:
    """Whether events fit the writes, and no watch lacks any.

    Args:
        shard: the rows of a space, all of them.
        told: the events of its watches, of which nothing is wrong by themselves.
    """
    changes = _changes(shard)
    if changes is None:
        return False
    revisions = distinct(np.concatenate((changes.revision[changes.did], told.revision)))
    if (1 + int(max(changes.entry.max(initial=0), told.entry.max(initial=0)))) * (1 + len(revisions)) > LARGEST:
        return False
    events = told.entry * len(revisions) + np.searchsorted(revisions, told.revision)
    places = _places(changes, told, revisions, events)
    return (
        places is not None and not _left_out(told, places) and not _wrong_previous(told, places, events, len(revisions))
    )


def _changes(shard: QueueShard) -> _Changes | None:
    """The changes; None if a write changes an entry twice, or two a revision, or an entry's number is below 0."""
    ops, columns = shard.ops, shard.operations
    of = np.flatnonzero(is_among(ops.f, WRITES))
    entries, values = (columns.lists(name).of(of) for name in ("change_entry", "change_value"))
    if not np.array_equal(entries.starts, values.starts) or int(entries.values.min(initial=0)) < 0:
        return None
    row = np.repeat(of, entries.sizes)
    within = np.arange(len(row)) - np.repeat(entries.starts[:-1], entries.sizes)
    if int(within.max(initial=0)) >= columns["effects"].dtype.itemsize * 8:
        return None
    order = np.lexsort((entries.values, row))
    if bool(((row[order][1:] == row[order][:-1]) & (np.diff(entries.values[order]) == 0)).any()):
        return None
    answered = (ops.type[row] == Type.OK) & (columns["answer"][row] == TOLD)
    did = answered & ((columns["effects"][row].astype(np.int64) >> within) & 1 == 1)
    revision = columns["revision"][row]
    acted = row[did][np.flatnonzero(np.diff(row[did], prepend=-1))]
    at = columns["revision"][acted]
    if len(distinct(at)) < len(at):
        return None
    return _Changes(row, ops.type[row], entries.values, values.values, revision, did)


def _places(changes: _Changes, told: Told, revisions: Ints, events: Ints) -> _Places | None:
    """What became of which entry at which revision; None if an event fits no write."""
    did, count = changes.did, len(revisions)
    if int(told.entry.min(initial=0)) < 0:
        return None
    number = changes.entry[did] * count + np.searchsorted(revisions, changes.revision[did])
    value = changes.value[did]
    order = np.argsort(number, kind="stable")
    number, value = number[order], value[order]
    known = _among(number, events)
    fits = known >= 0
    if not np.array_equal(value[known[fits]], told.value[fits]):
        return None
    other = ~fits
    if bool((_among(distinct(changes.revision[did]), told.revision[other]) >= 0).any()):
        return None
    more = _in_doubt(changes, told, other)
    if more is None:
        return None
    revision, entry, new = more
    number = np.concatenate((number, entry * count + np.searchsorted(revisions, revision)))
    value = np.concatenate((value, new))
    order = np.argsort(number, kind="stable")
    number, value = number[order], value[order]
    again = np.flatnonzero(number[1:] == number[:-1])
    if not np.array_equal(value[again + 1], value[again]):
        return None
    first = np.concatenate(([True], number[1:] != number[:-1]))[: len(number)]
    return _Places(number[first], revisions[number[first] % count] if count else number[first], value[first])


def _in_doubt(changes: _Changes, told: Told, chosen: Mask) -> tuple[Ints, Ints, Ints] | None:
    """Revision, entry and value of changes of unknown outcome that these events show; None if they fit no such change.

    A write that one of its events shows took place whole.
    """
    open_, deleted = changes.type == Type.INFO, told.value[chosen] == DELETED
    revision, entry, value = (column[chosen] for column in (told.revision, told.entry, told.value))
    deletable = distinct(changes.entry[open_ & (changes.value == DELETED)])
    if bool((_among(deletable, entry[deleted]) < 0).any()):
        return None
    puts = np.flatnonzero(changes.value != DELETED)
    puts = puts[np.argsort(changes.value[puts], kind="stable")]
    names = changes.value[puts]
    if bool((names[1:] == names[:-1]).any()):
        return None
    at = _among(names, value[~deleted])
    if bool((at < 0).any()):
        return None
    shown = puts[at]
    if not np.array_equal(changes.entry[shown], entry[~deleted]) or not bool(open_[shown].all()):
        return None
    op, when = changes.op[shown], revision[~deleted]
    order = np.lexsort((when, op))
    op, when = op[order], when[order]
    if bool(((op[1:] == op[:-1]) & (when[1:] != when[:-1])).any()):
        return None
    whole = np.flatnonzero(changes.value != DELETED)
    place = _among(op, changes.op[whole])
    whole, place = whole[place >= 0], place[place >= 0]
    return (
        np.concatenate((revision[deleted], when[place])),
        np.concatenate((entry[deleted], changes.entry[whole])),
        np.concatenate((value[deleted], changes.value[whole])),
    )


def _among(ordered: Ints, asked: Ints) -> Ints:
    """The first place of each number among ordered ones; -1 for none."""
    if not len(ordered):
        return np.full(len(asked), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ordered, asked), len(ordered) - 1)
    return np.where(ordered[at] == asked, at, -1)


def _left_out(told: Told, places: _Places) -> bool:
    """Whether a watch was told fewer changes than there were from its beginning to the last that it was told.

    Events are distinct, each is one of the changes, and none is from before the beginning; so it is enough to count.
    """
    count = np.bincount(told.watch, minlength=len(told.ops))
    last = np.zeros(len(told.ops), dtype=np.int64)
    np.maximum.at(last, told.watch, told.revision)
    ordered = np.sort(places.revision)
    due = np.searchsorted(ordered, last, side="right") - np.searchsorted(ordered, told.since, side="left")
    return bool(((last > 0) & (np.maximum(due, 0) != count)).any())


def _wrong_previous(told: Told, places: _Places, events: Ints, revisions: int) -> bool:
    """Whether an event names another change before its own than the latest one of its entry."""
    if not len(events):
        return False
    at = np.searchsorted(places.number, events)
    before = np.maximum(at - 1, 0)
    there = (at > 0) & (places.number[before] // revisions == told.entry)
    held = np.where(there, places.value[before], DELETED)
    latest = np.where(held == DELETED, 0, places.revision[before])
    fits = (told.previous_revision == latest) & (told.previous_value == held)
    return not bool((fits | (told.previous_revision == NOT_TOLD)).all())
