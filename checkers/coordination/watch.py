"""The check ``watch``: watches are told every change, once, in order, as it was written (semantics.md, 35, 36).

What a follow read in its session is held against its events, and against writes as they are.

Whatever is compared is sorted first: n log n over all events.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from chaos.core.verdict import CheckResult
from chaos.models.coordination.watch import DELETED, MODEL, NOT_TOLD, UNREAD, F
from chaos.storage.history import NEVER_NS
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Findings
from checkers.anomalies.findings_check import OfOneModel
from checkers.coordination.violations import Opening, Wrong, findings_of
from checkers.coordination.watch_facts import Known, Place, SessionRead, Told, Writes, told_of
from checkers.coordination.watch_fits import every_write_was_told
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask

KINDS: Final = (
    "watch-phantom",
    "watch-skipped",
    "watch-torn",
    "watch-reordered",
    "watch-duplicate",
    "watch-before-start",
    "watch-wrong-previous",
)


OPENING: Final = Opening(
    "a watch of {place} that {who} served until {at}", "a watch of {place} that {who} was asked for at {at}"
)
DECLINED: Final = "the system never says what was there before a change, so that is not judged"
_REST: Final = "although it was told the rest of that revision"
FOLLOWED: Final = (
    "no follow goes on where another ended, so what nobody followed is not judged; "
    "what was there before a change is judged only where there is said to have been nothing"
)
"""Why of a follow not everything is judged."""


class WatchCheck(OfOneModel):
    """Looks at the writes and watches of each space."""

    name = "watch"
    help = "a watch is told every change, once, in order, and as it was written"
    anomalies = kinds_named(*KINDS)
    model = MODEL
    noun = "event"
    clean = "every change was told once, in order, as it was written"
    kept = "told to watches, in order and none left out"
    unseen = "no watch was told of any change"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one space."""
        told = told_of(shard)
        wrong = [*of_itself(told), *out_of_step(told)]
        follows = shard.ops.f[told.ops] == F.FOLLOW
        if wrong or not context.whole or follows.any() or not every_write_was_told(shard, told):
            known = Known(told, Writes(shard))
            late = shard.ops.complete[told.ops] >= forgotten_from(context)
            wrong += against_writes(told, known, late, whole=context.whole)
        found = findings_of(shard, context, KINDS, wrong, len(told.watch), OPENING)
        unnamed = (told.previous_revision == NOT_TOLD) & ~follows[told.watch]
        declined = {FOLLOWED: int(np.sum(follows)), DECLINED: int(np.sum(unnamed))}
        return msgspec.structs.replace(found, declined={why: many for why, many in declined.items() if many})

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table; it says what could not be judged."""
        row = super().conclude(summary, context)
        if summary is None or not summary.declined:
            return row
        return msgspec.structs.replace(row, found="; ".join((row.found, *summary.declined)))


def of_itself(told: Told) -> Iterator[Wrong]:
    """What is wrong of a watch whatever was written: order, repetition, torn revisions, the beginning."""
    same = told.watch[1:] == told.watch[:-1]
    for one in (1 + np.flatnonzero(same & (told.revision[1:] < told.revision[:-1]))).tolist():
        yield _wrong("watch-reordered", told, one, f"after revision {told.revision[one - 1]}")
    order = np.lexsort((np.arange(len(told.watch)), told.entry, told.revision, told.watch))
    watch, revision, entry, batch = (column[order] for column in (told.watch, told.revision, told.entry, told.batch))
    at_one = (watch[1:] == watch[:-1]) & (revision[1:] == revision[:-1])
    for one in order[1 + np.flatnonzero(at_one & (entry[1:] == entry[:-1]))].tolist():
        yield _wrong("watch-duplicate", told, one, "a second time")
    firsts = np.flatnonzero(np.concatenate(([len(order) > 0], ~at_one)))[: len(order)]
    for one in order[firsts[_differ(entry, firsts) & _differ(batch, firsts)]].tolist():
        yield _wrong("watch-torn", told, one, "in another message than the rest of that revision")
    for one in np.flatnonzero(told.revision < told.since[told.watch]).tolist():
        yield _wrong(
            "watch-before-start", told, one, f"although it was to begin at revision {told.since[told.watch[one]]}"
        )


def _differ(column: Ints, firsts: Ints) -> Mask:
    """Of each stretch that begins at one of ``firsts`` whether it holds different numbers."""
    if not len(firsts):
        return np.zeros(0, np.bool_)
    apart: Mask = np.maximum.reduceat(column, firsts) != np.minimum.reduceat(column, firsts)
    return apart


def forgotten_from(context: Context) -> int:
    """When the system was first told to forget how things were before: ns of the run's clock; never is far away."""
    began = (fault.inject_ns for fault in context.timeline.injected() if fault.identity.nature.forgets)
    return next((at_ns for at_ns in began if at_ns is not None), NEVER_NS)


def against_writes(told: Told, known: Known, late: Mask, *, whole: bool) -> Iterator[Wrong]:
    """What is wrong of watches by what was written, and by what other watches were told.

    Args:
        told: what they were told.
        known: what became of which entry.
        late: of each watch, whether what was before its events may have been forgotten.
        whole: whether every write is known; otherwise an event that none explains is none.
    """
    for one in range(len(told.watch)) if known.strange and whole else ():
        why = known.strange.get((int(told.revision[one]), int(told.entry[one]), int(told.value[one])))
        if why:
            yield _wrong("watch-phantom", told, one, f"but {why}", sep=", ")
    for read in told.reads if known.strange and whole else ():
        why = known.strange.get((read.revision, read.entry, read.value))
        if why:
            yield Wrong("watch-phantom", f"came with {_shown(told, read)}, but {why}", (int(told.ops[read.watch]),))
    yield from _left_out(told, known)
    if whole:
        yield from _wrong_previous(told, known, late)


def _left_out(told: Told, known: Known) -> Iterator[Wrong]:
    """Places between the first revision that was asked for and the last that was told, which were not told."""
    revisions, entries = known.places
    starts = np.searchsorted(told.watch, np.arange(len(told.ops) + 1))
    for watch in range(len(told.ops)):
        own = slice(starts[watch], starts[watch + 1])
        last = int(told.revision[own].max(initial=0))
        until = last if told.reached is None else max(last, int(told.reached[watch]))
        if not until:
            continue
        first = np.searchsorted(revisions, told.since[watch])
        must = slice(first, max(first, np.searchsorted(revisions, until, side="right")))
        missing = _missing(revisions[must], entries[must], told.revision[own], told.entry[own])
        for revision, entry in missing:
            what, op, writer = told.naming.entry(entry), int(told.ops[watch]), known.writer(revision)
            if revision == last:
                yield Wrong("watch-torn", f"left out the change of {what} at revision {revision}, {_REST}", (op,))
                continue
            said = f"left out revision {revision} of {what}"
            span = f": it began at revision {told.since[watch]} and went on to revision {until}"
            if writer is None:
                yield Wrong("watch-skipped", f"{said}{span}", (op,))
            else:
                yield Wrong("watch-skipped", f"{said}, acknowledged by", (writer, op), span)


def _missing(revision: Ints, entry: Ints, told_revision: Ints, told_entry: Ints) -> list[Place]:
    """Places of the first columns, in order, that the others lack."""
    order = np.lexsort((told_entry, told_revision))
    if np.array_equal(told_revision[order], revision) and np.array_equal(told_entry[order], entry):
        return []
    seen = set(zip(told_revision.tolist(), told_entry.tolist(), strict=True))
    return [place for place in zip(revision.tolist(), entry.tolist(), strict=True) if place not in seen]


def _wrong_previous(told: Told, known: Known, late: Mask) -> Iterator[Wrong]:
    """Events that name another change before theirs than the latest one of their entry that is known."""
    columns = (told.revision, told.entry, told.previous_revision, told.previous_value)
    for one, (revision, entry, before, value) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        latest, held = known.before(revision, entry)
        if before == NOT_TOLD:
            continue
        if (before, value) == ((0, DELETED) if held == DELETED else (latest, held)):
            continue
        if known.may_have_been(entry, latest, before, value) or (value == DELETED and late[told.watch[one]]):
            continue
        said, truth = (
            "nothing" if number == DELETED else f"{_named(told, number)} of revision {at}"
            for at, number in ((before, value), (latest, held))
        )
        yield _wrong("watch-wrong-previous", told, one, f"as a change from {said}, but it was one from {truth}")


def _named(told: Told, value: int) -> str:
    return "a value that nobody read" if value == UNREAD else told.naming.value(value)


def out_of_step(told: Told) -> Iterator[Wrong]:
    """What is wrong of reads against the events of their session: one of the two came too late.

    An event that comes behind a read of its entry which shows its change, or what came of a later one, is told once.
    """
    starts = np.searchsorted(told.watch, np.arange(len(told.ops) + 1))
    late: set[int] = set()
    for read in told.reads:
        own = np.arange(starts[read.watch], starts[read.watch + 1])
        own = own[told.entry[own] == read.entry]
        before, behind = own[own < read.place], own[own >= read.place]
        seen = read.applied if read.value == DELETED else read.revision
        ahead = behind[told.revision[behind] <= seen]
        for one in ahead.tolist():
            if one not in late:
                late.add(one)
                yield _wrong("watch-reordered", told, one, f"only after {_shown(told, read)}")
        if not len(before) or len(ahead):
            continue
        last = before[np.argmax(told.revision[before])]
        gone = read.value == DELETED and told.value[last] != DELETED
        if gone or (read.value != DELETED and read.revision < told.revision[last]):
            yield _wrong("watch-reordered", told, int(last), f"and after it came {_shown(told, read)}", sep=", ")


def _shown(told: Told, read: SessionRead) -> str:
    entry = told.naming.entry(read.entry)
    if read.value == DELETED:
        return f"a read of {entry} at revision {read.applied}, which showed nothing"
    return f"a read of {entry}, which showed {told.naming.value(read.value)} of revision {read.revision}"


def _wrong(kind: str, told: Told, event: int, said: str, *, sep: str = " ") -> Wrong:
    value = int(told.value[event])
    """``was told revision 3 of entry 1 (value 12) a second time``."""
    what = "a write" if value == UNREAD else "a deletion" if value == DELETED else f"value {told.naming.value(value)}"
    text = f"was told revision {told.revision[event]} of {told.naming.entry(int(told.entry[event]))} ({what})"
    return Wrong(kind, f"{text}{sep}{said}", (int(told.ops[told.watch[event]]),))
